//! Every interleaving of a few clients and one server, and every placement of a few faults.
//!
//! The simulator draws one schedule a seed; this takes all of them, for two or three clients that
//! ask for the lock once or twice. Clients run the same code as everywhere, the server is the
//! store's model. There is **no time**: whatever is under way may happen next, in any order, so
//! that every combination of latencies is covered. A *pause* is not a fault here, since a client
//! that does not take its next step is one; what it breaks shows where time breaks something.
//!
//! # What can happen
//!
//! [`Move`] is the list: a client asks, hears, is woken by a timer, connects again after a pause,
//! enters what the lock guards, works, and goes on with its task; a packet arrives at the server,
//! which answers it; a session that nobody keeps alive ends; time passes. Packets of one connection
//! keep their order. Faults, at most [`EnumerationCase::faults`] in a run: a client dies (with the
//! packets that it has sent under way, lost, or lost from one on), a ttl or a session runs out, a
//! connection is lost (with its answers, and with any tail of the requests under way).
//!
//! *Time.* The time-outs of acquires and calls never run out, but for acquires that wait for a
//! short time only: theirs may run out at any moment. A ttl runs out, without being a fault, when
//! somebody waits for the lock and nothing else can happen ([`Move::Lapse`]): so a dead holder's
//! lock comes free, and no living client is slow. The session of a client that is gone ends at any
//! moment. As a fault a ttl, or the session of a living client, runs out at any moment. With
//! [`EnumerationCase::unlimited`] nothing does. Clocks that are wrong are covered by that: whatever
//! they are wrong by, something runs out too early for its client.
//!
//! *Pollers.* A client that tried, was refused and slept would try for ever. If nothing in the
//! store has changed since the first request of its last attempt, another attempt has the same
//! outcome; its timer may go off again only after a change. One that asks no server at all, because
//! its session is over, has three attempts until something comes to it. (A recipe that counts its
//! attempts could distinguish them; the guard at a deadlock, below, catches one that would go on.)
//!
//! # What is left out because it is equivalent
//!
//! **Equal states are one.** What a state can lead to depends on the inputs of each client so far
//! (`actor.rs`) unless it has nothing more to do, on the server, on what is under way and on what
//! the monitors remember, and on nothing else; the fingerprint of a state is made of all of these.
//! The search goes level by level, a level a step, and merges the states of a level that are equal:
//! every schedule that leads there has the same future. So the number of schedules is counted, not
//! walked, and the first violation that is found is the shortest.
//!
//! **A step that nobody else can see is taken at once** (a persistent set of one client: Godefroid,
//! "Partial-order methods for the verification of concurrent systems", 1996). Hearing a packet,
//! asking for the lock, waking up: each changes only the client itself and appends to its own
//! connection. It commutes with every step of every other client and of the server (which takes
//! from the other end), and what it sends waits until [`Move::Arrive`], which is always a step of
//! its own. So it may come first, *if* nothing else can come to this client before it: it is the
//! client's only step, no timer of it sleeps that another's step could wake, and, unless it hears
//! what comes first anyway, nothing is under way to it and nothing watched that could send it
//! something. Entering and leaving are seen by others and never taken at once. Faults stay covered:
//! a client that dies *before* such a step is one that dies after it with what it then sent lost; a
//! connection lost before the client hears an answer is one lost before the request arrived, which
//! arrives all the same. The one thing that does not commute is a look at the wall clock with the
//! fault *a ttl runs out*: if some client looks at its wall clock, such a search takes every step
//! by itself.
//!
//! `cli/tests/exhaustive.rs` holds the second against the enumeration without it, and the first
//! against every single schedule, judged by the checkers.
//!
//! # What is looked for
//!
//! In every state and at every step, a [`Sign`] that it is bad: that is all that is decided here. A
//! state from which nothing but a fault leads on while somebody waits is one, if it stays so when
//! all pollers try again. Which anomaly that is, and by which cause, the checkers say: of each
//! sign, and each sort of state that shows it ([`ShortestWay`]), the shortest schedule is recorded
//! as a [`ScheduleStory`], which has a history with its faults and a ledger, as a run of the
//! simulator has. The ledger is kept of stories alone, so that states stay small.

mod action;
mod actor;
mod enabled;
mod fingerprint;
mod search;
mod state;
mod step;
mod story;

pub use action::{Move, NoAction};
pub use fingerprint::Fingerprint;
pub use search::{Extent, SearchProgress, ShortestWay};
pub use story::ScheduleStory;

use base::Task;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

use crate::OpenClient;
use actor::Actors;
use stores::Store;

/// The case that is enumerated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnumerationCase {
    /// The name of the lock.
    pub algo: String,
    /// The name of the task.
    #[serde(default = "contend")]
    pub task: String,
    /// The number of clients.
    pub clients: u32,
    /// The number of times that each asks for the lock.
    pub cycles: u32,
    /// The number of keys; client n uses key n modulo this.
    pub keys: u32,
    /// The lock can be held by readers together: each turn is a reader's or a writer's.
    pub shared: bool,
    /// The vault checks tokens.
    pub fenced: bool,
    /// True if nothing that lives for a time ever runs out.
    pub unlimited: bool,
    /// The largest number of faults.
    pub faults: u32,
    /// The kinds of faults.
    pub kinds: Vec<FaultKind>,
}

fn contend() -> String {
    Task::CONTEND.name.into()
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// A client dies.
    Crash,
    /// A ttl or a session runs out though its client lives.
    Expire,
    /// A connection is lost.
    Reset,
}

/// The signs of a bad state, before anybody has judged it. The order is that of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sign {
    /// Two clients hold the lock that may not hold it together.
    Overlap,
    /// A write was accepted after a later grant that excludes the writer's.
    StaleWrite,
    /// A write built on what another had overwritten.
    LostUpdate,
    /// A release removed what another had put there, who holds the lock.
    ForeignRelease,
    /// Somebody waits for the lock, and nothing but a fault leads on.
    Stuck,
    /// A client waits though nobody else ever asked for its key.
    WaitsForAnotherKey,
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overlap => "overlap",
            Self::StaleWrite => "stale write accepted",
            Self::LostUpdate => "lost update",
            Self::ForeignRelease => "foreign release",
            Self::Stuck => "nobody gets on",
            Self::WaitsForAnotherKey => "waits for another key",
        })
    }
}

/// The time to live of locks where it can run out, and where it cannot.
const TTL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(1_000_000));

/// An enumeration of all schedules of a case.
pub struct Explorer<S: Store> {
    case: EnumerationCase,
    task: &'static Task,
    actors: Actors<S>,
    /// Takes steps that nobody else can see at once.
    reduce: bool,
}

impl<S: Store> Explorer<S> {
    /// Makes an enumeration of this case, whose task this is; `open` opens the code of a client.
    pub fn new(case: EnumerationCase, task: &'static Task, open: OpenClient<S>) -> Self {
        let ttl = if case.unlimited { TTL.1 } else { TTL.0 };
        Self { case, task, actors: Actors::new(open, ttl), reduce: true }
    }

    /// Takes every step by itself: the enumeration that the reduction is held against.
    pub fn unreduced(self) -> Self {
        Self { reduce: false, ..self }
    }
}
