//! `rw`: a read/write lock that knows its holders: one exclusive one alone, or any number of shared
//! ones. A holder can upgrade, when it is the only one, and downgrade, without letting go.
//!
//! The step of this model, and what is proved about steps here, serve every lock that knows its
//! holders (`owner-mutex`, `fenced`).

use super::{Around, Model, ModelSpec, is_shared_lock};
use crate::operation::{Operation, OperationKind, Token};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use crate::sweep::{Rule, strict::StrictLock};
use base::Mode;
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "rw",
    bound: None,
    summary: "one writer or many readers, with upgrade and downgrade",
    lock: Some(|_| StrictLock { rule: Rule::ReadWrite, fenced: false }),
    takes: is_shared_lock,
    search: |_, operations, meter| search(&Rw, operations, meter),
    line: |_, operations, wanted, meter| line(&Rw, operations, wanted, meter),
};

pub(crate) struct Rw;

/// A step of one process on a lock that knows its holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HolderStep {
    pub process: u32,
    pub does: Does,
    /// Its process never wants the lock for itself alone.
    reader: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Does {
    Take(Mode, Option<Token>),
    Convert(Mode),
    Free,
}

impl HolderStep {
    pub(super) fn of(operation: &&Operation) -> Self {
        let does = match operation.action {
            OperationKind::Acquire { mode, token } => Does::Take(mode, token),
            OperationKind::Convert { mode } => Does::Convert(mode),
            _ => Does::Free,
        };
        Self { process: operation.process, does, reader: false }
    }

    /// The steps of a lock that has readers.
    pub(super) fn with_readers(operations: &[&Operation]) -> Vec<Self> {
        let steps = || operations.iter().map(Self::of);
        let alone = |step: &Self| {
            matches!(step.does, Does::Take(Mode::Exclusive, _) | Does::Convert(Mode::Exclusive))
        };
        let writers: HashSet<u32, FxBuildHasher> =
            steps().filter(alone).map(|step| step.process).collect();
        steps().map(|step| Self { reader: !writers.contains(&step.process), ..step }).collect()
    }

    /// Returns true if it takes more of the lock. Between steps of other processes it may always be
    /// taken later: to be legal next to it, a step of another process must be legal without it.
    pub(super) fn takes_more(&self) -> bool {
        matches!(self.does, Does::Take(..) | Does::Convert(Mode::Exclusive))
    }

    /// [`Model::passes`] of a lock without tokens, for steps of two processes. What takes more may
    /// be taken later. And two that take no more may change places: each is legal if its process
    /// holds the lock, which the other's step does not touch; and where both hold it, both are
    /// readers, whom a downgrade does not change. A reader may also come before another leaves.
    pub(super) fn passes(&self, later: &Self) -> bool {
        let enters = self.reader && matches!(later.does, Does::Take(Mode::Shared, _));
        (self.takes_more() || !later.takes_more() || enters) && self.process != later.process
    }

    /// [`Model::eager`]: to hold less leaves more to all others, and the process itself does
    /// nothing else in the meantime.
    pub(super) fn eager(&self, alone: bool) -> bool {
        !self.takes_more() && alone
    }

    /// [`Model::idle`]: a take or an upgrade in doubt whose process does nothing for certain after
    /// it. Take a line that is legal, and the first such step of a process on it. All steps of the
    /// process behind it are in doubt as well. Leave it out, and of those behind it all that take
    /// more, and each release that only gives back what is left out: one that does not bring the
    /// holds of the process below the fewest that they have been since the step. Then the process
    /// holds at each place that fewest number, so never more than before, and exclusively only
    /// where it did so before; what is left of its steps is legal, since such a release finds a
    /// hold, and so are the steps of all others, whom less is in the way. Tokens forbid no less on
    /// a line with fewer grants. So the step is of no use, one process after the other.
    pub(super) fn idle(&self, last: bool) -> bool {
        self.takes_more() && last
    }
}

/// The holders of the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LockHolders {
    writer: Option<u32>,
    /// The readers, in order; a process that holds it twice is in it twice.
    readers: SmallVec<[u32; 4]>,
}

impl LockHolders {
    pub(super) fn apply(&self, step: &HolderStep) -> Option<Self> {
        let mut next = self.clone();
        match step.does {
            Does::Take(mode, _) => next.take(step.process, mode)?,
            Does::Free => next.free(step.process)?,
            Does::Convert(mode) => {
                next.free(step.process)?;
                next.take(step.process, mode)?;
            }
        }
        Some(next)
    }

    fn take(&mut self, process: u32, mode: Mode) -> Option<()> {
        match mode {
            _ if self.writer.is_some() => return None,
            Mode::Exclusive if !self.readers.is_empty() => return None,
            Mode::Exclusive => self.writer = Some(process),
            Mode::Shared => {
                let place = self.readers.partition_point(|reader| *reader < process);
                self.readers.insert(place, process);
            }
        }
        Some(())
    }

    fn free(&mut self, process: u32) -> Option<()> {
        if self.writer == Some(process) {
            self.writer = None;
        } else {
            let place = self.readers.binary_search(&process).ok()?;
            self.readers.remove(place);
        }
        Some(())
    }

    /// Returns the bytes outside of the state itself: see [`Model::heap`].
    pub(super) fn heap(&self) -> usize {
        self.readers.len() * size_of::<u32>()
    }

    pub(super) fn describe(&self) -> ModelState {
        match (self.writer, self.readers.as_slice()) {
            (Some(writer), _) => {
                ModelState::HeldBy { mode: Mode::Exclusive, processes: vec![writer] }
            }
            (None, []) => ModelState::Free,
            (None, readers) => {
                ModelState::HeldBy { mode: Mode::Shared, processes: readers.to_vec() }
            }
        }
    }
}

impl Model for Rw {
    type State = LockHolders;
    type Step = HolderStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<HolderStep>, SpentBudget> {
        Ok(HolderStep::with_readers(operations))
    }

    fn initial(&self) -> LockHolders {
        LockHolders::default()
    }

    fn apply(&self, held: &LockHolders, step: &HolderStep) -> Option<LockHolders> {
        held.apply(step)
    }

    fn passes(&self, earlier: &HolderStep, later: &HolderStep, _optional: bool) -> bool {
        earlier.passes(later)
    }

    fn eager<'a>(
        &self,
        _: &LockHolders,
        step: &HolderStep,
        around: Around<'a, HolderStep, impl Iterator<Item = &'a HolderStep>>,
    ) -> bool {
        step.eager(around.alone)
    }

    fn idle(&self, step: &HolderStep, last: bool) -> bool {
        step.idle(last)
    }

    fn heap(held: &LockHolders) -> usize {
        held.heap()
    }

    fn describe(&self, held: &LockHolders) -> ModelState {
        held.describe()
    }
}
