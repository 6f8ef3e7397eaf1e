//! A nemesis decides which fault comes next. It sees the state of the lock and yields faults as
//! data; who applies and heals them is not its business.

use crate::{Ability, Fault, Mono, Rng};
use std::time::Duration;

/// What a nemesis sees.
#[derive(Debug)]
pub struct View<'a> {
    /// Time since the run began.
    pub now: Mono,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The clients, by seat.
    pub clients: &'a [ClientView],
    /// How many servers there are.
    pub servers: u32,
    /// Whether they talk to each other, so that they can be cut off from each other.
    pub peers: bool,
    /// Faults of this nemesis that are in force now.
    pub active: usize,
}

/// What a nemesis sees of a client.
#[derive(Clone, Debug, Default)]
pub struct ClientView {
    /// What it is doing.
    pub state: ClientState,
    /// A fault already hits it.
    pub faulted: bool,
}

/// What a client is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientState {
    /// Nothing that concerns the lock.
    #[default]
    Idle,
    /// It has asked for the lock.
    Acquiring {
        /// Since when.
        since: Mono,
        /// When the last reply of a server to this acquire passed the link, if one has.
        last_reply: Option<Mono>,
    },
    /// It holds the lock.
    Holding {
        /// Since when.
        since: Mono,
    },
    /// It is freeing the lock.
    Releasing {
        /// When the last reply of a server to this release passed the link, if one has: from then
        /// on the lock is free, though the client does not know it yet.
        last_reply: Option<Mono>,
    },
    /// It is not running.
    Down,
}

/// What a nemesis wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Inject this fault now and heal it after `lasts`.
    Inject {
        /// The fault.
        fault: Fault,
        /// How long.
        lasts: Duration,
    },
    /// Inject this as well, at once: it is a part of the fault before it, and comes only with that.
    Also {
        /// The fault.
        fault: Fault,
        /// How long.
        lasts: Duration,
    },
    /// Ask again at this time, not before.
    At(Mono),
    /// Ask again when something has happened to a client.
    Watch,
    /// Nothing more.
    Done,
}

/// A schedule of faults.
pub trait Nemesis {
    /// What comes next. Asked again right after each `Inject` or `Also`.
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next;
}

/// A nemesis in the list: its name, its manual entry and how to make one.
pub struct NemesisSpec {
    /// What `--nemesis` takes.
    pub name: &'static str,
    /// One line for `picklock list`.
    pub summary: &'static str,
    /// What its faults take: a backend that lacks one of these refuses it before the run.
    pub needs: &'static [Ability],
    /// Makes a fresh one for a run.
    pub make: fn() -> Box<dyn Nemesis>,
}
