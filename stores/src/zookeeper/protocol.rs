//! Requests, replies, watches and session states, named as ZooKeeper names them.

use base::Protocol;
use std::borrow::Cow;

use crate::named_calls::named_commands;

/// The protocol of ZooKeeper. The ensemble is one address for a client: `Link::call` ignores the
/// server number, since the session chooses its server by itself.
#[derive(Clone, Copy, Debug)]
pub struct ZooKeeper;

impl Protocol for ZooKeeper {
    type Request = Request;
    type Reply = Reply;
    type Refusal = Refusal;
    type Signal = Signal;

    fn command(request: &Request) -> Cow<'static, str> {
        request.command().into()
    }
}

/// A message that nobody asked for: from the ensemble, or from the client library about it.
///
/// Requests of one session are executed in the order in which they were called, and a future that
/// is dropped does not withdraw its request. While disconnected, requests wait for the connection
/// to come back; those that were on their way end as `CallError::Unknown`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The session is in this state now; if it is the one before, it was in another meanwhile.
    State {
        /// The state of the session.
        state: SessionState,
        /// The number of the session; 0 while there is none.
        session: i64,
    },
    /// A watch has fired.
    Fired {
        /// The number of the watch.
        watch: WatchId,
        /// The event with which it fired.
        event: WatchEvent,
    },
}

/// A number that the client gives to a watch when it sets it. Each fires at most once.
pub type WatchId = u64;

/// The kind of node to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// Stays until it is deleted.
    Persistent,
    /// Goes with the session that created it.
    Ephemeral,
    /// Goes with its session too, and the server appends a ten-digit sequence number to its name.
    EphemeralSequential,
}

/// A request to the ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Create a node. Replies `Created`.
    Create {
        /// The path of the node.
        path: String,
        /// The data of the node.
        data: Vec<u8>,
        /// The kind of the node.
        mode: CreateMode,
    },
    /// Delete a node. Replies `Deleted`.
    Delete {
        /// The path of the node.
        path: String,
        /// The data version that it must have; `None` for any.
        version: Option<i32>,
    },
    /// Ask whether a node exists. Replies `Exists`. The watch fires when it is created, deleted or
    /// its data changes; it is set even when there is no node.
    Exists {
        /// The path of the node.
        path: String,
        /// The watch to set.
        watch: Option<WatchId>,
    },
    /// Read a node's data. Replies `Data`; `NoNode` sets no watch.
    GetData {
        /// The path of the node.
        path: String,
        /// The watch to set.
        watch: Option<WatchId>,
    },
    /// List a node's children, names without the path, in no particular order. Replies `Children`;
    /// `NoNode` sets no watch. The watch fires when a child comes or goes or the node is deleted.
    GetChildren {
        /// The path of the node.
        path: String,
        /// The watch to set.
        watch: Option<WatchId>,
    },
    /// Replace a node's data. Replies `DataSet`.
    SetData {
        /// The path of the node.
        path: String,
        /// The new data.
        data: Vec<u8>,
        /// The data version that it must have; `None` for any.
        version: Option<i32>,
    },
    /// Bring the client's server up to date with the leader. Replies `Synced`.
    Sync {
        /// A path; any will do.
        path: String,
    },
}

named_commands!(Request {
    Create => "create",
    Delete => "delete",
    Exists => "exists",
    GetData => "getData",
    GetChildren => "getChildren",
    SetData => "setData",
    Sync => "sync",
});

impl Request {
    /// The path that the request is about.
    pub fn path_mut(&mut self) -> &mut String {
        match self {
            Self::Create { path, .. }
            | Self::Delete { path, .. }
            | Self::Exists { path, .. }
            | Self::GetData { path, .. }
            | Self::GetChildren { path, .. }
            | Self::SetData { path, .. }
            | Self::Sync { path } => path,
        }
    }
}

/// A reply of the ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The path, with the sequence number, and the node's czxid.
    Created {
        /// The path of the new node.
        path: String,
        /// The transaction that created it.
        czxid: i64,
    },
    /// The node is deleted.
    Deleted,
    /// The czxid of the node if it exists, else `None`.
    Exists(Option<i64>),
    /// The data of the node and their version.
    Data {
        /// The data of the node.
        data: Vec<u8>,
        /// The data version.
        version: i32,
    },
    /// The names of the children.
    Children(Vec<String>),
    /// The new data version.
    DataSet(i32),
    /// The server is up to date.
    Synced,
}

/// A definite "no" of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The node exists already.
    NodeExists,
    /// There is no such node (or no parent, for a create).
    NoNode,
    /// The data version is another one.
    BadVersion,
    /// The node has children.
    NotEmpty,
    /// Ephemeral nodes can have no children.
    NoChildrenForEphemerals,
    /// The request is malformed (a bad path).
    BadArguments,
    /// The session had already expired when the request was made: it was never sent.
    SessionExpired,
}

/// The event with which a watch fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// The node was created.
    Created,
    /// The node was deleted.
    Deleted,
    /// The node's data changed.
    DataChanged,
    /// A child came or went.
    ChildrenChanged,
    /// The session is over, and the watch with it.
    SessionExpired,
}

/// The state of a session, as far as its client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// A server answers.
    Connected,
    /// No server answers; the session may or may not have expired.
    Disconnected,
    /// The session is over; its ephemeral nodes are gone.
    Expired,
}
