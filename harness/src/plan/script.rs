//! A script for a run: turns and faults as data, which the drive loop takes instead of drawing them.

use base::{ClientState, Fault, Mode, Mono, Node, View};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A script for a run: who asks when, and which faults come.
#[derive(Clone, Debug)]
pub struct Script {
    /// The turns of each client, by seat. A client that has had all of its turns is done.
    pub turns: Vec<Vec<Turn>>,
    /// The faults, in order.
    pub faults: Vec<Planned>,
    /// How the faults, and the turns with them, find their time.
    pub aim: Aim,
    /// How long a call to a server may take.
    pub call_timeout: Duration,
    /// How long an acquire may wait.
    pub patience: Duration,
    /// How long the run goes on after the last heal.
    pub quiet: Duration,
    /// The longest time that one of its messages takes.
    pub slowest_message: Duration,
}

/// How faults find their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// By the clock, to the nanosecond.
    Time,
    /// By the state of the lock.
    Moment,
}

/// One turn of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// When it asks for the lock; later if it is not done with its last turn by then.
    pub at: u64,
    /// Which key, from 0.
    #[serde(default)]
    pub key: u32,
    /// How it asks.
    pub mode: Mode,
    /// How long it works between its read and its last touch.
    pub hold: u64,
}

/// A fault of a schedule. It stands at a time, for an exact replay, and at a moment in the life of
/// the lock, for real servers, whose timing is their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The fault.
    pub fault: Fault,
    /// When it is injected.
    pub at: u64,
    /// How long it lasts.
    pub lasts: u64,
    /// The same in terms of the lock.
    pub moment: Moment,
}

/// A moment in the life of the lock: after so many grants, so long after the client that is hit
/// came into such a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// How many grants the run has seen.
    pub grants: u64,
    /// What the client that is hit is doing.
    pub victim: Victim,
    /// How long it has been doing so; for `any`, how long ago the last grant was.
    pub later: u64,
}

/// What the client that a fault hits is doing.
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

impl Moment {
    /// The moment at which a fault comes.
    pub fn of(fault: &Fault, view: &View<'_>, grants: u64, last_grant: Mono) -> Self {
        let client = client_of(fault).and_then(|seat| view.clients.get(seat as usize));
        let (victim, since) = match client.map(|client| client.state) {
            Some(ClientState::Holding { since }) => (Victim::Holding, since),
            Some(ClientState::Acquiring { last_reply: Some(at), .. }) => (Victim::Answered, at),
            Some(ClientState::Acquiring { since, last_reply: None }) => (Victim::Asking, since),
            _ => (Victim::Any, last_grant),
        };
        Self { grants, victim, later: view.now.since(since).as_nanos() as u64 }
    }
}

/// The one client that a fault hits.
pub(super) fn client_of(fault: &Fault) -> Option<u32> {
    let mut clients = fault.nodes().into_iter().filter_map(|node| match node {
        Node::Client(seat) => Some(seat),
        Node::Server(_) | Node::Vault => None,
    });
    clients.next().filter(|_| clients.next().is_none())
}
