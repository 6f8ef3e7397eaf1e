//! Requests, replies and watches, as far as locks need them.

use base::Protocol;
use std::borrow::Cow;

use crate::named_calls::named_commands;

/// The protocol of etcd. The members are one address for a client: `Link::call` ignores the server
/// number, since the library goes on to another member by itself.
#[derive(Clone, Copy, Debug)]
pub struct Etcd;

impl Protocol for Etcd {
    type Request = Request;
    type Reply = Reply;
    type Refusal = Refusal;
    type Signal = Signal;

    fn command(request: &Request) -> Cow<'static, str> {
        request.command().into()
    }
}

/// The number of a lease, which its client chooses: any but zero.
pub type LeaseId = i64;

/// The number of a change: each change of a key has a greater one than all before.
pub type Revision = i64;

/// The number that a client gives to a watch. It gives none twice.
pub type DeletionWatchId = u64;

/// A message that nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The key of this watch was deleted; the watch is over.
    Deleted {
        /// The number of the watch.
        watch: DeletionWatchId,
    },
    /// The watch is over, because its connection is, or because its member has had no leader for
    /// too long.
    Ended {
        /// The number of the watch.
        watch: DeletionWatchId,
    },
}

/// A request of a client. Each is one transaction, or less.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// Makes a lease. Replies `Leased`.
    LeaseGrant {
        /// The number of the new lease.
        lease: LeaseId,
        /// The time for which it lives, in seconds.
        ttl: i64,
    },
    /// Ends a lease, and deletes its keys. Replies `Revoked`.
    LeaseRevoke {
        /// The number of the lease.
        lease: LeaseId,
    },
    /// Has a lease live for its whole time anew. Replies `Leased`, with no time if there is no such
    /// lease.
    LeaseKeepAlive {
        /// The number of the lease.
        lease: LeaseId,
    },
    /// Creates a key that goes with a lease, if there is none: `Created`, or else `Found`.
    Create {
        /// The key.
        key: String,
        /// The value to be stored.
        value: String,
        /// The lease with which it goes.
        lease: LeaseId,
    },
    /// Deletes a key if it was created at this revision: `Deleted`.
    Delete {
        /// The key.
        key: String,
        /// The revision at which it must have been created.
        created: Revision,
    },
    /// Reads a key, as it is after all that was answered before: `Found`.
    Get {
        /// The key.
        key: String,
    },
    /// Reads the key that was created last before a revision, of those whose names begin alike:
    /// `Found`.
    GetLast {
        /// The beginning of the names.
        prefix: String,
        /// The revision, at which none of them counts any more.
        before: Revision,
    },
    /// Watches for the deletion of a key, from a revision on. Replies `Watching`, and signals once.
    Watch {
        /// The key.
        key: String,
        /// The first revision that counts.
        from: Revision,
        /// The number of the watch.
        watch: DeletionWatchId,
    },
    /// Ends a watch. The client library answers it by itself: `Unwatched`.
    Unwatch {
        /// The number of the watch.
        watch: DeletionWatchId,
    },
}

named_commands!(Request {
    LeaseGrant => "lease grant",
    LeaseRevoke => "lease revoke",
    LeaseKeepAlive => "lease keep-alive",
    Create => "create",
    Delete => "delete",
    Get => "get",
    GetLast => "get last",
    Watch => "watch",
    Unwatch => "unwatch",
});

/// A key, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyValue {
    /// The value.
    pub value: String,
    /// The lease with which it goes.
    pub lease: LeaseId,
    /// The revision at which it was created.
    pub created: Revision,
}

/// A reply of the servers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The time for which the lease lives from now on, in seconds; zero if there is no such lease.
    Leased {
        /// The time that it was granted.
        ttl: i64,
    },
    /// The lease is over.
    Revoked,
    /// The key is created.
    Created {
        /// The revision at which it was created: a fencing token.
        revision: Revision,
    },
    /// The key, if there is one.
    Found {
        /// The key as it is stored.
        found: Option<KeyValue>,
        /// The revision of the store.
        revision: Revision,
    },
    /// True if the key was there, of that revision, and is deleted.
    Deleted(bool),
    /// The watch is set.
    Watching,
    /// The watch is over.
    Unwatched,
}

/// A definite "no": what was asked for was not done, and never will be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// There is no such lease.
    LeaseNotFound,
    /// There is such a lease already.
    LeaseExists,
    /// The member has no leader, and the request asks for one.
    NoLeader,
    /// The server refused for another reason.
    Other(String),
    /// There is no connection to the member.
    NoConnection(String),
}

/// A packet between a simulated client and a simulated member, or between members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A request of a client.
    Request {
        /// The client's number for it, unique on its connection.
        id: u64,
        /// The request itself.
        request: Request,
    },
    /// The answer to a request.
    Reply {
        /// The number of the request that it answers.
        id: u64,
        /// The answer itself.
        result: Result<Reply, Refusal>,
    },
    /// A signal of a watch.
    Signal(Signal),
    /// A message between members.
    Peer(super::model::RaftPacket),
}
