//! `semaphore:k`: k permits; each acquire takes one, and whoever likes may give one back.

use super::mutex::Step;
use super::{Around, Model, ModelSpec, is_lock};
use crate::operation::Operation;
use crate::search::{Meter, Stop, line, search};
use crate::state::State;
use crate::sweep::{Rule, strict::Lock};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "semaphore",
    bound: Some("number of permits"),
    summary: "at most k holds at once",
    lock: Some(|permits| Lock { rule: Rule::Permits(permits), fenced: false }),
    takes: is_lock,
    search: |permits, operations, meter| search(&Semaphore { permits }, operations, meter),
    line: |permits, operations, wanted, meter| {
        line(&Semaphore { permits }, operations, wanted, meter)
    },
};

pub(crate) struct Semaphore {
    pub permits: u32,
}

impl Model for Semaphore {
    /// Permits that are taken.
    type State = u32;
    type Step = Step;

    fn steps(&self, operations: &[&Operation], _: &mut Meter<'_, '_>) -> Result<Vec<Step>, Stop> {
        Ok(operations.iter().map(Step::of).collect())
    }

    fn initial(&self) -> u32 {
        0
    }

    fn apply(&self, taken: &u32, step: &Step) -> Option<u32> {
        match step {
            Step::Take => (*taken < self.permits).then(|| taken + 1),
            Step::Free => taken.checked_sub(1),
        }
    }

    /// Two of a kind are the same either way round. A permit that is taken may be the one that is
    /// given back next, and the other way round, so two of different kinds are not.
    fn passes(&self, earlier: &Step, later: &Step, _optional: bool) -> bool {
        earlier == later
    }

    /// Never: a permit that is given back now may have to be given back by somebody else later.
    fn eager<'a>(
        &self,
        _: &u32,
        _: &Step,
        _: Around<'a, Step, impl Iterator<Item = &'a Step>>,
    ) -> bool {
        false
    }

    fn idle(&self, _: &Step, _last: bool) -> bool {
        false
    }

    /// Returns the same as for the mutex.
    fn fewer(&self) -> bool {
        true
    }

    fn describe(&self, taken: &u32) -> State {
        State::Taken { permits: *taken, of: self.permits }
    }
}
