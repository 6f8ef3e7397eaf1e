//! `reentrant:d`: a lock for one holder, which may take it again while it holds it, up to d deep,
//! and must free it as often.

use super::rw::{Does, Step};
use super::{Around, Model, ModelSpec, is_lock};
use crate::operation::Operation;
use crate::search::{Meter, Stop, line, search};
use crate::state::State;
use crate::sweep::{Rule, strict::Lock};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "reentrant",
    bound: Some("greatest depth"),
    summary: "a lock that its holder may take again, up to d deep",
    lock: Some(|depth| Lock { rule: Rule::Reentrant(depth), fenced: false }),
    takes: is_lock,
    search: |depth, operations, meter| search(&Reentrant { depth }, operations, meter),
    line: |depth, operations, wanted, meter| line(&Reentrant { depth }, operations, wanted, meter),
};

pub(crate) struct Reentrant {
    pub depth: u32,
}

impl Model for Reentrant {
    /// The process that holds it, and how many times.
    type State = Option<(u32, u32)>;
    type Step = Step;

    fn steps(&self, operations: &[&Operation], _: &mut Meter<'_, '_>) -> Result<Vec<Step>, Stop> {
        Ok(operations.iter().map(Step::of).collect())
    }

    fn initial(&self) -> Self::State {
        None
    }

    fn apply(&self, held: &Self::State, step: &Step) -> Option<Self::State> {
        match (step.does, *held) {
            (Does::Free, Some((holder, 1))) if holder == step.process => Some(None),
            (Does::Free, Some((holder, depth))) if holder == step.process => {
                Some(Some((holder, depth - 1)))
            }
            (Does::Free, _) => None,
            (_, None) => Some(Some((step.process, 1))),
            (_, Some((holder, depth))) => {
                (holder == step.process && depth < self.depth).then_some(Some((holder, depth + 1)))
            }
        }
    }

    fn passes(&self, earlier: &Step, later: &Step, _optional: bool) -> bool {
        earlier.passes(later)
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

    fn describe(&self, held: &Self::State) -> State {
        held.map_or(State::Free, |(process, depth)| State::Deep { process, depth })
    }
}
