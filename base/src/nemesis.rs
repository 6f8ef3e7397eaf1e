//! A nemesis decides which fault comes next. It sees the state of the lock and yields faults as
//! data; it neither applies nor heals them.

use crate::{Ability, Cause, Fault, Mono, Rng, ServerInfo};
use std::rc::Rc;
use std::time::Duration;

/// The state of the run as a nemesis sees it.
#[derive(Debug)]
pub struct View<'a> {
    /// Time since the run began.
    pub now: Mono,
    /// The time that lengths of faults count in: the lock's time to live or its session time-out,
    /// if nothing else was asked for.
    pub ttl: Duration,
    /// The clients, by number.
    pub clients: &'a [ClientView],
    /// The servers, by number.
    pub servers: &'a [ServerInfo],
    /// True if the servers talk to each other, so that they can be cut off from each other.
    pub peers: bool,
    /// The server that answered last to an acquire or a release, if one has.
    pub answering: Option<u32>,
    /// The standing of each server among the others, by number; empty if no nemesis looks at it.
    pub standings: &'a [Option<ServerStanding>],
    /// The number of faults of this nemesis that are in force now.
    pub active: usize,
}

/// The standing of a server among those that it works with, as it says itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerStanding {
    /// It leads the others: the leader of an ensemble, the primary of its replicas.
    Leader,
    /// It follows another one.
    Follower,
}

impl View<'_> {
    /// The number of servers.
    pub fn server_count(&self) -> u32 {
        self.servers.len() as u32
    }
}

/// The state of a client as a nemesis sees it.
#[derive(Clone, Debug, Default)]
pub struct ClientView {
    /// The activity of the client.
    pub state: ClientState,
    /// True if a fault already hits it.
    pub faulted: bool,
    /// The last command of its operation to a server, if a nemesis looks at commands.
    pub call: Option<CallView>,
}

/// A command that a client has sent to a server, as a nemesis sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallView {
    /// The name of the command.
    pub command: Rc<str>,
    /// The time at which it left the client.
    pub sent: Mono,
    /// The time at which a reply passed the link, if one has.
    pub answered: Option<Mono>,
}

/// The activity of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientState {
    /// Nothing that concerns the lock.
    #[default]
    Idle,
    /// The client has asked for the lock.
    Acquiring {
        /// The time at which it asked.
        since: Mono,
        /// The time at which the last reply of a server to this acquire passed the link, if one
        /// has.
        last_reply: Option<Mono>,
        /// The number of servers that have answered its last round of requests. A round begins with
        /// the first server that answers again.
        answers: u32,
    },
    /// The client holds the lock.
    Holding {
        /// The time at which it was granted.
        since: Mono,
    },
    /// The client is freeing the lock.
    Releasing {
        /// The time at which the last reply of a server to this release passed the link, if one
        /// has: from then on the lock is free, though the client does not know it yet.
        last_reply: Option<Mono>,
    },
    /// The client is not running.
    Down,
}

/// An instruction from a nemesis to the drive loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Inject this fault now and heal it after `lasts`.
    Inject {
        /// The fault to inject.
        fault: Fault,
        /// The time from injection to heal.
        lasts: Duration,
    },
    /// Inject this as well, at once: it is a part of the fault before it, and comes only with that.
    Also {
        /// The fault to inject.
        fault: Fault,
        /// The time from injection to heal.
        lasts: Duration,
    },
    /// Ask again at this time, not before.
    At(Mono),
    /// Ask again when something has happened to a client.
    Watch,
    /// Ask again when something has happened to a client, and at this time if nothing has.
    WatchUntil(Mono),
    /// The schedule is over.
    Done,
}

/// A schedule of faults.
pub trait Nemesis {
    /// The next instruction. Called again right after each `Inject` or `Also`.
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next;

    /// Returns true if it looks at the standing of servers among the others.
    fn looks_at_standings(&self) -> bool {
        false
    }

    /// The line of a fault script that asked for the last fault. `None`: there is no script.
    fn line(&self) -> Option<u32> {
        None
    }
}

/// The servers without which the faults of a nemesis make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServersNeeded {
    /// The least number of them.
    pub least: u32,
    /// True if they have to talk to each other.
    pub peers: bool,
}

impl ServersNeeded {
    /// Any servers at all.
    pub const ANY: Self = Self { least: 1, peers: false };

    /// Returns true if so many servers, which talk to each other or not, will do.
    pub const fn are_there(self, servers: u32, peers: bool) -> bool {
        servers >= self.least && (peers || !self.peers)
    }
}

/// A nemesis in the list: its name, its manual entry and how to make one.
pub struct NemesisSpec {
    /// The name, as `--nemesis` takes it.
    pub name: &'static str,
    /// The abilities that its faults need: a backend that lacks one refuses the nemesis before the
    /// run.
    pub needs: &'static [Ability],
    /// The servers that its faults need: a run with too few of them is refused.
    pub servers: ServersNeeded,
    /// The causes that its faults can bring about, beside those that need no fault. A client of
    /// which an operation ended in doubt is ended, and so it dies of whatever loses replies.
    pub causes: &'static [&'static [Cause]],
    /// Makes a fresh one for a run.
    pub make: fn() -> Box<dyn Nemesis>,
}

impl NemesisSpec {
    /// Returns true if its faults can bring this cause about.
    pub fn can_cause(&self, cause: Cause) -> bool {
        self.causes.iter().any(|causes| causes.contains(&cause))
    }
}
