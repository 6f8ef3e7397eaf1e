//! Packets between a client and its server, and between the servers.

use super::{Database, Transaction};
use crate::zookeeper::{Refusal, Reply, Request, WatchEvent};
use std::time::Duration;

/// A packet on a connection of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Client to server, the first packet of a connection.
    Connect {
        /// The session to go on with; 0 asks for a new one.
        session: i64,
        /// The session time-out that the client would like.
        timeout: Duration,
        /// The last transaction that the client has seen.
        last_zxid: i64,
    },
    /// Client to server: I am alive.
    Ping,
    /// Client to server: a request.
    Request {
        /// The client's number for it.
        xid: u64,
        /// The request itself.
        request: Request,
    },
    /// Client to server, after a reconnection: the watches that the client still waits for.
    SetWatches {
        /// The last transaction that the client has seen: what changed since then fires at once.
        zxid: i64,
        /// The paths watched, with the kind of each watch.
        watches: Vec<(String, WatchKind)>,
    },
    /// Client to server: end the session.
    CloseSession,
    /// Server to client: the session stands.
    Connected {
        /// The number of the session.
        session: i64,
        /// The session time-out that the server grants.
        timeout: Duration,
    },
    /// Server to client: the session that you asked for has expired.
    Expired,
    /// Server to client: the answer to a ping.
    Pong,
    /// Server to client: the answer to a request.
    Reply {
        /// The request's number.
        xid: u64,
        /// The last transaction that this server has applied.
        zxid: i64,
        /// The reply or the refusal.
        result: Result<Reply, Refusal>,
    },
    /// Server to client: a watch fires.
    Event {
        /// The path that was watched.
        path: String,
        /// The event at that path.
        event: WatchEvent,
    },
    /// Server to server.
    Peer(PeerPacket),
}

/// The kind of change that a watch waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchKind {
    /// A change of a node that is there.
    Data,
    /// The creation of a node that is not there.
    Exist,
    /// A change of a node's children.
    Child,
}

/// A message from one server to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerPacket {
    /// A vote in an election.
    Notification {
        /// The sender's round.
        round: u64,
        /// The sender's vote.
        vote: Vote,
        /// The sender's role.
        standing: ElectionRole,
    },
    /// A message from a follower to its leader.
    ToLeader {
        /// The number of the connection, chosen by the follower.
        join: u64,
        /// The message itself.
        message: ToLeader,
    },
    /// A message from a leader to its follower.
    ToFollower {
        /// The number of the connection, chosen by the follower.
        join: u64,
        /// The message itself.
        message: ToFollower,
    },
}

/// A vote. The order is the order of preference: the most recent history wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vote {
    /// The last epoch that the candidate took part in.
    pub epoch: u32,
    /// The last transaction that it has logged.
    pub zxid: i64,
    /// The number of the candidate.
    pub leader: u32,
}

/// The role of a server in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElectionRole {
    /// The server looks for a leader.
    Looking,
    /// The server follows a leader.
    Following,
    /// The server leads a quorum.
    Leading,
}

/// A message from a follower to its leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToLeader {
    /// I would follow you. Opens the connection.
    Join {
        /// The highest epoch that the follower has agreed to.
        accepted: u32,
        /// The last epoch that it took part in.
        epoch: u32,
        /// The last transaction that it has logged.
        zxid: i64,
    },
    /// I have taken over your state and agree to your epoch.
    Joined,
    /// I have logged this proposal.
    Ack {
        /// The transaction of the proposal.
        zxid: i64,
    },
    /// I am alive, and so are these sessions.
    Pong {
        /// The sessions that were heard of since the last time.
        touched: Vec<i64>,
    },
    /// A client of mine wants this done.
    Forward(Transaction),
    /// A client of mine wants to be up to date.
    Sync {
        /// The number of the client's session.
        session: i64,
        /// The client's number for the request.
        xid: u64,
    },
    /// A client has come to me with this session; does it live?
    Revalidate {
        /// The number of the session.
        session: i64,
    },
    /// The connection is no more.
    Reset,
}

/// A message from a leader to its follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToFollower {
    /// This is the new epoch, and this the state that it starts from.
    NewLeader {
        /// The number of the epoch.
        epoch: u32,
        /// True once a majority has agreed to it.
        established: bool,
        /// The state at the beginning of the epoch.
        database: Box<Database>,
    },
    /// A majority has taken the state over; serve your clients.
    UpToDate,
    /// This server does not lead: there is nobody to connect to.
    Refused,
    /// Log this proposal.
    Propose {
        /// The number of the transaction.
        zxid: i64,
        /// The transaction itself.
        transaction: Transaction,
    },
    /// A majority has logged this; apply it.
    Commit {
        /// The number of the transaction.
        zxid: i64,
    },
    /// Are you alive?
    Ping,
    /// All that was committed when the client asked has been sent to you.
    Synced {
        /// The session that asked.
        session: i64,
        /// The client's number for the request.
        xid: u64,
    },
    /// The answer to `Revalidate`.
    Revalidated {
        /// The number of the session.
        session: i64,
        /// The session's time-out; `None` when it has expired.
        timeout: Option<Duration>,
    },
    /// The session has expired or moved to another server: close its connection.
    Disown {
        /// The number of the session.
        session: i64,
    },
    /// The connection is no more.
    Reset,
}
