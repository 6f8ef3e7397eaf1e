//! `owner-mutex`: a lock for one holder, that only its holder may free.

use super::rw::{Does, Step};
use super::{Around, Model, ModelSpec, is_lock};
use crate::operation::Operation;
use crate::search::{Meter, Stop, line, search};
use crate::state::State;
use crate::sweep::{Rule, strict::Lock};
use base::Mode;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "owner-mutex",
    bound: None,
    summary: "a lock that only its holder may free",
    lock: Some(|_| Lock { rule: Rule::Permits(1), fenced: false }),
    takes: is_lock,
    search: |_, operations, meter| search(&OwnerMutex, operations, meter),
    line: |_, operations, wanted, meter| line(&OwnerMutex, operations, wanted, meter),
};

pub(crate) struct OwnerMutex;

impl Model for OwnerMutex {
    /// The process that holds it.
    type State = Option<u32>;
    type Step = Step;

    fn steps(&self, operations: &[&Operation], _: &mut Meter<'_, '_>) -> Result<Vec<Step>, Stop> {
        Ok(operations.iter().map(Step::of).collect())
    }

    fn initial(&self) -> Option<u32> {
        None
    }

    fn apply(&self, holder: &Option<u32>, step: &Step) -> Option<Option<u32>> {
        match step.does {
            Does::Free => (*holder == Some(step.process)).then_some(None),
            _ => holder.is_none().then_some(Some(step.process)),
        }
    }

    fn passes(&self, earlier: &Step, later: &Step, _optional: bool) -> bool {
        earlier.passes(later)
    }

    fn eager<'a>(
        &self,
        _: &Option<u32>,
        step: &Step,
        around: Around<'a, Step, impl Iterator<Item = &'a Step>>,
    ) -> bool {
        step.eager(around.alone)
    }

    fn idle(&self, step: &Step, last: bool) -> bool {
        step.idle(last)
    }

    fn describe(&self, holder: &Option<u32>) -> State {
        let hold = holder.map(|holder| (holder, Mode::Exclusive));
        State::held(hold.as_slice())
    }
}
