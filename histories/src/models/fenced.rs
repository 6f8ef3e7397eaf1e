//! `fenced`: `rw` with fencing tokens: each grant's token is greater than that of every grant
//! before it. A grant that brought no token is under no such rule.

use super::rw::{Does, HolderStep, LockHolders};
use super::{Around, Model, ModelSpec, is_shared_lock};
use crate::operation::{Operation, Token};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use crate::sweep::{Rule, strict::StrictLock};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "fenced",
    bound: None,
    summary: "`rw` whose tokens grow with every grant",
    lock: Some(|_| StrictLock { rule: Rule::ReadWrite, fenced: true }),
    takes: is_shared_lock,
    search: |_, operations, meter| search(&FencedModel, operations, meter),
    line: |_, operations, wanted, meter| line(&FencedModel, operations, wanted, meter),
};

pub(crate) struct FencedModel;

impl Model for FencedModel {
    /// The holder, and the greatest token so far.
    type State = (LockHolders, Option<Token>);
    type Step = HolderStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<HolderStep>, SpentBudget> {
        Ok(HolderStep::with_readers(operations))
    }

    fn initial(&self) -> Self::State {
        Self::State::default()
    }

    fn apply(&self, (held, mark): &Self::State, step: &HolderStep) -> Option<Self::State> {
        let mark = match step.does {
            Does::Take(_, Some(token)) if mark.is_some_and(|mark| token <= mark) => return None,
            Does::Take(_, Some(token)) => Some(token),
            _ => *mark,
        };
        Some((held.apply(step)?, mark))
    }

    /// Decides as without tokens; but a grant cannot be put behind one with a greater token.
    fn passes(&self, earlier: &HolderStep, later: &HolderStep, _optional: bool) -> bool {
        let rising = match (earlier.does, later.does) {
            (Does::Take(_, Some(earlier)), Does::Take(_, Some(later))) => earlier < later,
            _ => false,
        };
        earlier.passes(later) && !rising
    }

    fn eager<'a>(
        &self,
        _: &Self::State,
        step: &HolderStep,
        around: Around<'a, HolderStep, impl Iterator<Item = &'a HolderStep>>,
    ) -> bool {
        step.eager(around.alone)
    }

    fn idle(&self, step: &HolderStep, last: bool) -> bool {
        step.idle(last)
    }

    fn heap((held, _): &Self::State) -> usize {
        held.heap()
    }

    fn describe(&self, (held, mark): &Self::State) -> ModelState {
        held.describe().fenced(*mark)
    }
}
