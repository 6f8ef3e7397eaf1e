//! `cas-register`: a cell with read, write and compare-and-set; nothing is in it at first, and a read
//! of that finds `nil`.
//!
//! A cas that failed did nothing and says nothing, as in Knossos; but where a history says that it
//! failed because it found another value (Porcupine's logs of etcd), that is a step too.

use super::{Around, Model, ModelSpec};
use crate::operation::{Action, Operation, Value};
use crate::search::{Meter, Stop, line, search};
use crate::state::State;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "cas-register",
    bound: None,
    summary: "a cell with read, write and compare-and-set",
    lock: None,
    takes: |action| {
        use Action::{Cas, Miss, Read, Write};
        matches!(action, Read { .. } | Write { .. } | Cas { .. } | Miss { .. })
    },
    search: |_, operations, meter| search(&CasRegister, operations, meter),
    line: |_, operations, wanted, meter| line(&CasRegister, operations, wanted, meter),
};

pub(crate) struct CasRegister;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Finds this value; any, when it is not known.
    Read(Option<Value>),
    Write(Value),
    /// Finds the first value, leaves the second.
    Cas(Value, Value),
    /// Finds another value.
    Miss(Value),
}

impl Step {
    fn of(operation: &&Operation) -> Self {
        match operation.action {
            Action::Write { value } => Self::Write(value),
            Action::Cas { old, new } => Self::Cas(old, new),
            Action::Miss { old } => Self::Miss(old),
            Action::Read { value } => Self::Read(value),
            _ => Self::Read(None),
        }
    }

    /// Returns the value that is in the cell for certain when it is done.
    fn leaves(self) -> Option<Value> {
        match self {
            Self::Read(value) => value,
            Self::Write(value) | Self::Cas(_, value) => Some(value),
            Self::Miss(_) => None,
        }
    }

    /// Returns the value that must be in the cell for it to be legal.
    fn finds(self) -> Option<Value> {
        match self {
            Self::Read(value) => value,
            Self::Cas(old, _) => Some(old),
            Self::Write(_) | Self::Miss(_) => None,
        }
    }
}

impl Model for CasRegister {
    type State = Value;
    type Step = Step;

    fn steps(&self, operations: &[&Operation], _: &mut Meter<'_, '_>) -> Result<Vec<Step>, Stop> {
        Ok(operations.iter().map(Step::of).collect())
    }

    fn initial(&self) -> Value {
        None
    }

    fn apply(&self, cell: &Value, step: &Step) -> Option<Value> {
        let fits = match step {
            Step::Miss(old) => old != cell,
            _ => step.finds().is_none_or(|value| value == *cell),
        };
        fits.then_some(match step {
            Step::Read(_) | Step::Miss(_) => *cell,
            Step::Write(value) | Step::Cas(_, value) => *value,
        })
    }

    /// Returns true where the later step does not find what the earlier one left: it is never legal
    /// next to it. A write hides what an optional step has left, and what changes nothing leaves
    /// all as it is. (Two writes are [constant](Model::constant).)
    fn passes(&self, earlier: &Step, later: &Step, optional: bool) -> bool {
        match (earlier, later) {
            (earlier, later) if self.pure(earlier) && self.pure(later) => true,
            (_, Step::Read(None)) => true,
            (_, Step::Write(_)) if optional => true,
            (earlier, Step::Miss(old)) => earlier.leaves() == Some(*old),
            _ => match (earlier.leaves(), later.finds()) {
                (Some(left), Some(found)) => left != found,
                _ => false,
            },
        }
    }

    /// Returns true for steps that change nothing.
    fn eager<'a>(
        &self,
        _: &Value,
        step: &Step,
        _: Around<'a, Step, impl Iterator<Item = &'a Step>>,
    ) -> bool {
        self.pure(step)
    }

    fn constant(&self, step: &Step) -> bool {
        matches!(step, Step::Write(_))
    }

    /// A read, a cas that missed, and one that leaves what it finds.
    fn pure(&self, step: &Step) -> bool {
        match step {
            Step::Read(_) | Step::Miss(_) => true,
            Step::Cas(old, new) => old == new,
            Step::Write(_) => false,
        }
    }

    fn idle(&self, step: &Step, _last: bool) -> bool {
        self.pure(step)
    }

    fn describe(&self, cell: &Value) -> State {
        State::Cell(*cell)
    }
}
