//! `reentrant:d`: a lock for one holder, which may take it again while it holds it, up to d deep,
//! and must free it as often. To the depth of one it is `owner-mutex`.

use super::rw::{Does, HolderStep};
use super::{Around, Model, ModelSpec, is_lock};
use crate::line_sweep::{Rule, strict::StrictLock};
use crate::operation::Operation;
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use base::Mode;

pub(super) const OWNER_MUTEX: ModelSpec = ModelSpec {
    name: "owner-mutex",
    bound: None,
    summary: "a lock that only its holder may free",
    reentrant: Some("reentrant:2"),
    lock: Some(|_| StrictLock { rule: Rule::Permits(1), fenced: false }),
    ..SPEC
};

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "reentrant",
    bound: Some("greatest depth"),
    summary: "a lock that its holder may take again, up to d deep",
    reentrant: None,
    lock: Some(|depth| StrictLock { rule: Rule::Reentrant(depth), fenced: false }),
    takes: is_lock,
    search: |depth, operations, meter| search(&ReentrantModel { depth }, operations, meter),
    line: |depth, operations, wanted, meter| {
        line(&ReentrantModel { depth }, operations, wanted, meter)
    },
};

pub(crate) struct ReentrantModel {
    pub depth: u32,
}

impl Model for ReentrantModel {
    /// The process that holds it, and how many times.
    type State = Option<(u32, u32)>;
    type Step = HolderStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<HolderStep>, SpentBudget> {
        Ok(operations.iter().map(HolderStep::of).collect())
    }

    fn initial(&self) -> Self::State {
        None
    }

    fn apply(&self, held: &Self::State, step: &HolderStep) -> Option<Self::State> {
        match (step.does, *held) {
            (Does::Confirm, Some((holder, _))) => (holder == step.process).then_some(*held),
            (Does::Free(_), Some((holder, 1))) if holder == step.process => Some(None),
            (Does::Free(_), Some((holder, depth))) if holder == step.process => {
                Some(Some((holder, depth - 1)))
            }
            (Does::Free(_) | Does::Confirm, _) => None,
            (_, None) => Some(Some((step.process, 1))),
            (_, Some((holder, depth))) => {
                (holder == step.process && depth < self.depth).then_some(Some((holder, depth + 1)))
            }
        }
    }

    fn passes(&self, earlier: &HolderStep, later: &HolderStep, _optional: bool) -> bool {
        earlier.passes(later)
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

    fn describe(&self, held: &Self::State) -> ModelState {
        match *held {
            None => ModelState::Free,
            Some((process, _)) if self.depth == 1 => {
                ModelState::held(&[(process, Mode::Exclusive)])
            }
            Some((process, depth)) => ModelState::Deep { process, depth },
        }
    }
}
