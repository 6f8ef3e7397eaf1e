//! `fenced`: `rw` with fencing tokens: each grant's token is greater than that of every grant
//! before it. A grant that brought no token is under no such rule.

use super::rw::{Does, Held, Step};
use super::{Around, Model, ModelSpec, is_shared_lock};
use crate::operation::{Operation, Token};
use crate::search::{Meter, Stop, line, search};
use crate::state::State;
use crate::sweep::{Rule, strict::Lock};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "fenced",
    bound: None,
    summary: "`rw` whose tokens grow with every grant",
    lock: Some(|_| Lock { rule: Rule::ReadWrite, fenced: true }),
    takes: is_shared_lock,
    search: |_, operations, meter| search(&Fenced, operations, meter),
    line: |_, operations, wanted, meter| line(&Fenced, operations, wanted, meter),
};

pub(crate) struct Fenced;

impl Model for Fenced {
    /// The holder, and the greatest token so far.
    type State = (Held, Option<Token>);
    type Step = Step;

    fn steps(&self, operations: &[&Operation], _: &mut Meter<'_, '_>) -> Result<Vec<Step>, Stop> {
        Ok(Step::with_readers(operations))
    }

    fn initial(&self) -> Self::State {
        Self::State::default()
    }

    fn apply(&self, (held, mark): &Self::State, step: &Step) -> Option<Self::State> {
        let mark = match step.does {
            Does::Take(_, Some(token)) if mark.is_some_and(|mark| token <= mark) => return None,
            Does::Take(_, Some(token)) => Some(token),
            _ => *mark,
        };
        Some((held.apply(step)?, mark))
    }

    /// Decides as without tokens; but a grant cannot be put behind one with a greater token.
    fn passes(&self, earlier: &Step, later: &Step, _optional: bool) -> bool {
        let rising = match (earlier.does, later.does) {
            (Does::Take(_, Some(earlier)), Does::Take(_, Some(later))) => earlier < later,
            _ => false,
        };
        earlier.passes(later) && !rising
    }

    fn eager<'a>(
        &self,
        _: &Self::State,
        step: &Step,
        around: Around<'a, Step, impl Iterator<Item = &'a Step>>,
    ) -> bool {
        step.eager(around.alone)
    }

    fn idle(&self, step: &Step, last: bool) -> bool {
        step.idle(last)
    }

    fn heap((held, _): &Self::State) -> usize {
        held.heap()
    }

    fn describe(&self, (held, mark): &Self::State) -> State {
        held.describe().fenced(*mark)
    }
}
