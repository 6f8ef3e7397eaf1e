//! The decisions of the drive loop in a run, recorded as they are made.

use base::{Fault, Mono, View};
use std::time::Duration;

use super::{Planned, PlannedTurn, Trigger};

/// The decisions made in a run.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The turns, each with its worker, in the order in which they were drawn.
    pub turns: Vec<(u32, PlannedTurn)>,
    /// The faults, in order.
    pub faults: Vec<Planned>,
    /// The time at which all clients were up.
    pub begin: Mono,
    grants: u64,
    last_grant: Mono,
}

impl Played {
    /// The turns of one worker.
    pub fn turns_of(&self, worker: u32) -> Vec<PlannedTurn> {
        self.turns.iter().filter(|(of, _)| *of == worker).map(|(_, turn)| *turn).collect()
    }

    pub(crate) fn turn(&mut self, worker: u32, at: Mono, turn: &base::Turn) {
        let base::Turn { key, mode, permits, hold, script, .. } = *turn;
        let (at_ns, hold_ns) = (at.nanos(), hold.as_nanos() as u64);
        self.turns.push((worker, PlannedTurn { at_ns, key, mode, permits, hold_ns, script }));
    }

    pub(crate) fn fault(&mut self, fault: &Fault, lasts: Duration, view: &View<'_>) {
        self.faults.push(Planned {
            fault: fault.clone(),
            at_ns: view.now.nanos(),
            lasts_ns: lasts.as_nanos() as u64,
            moment: Trigger::of(fault, view, self.grants, self.last_grant),
        });
    }

    pub(crate) fn granted(&mut self, at: Mono) {
        self.grants += 1;
        self.last_grant = at;
    }
}
