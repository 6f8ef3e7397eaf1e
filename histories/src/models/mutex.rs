//! `mutex`: a lock that forgets who holds it, as Knossos' mutex: whoever likes may free it.

use super::{Around, Model, ModelSpec, is_lock};
use crate::operation::{Operation, OperationKind};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use crate::sweep::{Rule, strict::StrictLock};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "mutex",
    bound: None,
    summary: "a lock that anybody may free (Knossos' mutex)",
    reentrant: Some("reentrant:2"),
    lock: Some(|_| StrictLock { rule: Rule::Permits(1), fenced: false }),
    takes: is_lock,
    search: |_, operations, meter| search(&Mutex, operations, meter),
    line: |_, operations, wanted, meter| line(&Mutex, operations, wanted, meter),
};

pub(crate) struct Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MutexStep {
    Take,
    Free,
    Confirm,
}

impl MutexStep {
    fn of(operation: &&Operation) -> Self {
        match operation.action {
            OperationKind::Release { .. } => Self::Free,
            OperationKind::Confirm => Self::Confirm,
            _ => Self::Take,
        }
    }
}

impl Model for Mutex {
    type State = bool;
    type Step = MutexStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<MutexStep>, SpentBudget> {
        Ok(operations.iter().map(MutexStep::of).collect())
    }

    fn initial(&self) -> bool {
        false
    }

    fn apply(&self, held: &bool, step: &MutexStep) -> Option<bool> {
        match step {
            MutexStep::Take => (!held).then_some(true),
            MutexStep::Free => held.then_some(false),
            MutexStep::Confirm => held.then_some(true),
        }
    }

    /// Two that take or free it never follow each other, and to confirm it changes nothing.
    fn passes(&self, earlier: &MutexStep, later: &MutexStep, _optional: bool) -> bool {
        earlier == later
    }

    /// To free the lock now may take it from somebody who frees it later.
    fn eager<'a>(
        &self,
        _: &bool,
        step: &MutexStep,
        _: Around<'a, MutexStep, impl Iterator<Item = &'a MutexStep>>,
    ) -> bool {
        self.pure(step)
    }

    fn pure(&self, step: &MutexStep) -> bool {
        *step == MutexStep::Confirm
    }

    fn idle(&self, step: &MutexStep, _last: bool) -> bool {
        self.pure(step)
    }

    /// Steps that lead back to the same state are as many of the one kind as of the other, and
    /// can be put in by turns; but a free lock cannot be confirmed.
    fn fewer(&self, steps: &[MutexStep]) -> bool {
        !steps.contains(&MutexStep::Confirm)
    }

    fn describe(&self, held: &bool) -> ModelState {
        if *held { ModelState::Held } else { ModelState::Free }
    }
}
