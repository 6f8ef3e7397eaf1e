//! Messages between members, and what stands in their logs.

use crate::etcd::{LeaseId, Refusal, Reply, Request};

/// The client that a member answers, by the member, its connection and the number of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Asker {
    /// The member that it asked.
    pub server: u32,
    /// Its connection to that member.
    pub connection: u64,
    /// Its number for the request.
    pub id: u64,
}

/// A command that all members apply in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LogCommand {
    /// Nothing: the first of a leader, which commits all that came before.
    Nothing,
    /// A request of a client.
    Request(Asker, Request),
    /// The leader has found that the time of a lease is over.
    Expire(LeaseId),
}

/// An entry of the log. The first one has the index 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogEntry {
    /// The term of the leader that appended it.
    pub term: u64,
    /// The command itself.
    pub command: LogCommand,
}

/// The place of an entry: logs that have it have all before it in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPlace {
    /// The term of the entry.
    pub term: u64,
    /// Its index; 0 for the beginning.
    pub index: usize,
}

/// A message between members, with the term of its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftPacket {
    /// The term of the sender.
    pub term: u64,
    /// The message itself.
    pub message: PeerMessage,
}

/// A kind of message between members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerMessage {
    /// The sender wants to lead.
    Canvass {
        /// The last entry of its log.
        last: LogPlace,
    },
    /// The answer.
    Vote {
        /// True if it may.
        granted: bool,
    },
    /// Entries for a follower's log, most of the time none: then it is a heartbeat.
    Append {
        /// The entry before them.
        previous: LogPlace,
        /// The entries themselves.
        entries: Vec<LogEntry>,
        /// The index up to which entries are committed.
        commit: usize,
    },
    /// The answer of a follower.
    Appended {
        /// True if its log had the entry before them.
        fits: bool,
        /// The index up to which its log is that of its leader; if not, up to which it may be.
        index: usize,
    },
    /// A command that a follower hands on to its leader.
    Propose(LogCommand),
    /// A lease that a follower's client keeps alive, which only the leader can do.
    Renew(Asker, LeaseId),
    /// The leader's answer.
    Renewed(Asker, Result<Reply, Refusal>),
}
