//! `mutex`: a lock that forgets who holds it, as Knossos' mutex: whoever likes may free it.

use super::{Around, Model, ModelSpec, is_lock};
use crate::operation::{Action, Operation};
use crate::search::{Meter, Stop, line, search};
use crate::state::State;
use crate::sweep::{Rule, strict::Lock};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "mutex",
    bound: None,
    summary: "a lock that anybody may free (Knossos' mutex)",
    lock: Some(|_| Lock { rule: Rule::Permits(1), fenced: false }),
    takes: is_lock,
    search: |_, operations, meter| search(&Mutex, operations, meter),
    line: |_, operations, wanted, meter| line(&Mutex, operations, wanted, meter),
};

pub(crate) struct Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Take,
    Free,
}

impl Step {
    /// Reads a step for every model in which it does not matter who takes and who frees.
    pub(super) fn of(operation: &&Operation) -> Self {
        match operation.action {
            Action::Release => Self::Free,
            _ => Self::Take,
        }
    }
}

impl Model for Mutex {
    type State = bool;
    type Step = Step;

    fn steps(&self, operations: &[&Operation], _: &mut Meter<'_, '_>) -> Result<Vec<Step>, Stop> {
        Ok(operations.iter().map(Step::of).collect())
    }

    fn initial(&self) -> bool {
        false
    }

    fn apply(&self, held: &bool, step: &Step) -> Option<bool> {
        match step {
            Step::Take => (!held).then_some(true),
            Step::Free => held.then_some(false),
        }
    }

    /// Two of a kind never follow each other.
    fn passes(&self, earlier: &Step, later: &Step, _optional: bool) -> bool {
        earlier == later
    }

    /// Never: to free the lock now may take it from somebody who frees it later.
    fn eager<'a>(
        &self,
        _: &bool,
        _: &Step,
        _: Around<'a, Step, impl Iterator<Item = &'a Step>>,
    ) -> bool {
        false
    }

    fn idle(&self, _: &Step, _last: bool) -> bool {
        false
    }

    /// Steps that lead back to the same state are as many of the one kind as of the other, and
    /// can be put in by turns.
    fn fewer(&self) -> bool {
        true
    }

    fn describe(&self, held: &bool) -> State {
        if *held { State::Held } else { State::Free }
    }
}
