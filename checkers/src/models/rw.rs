//! `rw`: a read/write lock that knows its holders: one exclusive one alone, or any number of shared
//! ones. A holder can upgrade, when it is the only one, and downgrade, without letting go.
//!
//! The step of this model, and what is proved about steps here, serve every lock that knows its
//! holders (`owner-mutex`, `fenced`).

use super::{Around, Model, ModelSpec, is_shared_lock};
use crate::operation::{Action, Operation};
use crate::search::{Meter, Stop, search};
use crate::sweep::{Rule, strict::Lock};
use base::Mode;
use smallvec::SmallVec;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "rw",
    bound: None,
    summary: "one writer or many readers, with upgrade and downgrade",
    lock: Some(|_| Lock { rule: Rule::ReadWrite, fenced: false }),
    takes: is_shared_lock,
    search: |_, operations, meter| search(&Rw, operations, meter),
};

pub(crate) struct Rw;

/// Who does what with a lock that knows its holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub process: u32,
    pub does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Does {
    Take(Mode, Option<u64>),
    Convert(Mode),
    Free,
}

impl Step {
    pub(super) fn of(operation: &&Operation) -> Self {
        let does = match operation.action {
            Action::Acquire { mode, token } => Does::Take(mode, token),
            Action::Convert { mode } => Does::Convert(mode),
            _ => Does::Free,
        };
        Self { process: operation.process, does }
    }

    /// Whether it takes more of the lock. Between steps of other processes it may always be taken
    /// later: to be legal next to it, a step of another process must be legal without it.
    pub(super) fn takes_more(&self) -> bool {
        matches!(self.does, Does::Take(..) | Does::Convert(Mode::Exclusive))
    }

    /// [`Model::passes`] of a lock without tokens.
    pub(super) fn passes(&self, later: &Self) -> bool {
        self.takes_more() && self.process != later.process
    }

    /// [`Model::eager`]: to hold less leaves more to all others, and the process itself does
    /// nothing else in the meantime.
    pub(super) fn eager(&self, alone: bool) -> bool {
        !self.takes_more() && alone
    }

    /// [`Model::idle`]: to hold more is of use to nobody else, and the process does nothing later.
    pub(super) fn idle(&self, alone: bool) -> bool {
        self.takes_more() && alone
    }
}

/// Who holds the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    writer: Option<u32>,
    /// In order; a process that holds it twice is in it twice.
    readers: SmallVec<[u32; 4]>,
}

impl Held {
    pub(super) fn apply(&self, step: &Step) -> Option<Self> {
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

    /// [`Model::heap`].
    pub(super) fn heap(&self) -> usize {
        self.readers.len() * size_of::<u32>()
    }

    pub(super) fn describe(&self) -> String {
        match (self.writer, self.readers.as_slice()) {
            (Some(writer), _) => format!("held by process {writer}"),
            (None, []) => "free".into(),
            (None, [reader]) => format!("held shared by process {reader}"),
            (None, readers) => {
                let names: Vec<String> = readers.iter().map(u32::to_string).collect();
                format!("held shared by processes {}", names.join(", "))
            }
        }
    }
}

impl Model for Rw {
    type State = Held;
    type Step = Step;

    fn steps(&self, operations: &[&Operation], _: &mut Meter<'_, '_>) -> Result<Vec<Step>, Stop> {
        Ok(operations.iter().map(Step::of).collect())
    }

    fn initial(&self) -> Held {
        Held::default()
    }

    fn apply(&self, held: &Held, step: &Step) -> Option<Held> {
        held.apply(step)
    }

    fn passes(&self, earlier: &Step, later: &Step, _optional: bool) -> bool {
        earlier.passes(later)
    }

    fn eager<'a>(
        &self,
        _: &Held,
        step: &Step,
        around: Around<'a, Step, impl Iterator<Item = &'a Step>>,
    ) -> bool {
        step.eager(around.alone)
    }

    fn idle(&self, step: &Step, alone: bool) -> bool {
        step.idle(alone)
    }

    fn heap(held: &Held) -> usize {
        held.heap()
    }

    fn describe(&self, held: &Held) -> String {
        held.describe()
    }
}
