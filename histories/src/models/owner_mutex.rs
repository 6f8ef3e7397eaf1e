//! `owner-mutex`: a lock for one holder, that only its holder may free.

use super::rw::{Does, HolderStep};
use super::{Around, Model, ModelSpec, is_lock};
use crate::operation::Operation;
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use crate::sweep::{Rule, strict::StrictLock};
use base::Mode;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "owner-mutex",
    bound: None,
    summary: "a lock that only its holder may free",
    reentrant: Some("reentrant:2"),
    lock: Some(|_| StrictLock { rule: Rule::Permits(1), fenced: false }),
    takes: is_lock,
    search: |_, operations, meter| search(&OwnerMutex, operations, meter),
    line: |_, operations, wanted, meter| line(&OwnerMutex, operations, wanted, meter),
};

pub(crate) struct OwnerMutex;

impl Model for OwnerMutex {
    /// The process that holds it.
    type State = Option<u32>;
    type Step = HolderStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<HolderStep>, SpentBudget> {
        Ok(operations.iter().map(HolderStep::of).collect())
    }

    fn initial(&self) -> Option<u32> {
        None
    }

    fn apply(&self, holder: &Option<u32>, step: &HolderStep) -> Option<Option<u32>> {
        match step.does {
            Does::Free(_) => (*holder == Some(step.process)).then_some(None),
            Does::Confirm => (*holder == Some(step.process)).then_some(*holder),
            _ => holder.is_none().then_some(Some(step.process)),
        }
    }

    fn passes(&self, earlier: &HolderStep, later: &HolderStep, _optional: bool) -> bool {
        earlier.passes(later)
    }

    fn eager<'a>(
        &self,
        _: &Option<u32>,
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

    fn describe(&self, holder: &Option<u32>) -> ModelState {
        let hold = holder.map(|holder| (holder, Mode::Exclusive));
        ModelState::held(hold.as_slice())
    }
}
