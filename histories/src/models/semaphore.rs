//! `semaphore:k`: k permits; an acquire takes one or, at one moment, several, and whoever likes may
//! give some back. With one permit it is `mutex`: a lock that forgets who holds it, as Knossos' mutex.

use super::{Around, Model, ModelSpec, is_lock};
use crate::line_sweep::{Rule, strict::StrictLock};
use crate::operation::{Operation, OperationKind};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;

pub(super) const MUTEX: ModelSpec = ModelSpec {
    name: "mutex",
    bound: None,
    summary: "a lock that anybody may free (Knossos' mutex)",
    reentrant: Some("reentrant:2"),
    ..SPEC
};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "semaphore",
    bound: Some("number of permits"),
    summary: "at most k permits in use at once",
    reentrant: None,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SemaphoreStep {
    Take(u32),
    Free(u32),
    Confirm,
}

impl SemaphoreStep {
    fn of(operation: &&Operation) -> Self {
        match operation.action {
            OperationKind::Acquire { permits, .. } => Self::Take(permits),
            OperationKind::Release { permits, .. } => Self::Free(permits),
            _ => Self::Confirm,
        }
    }
}

impl Model for Semaphore {
    /// Permits that are taken.
    type State = u32;
    type Step = SemaphoreStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<SemaphoreStep>, SpentBudget> {
        Ok(operations.iter().map(SemaphoreStep::of).collect())
    }

    fn initial(&self) -> u32 {
        0
    }

    fn apply(&self, taken: &u32, step: &SemaphoreStep) -> Option<u32> {
        match step {
            SemaphoreStep::Take(permits) => {
                taken.checked_add(*permits).filter(|taken| *taken <= self.permits)
            }
            SemaphoreStep::Free(permits) => taken.checked_sub(*permits),
            SemaphoreStep::Confirm => Some(*taken).filter(|taken| *taken > 0),
        }
    }

    /// Two of a kind are the same either way round. A permit that is taken may be the one that is
    /// given back next, and the other way round, so two of different kinds are not.
    fn passes(&self, earlier: &SemaphoreStep, later: &SemaphoreStep, _optional: bool) -> bool {
        std::mem::discriminant(earlier) == std::mem::discriminant(later)
    }

    /// A permit that is given back now may have to be given back by somebody else later.
    fn eager<'a>(
        &self,
        _: &u32,
        step: &SemaphoreStep,
        _: Around<'a, SemaphoreStep, impl Iterator<Item = &'a SemaphoreStep>>,
    ) -> bool {
        self.pure(step)
    }

    fn pure(&self, step: &SemaphoreStep) -> bool {
        *step == SemaphoreStep::Confirm
    }

    fn idle(&self, step: &SemaphoreStep, _last: bool) -> bool {
        self.pure(step)
    }

    /// Steps that lead back to the same state, of permits that are taken and given back one by one,
    /// are as many of the one kind as of the other, and can be put in by turns. But where no permit
    /// is taken, none can be confirmed.
    fn fewer(&self, steps: &[SemaphoreStep]) -> bool {
        steps.iter().all(|step| matches!(step, SemaphoreStep::Take(1) | SemaphoreStep::Free(1)))
    }

    fn describe(&self, taken: &u32) -> ModelState {
        match (self.permits, *taken) {
            (1, 0) => ModelState::Free,
            (1, _) => ModelState::Held,
            (of, permits) => ModelState::Taken { permits, of },
        }
    }
}
