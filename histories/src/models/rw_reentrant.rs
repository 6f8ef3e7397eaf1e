//! `rw:reentrant` and `fenced:reentrant`: read/write locks that a holder may take again, in either
//! mode, as those of `java.util.concurrent`, Curator and Redisson. A writer that also takes the
//! lock shared, and frees it as a writer, has downgraded. It must be freed as often as it was
//! taken.
//!
//! With tokens, a holder that takes the lock again may get the token that it has already.

use super::rw::{Does, HolderStep};
use super::{Around, Model, ModelSpec, is_shared_lock};
use crate::line_sweep::{Rule, strict::StrictLock};
use crate::operation::{Operation, OperationKind, Token};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use base::Mode;
use smallvec::{SmallVec, smallvec};

pub(super) const RW: ModelSpec = ModelSpec {
    name: "rw:reentrant",
    bound: None,
    summary: "`rw` that a holder may take again, in either mode",
    reentrant: None,
    lock: Some(|_| StrictLock { rule: Rule::Others, fenced: false }),
    takes: is_shared_lock,
    search: |_, operations, meter| search(&ReentrantRw, operations, meter),
    line: |_, operations, wanted, meter| line(&ReentrantRw, operations, wanted, meter),
};

pub(super) const FENCED: ModelSpec = ModelSpec {
    name: "fenced:reentrant",
    summary: "`fenced` that a holder may take again, with the token that it has",
    lock: Some(|_| StrictLock { rule: Rule::Others, fenced: true }),
    ..RW
};

/// Tokens are compared where grants bring some; `rw:reentrant` reads none.
pub(crate) struct ReentrantRw;

/// All that one process holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReentrantHolder {
    process: u32,
    /// The token of its latest grant that brought one.
    token: Option<Token>,
    /// The modes of its holds, oldest first.
    modes: SmallVec<[Mode; 2]>,
}

impl ReentrantHolder {
    /// Ends the latest hold, or the latest of a mode.
    fn free(&mut self, mode: Option<Mode>) -> Option<Mode> {
        let place = self.modes.iter().rposition(|held| mode.is_none_or(|mode| mode == *held))?;
        Some(self.modes.remove(place))
    }
}

/// The holders of the lock, by process, and the greatest token so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ReentrantHolders {
    holders: SmallVec<[ReentrantHolder; 2]>,
    mark: Option<Token>,
}

impl ReentrantHolders {
    /// The place of a process among the holders, or that where it would stand.
    fn of(&self, process: u32) -> Result<usize, usize> {
        self.holders.binary_search_by_key(&process, |holder| holder.process)
    }

    fn take(&mut self, process: u32, mode: Mode, token: Option<Token>) -> Option<()> {
        let mut others = self.holders.iter().filter(|holder| holder.process != process);
        if others.any(|other| other.modes.iter().any(|held| held.excludes(mode))) {
            return None;
        }
        let place = self.of(process);
        let own = place.ok().and_then(|place| self.holders[place].token);
        if token.is_some() && token <= self.mark && token != own {
            return None;
        }
        self.mark = self.mark.max(token);
        match place {
            Ok(place) => {
                let holder = &mut self.holders[place];
                holder.modes.push(mode);
                holder.token = token.or(holder.token);
            }
            Err(place) => {
                self.holders
                    .insert(place, ReentrantHolder { process, token, modes: smallvec![mode] });
            }
        }
        Some(())
    }

    fn free(&mut self, process: u32, mode: Option<Mode>) -> Option<()> {
        let place = self.of(process).ok()?;
        self.holders[place].free(mode)?;
        if self.holders[place].modes.is_empty() {
            self.holders.remove(place);
        }
        Some(())
    }

    /// Changes the latest hold of a process, at one moment.
    fn convert(&mut self, process: u32, mode: Mode) -> Option<()> {
        let place = self.of(process).ok()?;
        self.holders[place].free(None)?;
        self.take(process, mode, None)
    }
}

impl Model for ReentrantRw {
    type State = ReentrantHolders;
    type Step = HolderStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<HolderStep>, SpentBudget> {
        let mut steps = HolderStep::with_readers(operations);
        for (step, operation) in steps.iter_mut().zip(operations) {
            if let OperationKind::Release { mode, .. } = operation.action {
                step.does = Does::Free(mode);
            }
        }
        Ok(steps)
    }

    fn initial(&self) -> ReentrantHolders {
        ReentrantHolders::default()
    }

    fn apply(&self, held: &ReentrantHolders, step: &HolderStep) -> Option<ReentrantHolders> {
        let mut next = held.clone();
        match step.does {
            Does::Take(mode, token) => next.take(step.process, mode, token)?,
            Does::Free(mode) => next.free(step.process, mode)?,
            Does::Convert(mode) => next.convert(step.process, mode)?,
            Does::Confirm => {
                next.of(step.process).ok()?;
            }
        }
        Some(next)
    }

    /// As for `rw`, since the holds of one process are nothing to the steps of another; and a grant
    /// cannot be put behind one with a greater token.
    fn passes(&self, earlier: &HolderStep, later: &HolderStep, _optional: bool) -> bool {
        earlier.passes(later) && !earlier.has_less_token(later)
    }

    fn eager<'a>(
        &self,
        _: &ReentrantHolders,
        step: &HolderStep,
        around: Around<'a, HolderStep, impl Iterator<Item = &'a HolderStep>>,
    ) -> bool {
        step.eager(around.alone, false)
    }

    /// As for `rw`, but for an upgrade: a release that names its mode may need it.
    fn idle(&self, step: &HolderStep, last: bool) -> bool {
        step.idle(last) && !matches!(step.does, Does::Convert(_))
    }

    fn heap(held: &ReentrantHolders) -> usize {
        let modes = held.holders.iter().map(|holder| holder.modes.len());
        held.holders.len() * size_of::<ReentrantHolder>() + modes.sum::<usize>()
    }

    fn describe(&self, held: &ReentrantHolders) -> ModelState {
        let holds = held
            .holders
            .iter()
            .flat_map(|holder| holder.modes.iter().map(|mode| (holder.process, *mode)));
        ModelState::held(&holds.collect::<Vec<_>>()).fenced(held.mark)
    }
}
