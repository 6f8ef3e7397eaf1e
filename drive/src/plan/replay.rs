//! A replay: turns and faults as data, which the drive loop takes instead of drawing
//! them.

use base::{ClientState, Fault, Mode, Mono, Node, View};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A run to be made again: who asks when, and which faults come.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The turns of each worker. One that has had all of its turns is done.
    pub turns: Vec<Vec<PlannedTurn>>,
    /// The faults, in order.
    pub faults: Vec<Planned>,
    /// The rule by which the faults, and the turns with them, find their time.
    pub aim: FaultTiming,
    /// The longest time that a call to a server may take.
    pub call_timeout: Duration,
    /// The longest time that an acquire may wait.
    pub acquire_timeout: Duration,
    /// The time that the run goes on after the last heal.
    pub quiet: Duration,
    /// The longest time that one of its messages takes.
    pub slowest_message: Duration,
}

/// The rule by which faults find their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTiming {
    /// By the clock, to the nanosecond.
    Time,
    /// By the state of the lock.
    Trigger,
}

/// One turn of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTurn {
    /// The time at which it asks for the lock; later if its last turn is not done
    /// by then.
    pub at_ns: u64,
    /// The number of the key, from 0.
    #[serde(skip_serializing_if = "is_usual", default)]
    pub key: u32,
    /// The mode in which it asks.
    #[serde(skip_serializing_if = "is_usual", default)]
    pub mode: Mode,
    /// The number of permits that it asks for.
    #[serde(skip_serializing_if = "is_one", default = "one")]
    pub permits: u32,
    /// The time that it works while it holds the lock.
    #[serde(skip_serializing_if = "is_usual", default)]
    pub hold_ns: u64,
    /// The number of its script in the task.
    #[serde(skip_serializing_if = "is_usual", default)]
    pub script: u32,
}

/// Returns true for what most turns have, of which there are thousands in a schedule.
fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

impl PlannedTurn {
    /// The same as a drawn turn, which thinks until its time.
    pub fn drawn(self) -> base::Turn {
        base::Turn {
            think: Duration::from_nanos(self.at_ns),
            key: self.key,
            mode: self.mode,
            permits: self.permits,
            hold: Duration::from_nanos(self.hold_ns),
            script: self.script,
        }
    }
}

/// A fault of a schedule. It has a time, for an exact replay, and a trigger in the life of
/// the lock, for real servers, whose timing is their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The fault to inject.
    pub fault: Fault,
    /// The time of its injection.
    pub at_ns: u64,
    /// The time from injection to heal.
    pub lasts_ns: u64,
    /// The same in terms of the lock.
    pub moment: Trigger,
}

impl Planned {
    /// The one client that it hits.
    pub fn client(&self) -> Option<u32> {
        client_of(&self.fault)
    }
}

/// The trigger of a replayed fault, in the life of the lock: after so many grants, so long after
/// the client that is hit came into such a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// The number of grants that the run has seen.
    pub grants: u64,
    /// The state of the client that is hit.
    pub victim: Victim,
    /// The time for which it has been in that state; for `any`, the time since the
    /// last grant.
    pub later_ns: u64,
}

/// The state of the client that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Victim {
    /// It holds the lock.
    Holding,
    /// It has asked for the lock, and a server has answered something; counted from that answer.
    Answered,
    /// It has asked for the lock, and no server has answered yet.
    Asking,
    /// Something else, or the fault hits no client.
    Any,
}

impl Trigger {
    /// The trigger by which a fault comes.
    pub fn of(fault: &Fault, view: &View<'_>, grants: u64, last_grant: Mono) -> Self {
        let client = client_of(fault).and_then(|client| view.clients.get(client as usize));
        let (victim, since) = match client.map(|client| client.state) {
            Some(ClientState::Holding { since }) => (Victim::Holding, since),
            Some(ClientState::Acquiring { last_reply: Some(at), .. }) => (Victim::Answered, at),
            Some(ClientState::Acquiring { since, last_reply: None, .. }) => (Victim::Asking, since),
            _ => (Victim::Any, last_grant),
        };
        Self { grants, victim, later_ns: view.now.since(since).as_nanos() as u64 }
    }
}

/// The one client that a fault hits.
pub(super) fn client_of(fault: &Fault) -> Option<u32> {
    let mut clients = fault.nodes().into_iter().filter_map(|node| match node {
        Node::Client(client) => Some(client),
        Node::Server(_) | Node::Vault => None,
    });
    clients.next().filter(|_| clients.next().is_none())
}
