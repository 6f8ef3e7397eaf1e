//! The messages of the cluster bus.

/// A message of one member of a cluster to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusMessage {
    /// The state that every message tells of its sender.
    pub sender: BusHeader,
    /// The rest of it.
    pub payload: BusPayload,
}

/// The state of a member, as it tells it itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusHeader {
    /// The epoch of the cluster.
    pub epoch: u64,
    /// The epoch in which it, or the primary that it follows, was made one.
    pub config_epoch: u64,
    /// The primary that it follows; `None`: it is one.
    pub follows: Option<u32>,
    /// True if it, or the primary that it follows, has the slots of its shard.
    pub owns: bool,
}

/// The part of a message that says what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusPayload {
    /// Are you alive?
    Ping(Vec<GossipEntry>),
    /// The answer to `Ping`, or the news that somebody is a primary.
    Pong(Vec<GossipEntry>),
    /// A majority finds this server down.
    Failed(u32),
    /// A request for a vote (`FAILOVER_AUTH_REQUEST`).
    AskVote,
    /// A vote (`FAILOVER_AUTH_ACK`).
    Vote,
    /// The slots of a shard have another primary than the receiver says.
    Update {
        /// The primary that has them.
        owner: u32,
        /// The epoch in which it was made one.
        config_epoch: u64,
    },
    /// The sender's process is dead, and its machine closes the connection.
    HangUp,
}

/// A member's opinion of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GossipEntry {
    /// The member in question.
    pub about: u32,
    /// True if the sender finds it down.
    pub is_down: bool,
    /// The second in which it last answered the sender.
    pub heard: i64,
}
