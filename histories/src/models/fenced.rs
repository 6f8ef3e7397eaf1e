//! `fenced`: `rw` with fencing tokens: each grant's token is greater than that of every grant
//! before it. A grant that brought no token is under no such rule.

use super::rw::{Does, HolderStep, LockHolders};
use super::{Around, BeforeGoal, Between, Model, ModelSpec, is_shared_lock};
use crate::operation::{Operation, Token};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use crate::sweep::{Rule, strict::StrictLock};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "fenced",
    bound: None,
    summary: "`rw` whose tokens grow with every grant",
    reentrant: Some("fenced:reentrant"),
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
        earlier.passes(later) && !earlier.has_less_token(later)
    }

    fn eager<'a>(
        &self,
        _: &Self::State,
        step: &HolderStep,
        around: Around<'a, HolderStep, impl Iterator<Item = &'a HolderStep>>,
    ) -> bool {
        step.eager(around.alone, around.steady)
    }

    fn disturbs(&self, step: &HolderStep) -> bool {
        step.disturbs()
    }

    fn idle(&self, step: &HolderStep, last: bool) -> bool {
        step.idle(last)
    }

    fn is_of_use<'a>(
        &self,
        (held, _): &Self::State,
        step: BeforeGoal<'a, HolderStep>,
        goal: &HolderStep,
        left: impl Iterator<Item = BeforeGoal<'a, HolderStep>> + Clone,
    ) -> bool {
        HolderStep::is_of_use(step, &held.modes(step.step.process), goal, left)
    }

    fn is_forced<'a>(
        &self,
        (held, _): &Self::State,
        step: &HolderStep,
        goal: &HolderStep,
        left: impl Iterator<Item = BeforeGoal<'a, HolderStep>> + Clone,
    ) -> bool {
        step.is_forced(&held.modes(step.process), goal, left)
    }

    fn relates(&self) -> bool {
        true
    }

    fn becomes(
        &self,
        (from, mark): &Self::State,
        (to, reached): &Self::State,
        between: Between<'_, HolderStep>,
    ) -> bool {
        let tokens = between.steps.iter().filter_map(|step| step.token());
        // Those that are missing must still be legal.
        let rises = tokens.clone().all(|token| mark.is_none_or(|mark| mark < token));
        rises && tokens.max().or(*mark) == *reached && from.becomes(to, between)
    }

    fn turn(&self, step: &HolderStep) -> Option<Token> {
        step.token()
    }

    fn heap((held, _): &Self::State) -> usize {
        held.heap()
    }

    fn describe(&self, (held, mark): &Self::State) -> ModelState {
        held.describe().fenced(*mark)
    }
}
