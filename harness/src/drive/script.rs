//! What the drive loop decides, as data: written down while it decides, or given to it.

use base::{Fault, Mono, View};
use std::time::Duration;

use crate::schedule::{Aim, Moment, Planned, Turn};

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

/// What was decided in a run.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The turns, each with its seat, in the order in which they were drawn.
    pub turns: Vec<(u32, Turn)>,
    /// The faults, in order.
    pub faults: Vec<Planned>,
    grants: u64,
    last_grant: Mono,
}

impl Played {
    /// The turns of one seat.
    pub fn turns_of(&self, seat: u32) -> Vec<Turn> {
        self.turns.iter().filter(|(of, _)| *of == seat).map(|(_, turn)| *turn).collect()
    }

    pub(super) fn turn(&mut self, seat: u32, at: Mono, turn: &workloads::task::Turn) {
        let hold = turn.hold.as_nanos() as u64;
        let turn = Turn { at: at.nanos(), key: turn.key, mode: turn.mode, hold };
        self.turns.push((seat, turn));
    }

    pub(super) fn fault(&mut self, fault: &Fault, lasts: Duration, view: &View<'_>) {
        self.faults.push(Planned {
            fault: fault.clone(),
            at: view.now.nanos(),
            lasts: lasts.as_nanos() as u64,
            moment: Moment::of(fault, view, self.grants, self.last_grant),
        });
    }

    pub(super) fn granted(&mut self, at: Mono) {
        self.grants += 1;
        self.last_grant = at;
    }
}
