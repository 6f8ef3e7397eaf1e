//! `semaphore:k`: k permits; each acquire takes one, and whoever likes may give one back.

use super::mutex::MutexStep;
use super::{Around, Model, ModelSpec, is_lock};
use crate::operation::Operation;
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use crate::sweep::{Rule, strict::StrictLock};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "semaphore",
    bound: Some("number of permits"),
    summary: "at most k holds at once",
    lock: Some(|permits| StrictLock { rule: Rule::Permits(permits), fenced: false }),
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
    type Step = MutexStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<MutexStep>, SpentBudget> {
        Ok(operations.iter().map(MutexStep::of).collect())
    }

    fn initial(&self) -> u32 {
        0
    }

    fn apply(&self, taken: &u32, step: &MutexStep) -> Option<u32> {
        match step {
            MutexStep::Take => (*taken < self.permits).then(|| taken + 1),
            MutexStep::Free => taken.checked_sub(1),
        }
    }

    /// Two of a kind are the same either way round. A permit that is taken may be the one that is
    /// given back next, and the other way round, so two of different kinds are not.
    fn passes(&self, earlier: &MutexStep, later: &MutexStep, _optional: bool) -> bool {
        earlier == later
    }

    /// Never: a permit that is given back now may have to be given back by somebody else later.
    fn eager<'a>(
        &self,
        _: &u32,
        _: &MutexStep,
        _: Around<'a, MutexStep, impl Iterator<Item = &'a MutexStep>>,
    ) -> bool {
        false
    }

    fn idle(&self, _: &MutexStep, _last: bool) -> bool {
        false
    }

    /// Returns the same as for the mutex.
    fn fewer(&self) -> bool {
        true
    }

    fn describe(&self, taken: &u32) -> ModelState {
        ModelState::Taken { permits: *taken, of: self.permits }
    }
}
