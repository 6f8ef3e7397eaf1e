//! `cas-register`: a cell with read, write and compare-and-set; nothing is in it at first, and a
//! read of that finds `nil`.
//!
//! A cas that failed did nothing and says nothing, as in Knossos; but where a history says that it
//! failed because it found another value (Porcupine's logs of etcd), that is a step too.

use super::{Around, Model, ModelSpec};
use crate::operation::{Operation, OperationKind, RegisterValue};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "cas-register",
    bound: None,
    summary: "a cell with read, write and compare-and-set",
    reentrant: None,
    lock: None,
    takes: |action| {
        use OperationKind::{Cas, Miss, Read, Write};
        matches!(action, Read { .. } | Write { .. } | Cas { .. } | Miss { .. })
    },
    search: |_, operations, meter| search(&CasRegister, operations, meter),
    line: |_, operations, wanted, meter| line(&CasRegister, operations, wanted, meter),
};

pub(crate) struct CasRegister;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CasStep {
    /// Finds this value; any, when it is not known.
    Read(Option<RegisterValue>),
    Write(RegisterValue),
    /// Finds the first value, leaves the second.
    Cas(RegisterValue, RegisterValue),
    /// Finds another value.
    Miss(RegisterValue),
}

impl CasStep {
    fn of(operation: &&Operation) -> Self {
        match operation.action {
            OperationKind::Write { value } => Self::Write(value),
            OperationKind::Cas { old, new } => Self::Cas(old, new),
            OperationKind::Miss { old } => Self::Miss(old),
            OperationKind::Read { value } => Self::Read(value),
            _ => Self::Read(None),
        }
    }

    /// Returns the value that is in the cell for certain when it is done.
    fn leaves(self) -> Option<RegisterValue> {
        match self {
            Self::Read(value) => value,
            Self::Write(value) | Self::Cas(_, value) => Some(value),
            Self::Miss(_) => None,
        }
    }

    /// Returns the value that must be in the cell for it to be legal.
    fn finds(self) -> Option<RegisterValue> {
        match self {
            Self::Read(value) => value,
            Self::Cas(old, _) => Some(old),
            Self::Write(_) | Self::Miss(_) => None,
        }
    }
}

impl Model for CasRegister {
    type State = RegisterValue;
    type Step = CasStep;

    fn steps(
        &self,
        operations: &[&Operation],
        _: &mut Meter<'_, '_>,
    ) -> Result<Vec<CasStep>, SpentBudget> {
        Ok(operations.iter().map(CasStep::of).collect())
    }

    fn initial(&self) -> RegisterValue {
        None
    }

    fn apply(&self, cell: &RegisterValue, step: &CasStep) -> Option<RegisterValue> {
        let fits = match step {
            CasStep::Miss(old) => old != cell,
            _ => step.finds().is_none_or(|value| value == *cell),
        };
        fits.then_some(match step {
            CasStep::Read(_) | CasStep::Miss(_) => *cell,
            CasStep::Write(value) | CasStep::Cas(_, value) => *value,
        })
    }

    /// Returns true where the later step does not find what the earlier one left: it is never legal
    /// next to it. A write hides what an optional step has left, and what changes nothing leaves
    /// all as it is. (Two writes are [constant](Model::constant).)
    fn passes(&self, earlier: &CasStep, later: &CasStep, optional: bool) -> bool {
        match (earlier, later) {
            (earlier, later) if self.pure(earlier) && self.pure(later) => true,
            (_, CasStep::Read(None)) => true,
            (_, CasStep::Write(_)) if optional => true,
            (earlier, CasStep::Miss(old)) => earlier.leaves() == Some(*old),
            _ => match (earlier.leaves(), later.finds()) {
                (Some(left), Some(found)) => left != found,
                _ => false,
            },
        }
    }

    /// Returns true for steps that change nothing.
    fn eager<'a>(
        &self,
        _: &RegisterValue,
        step: &CasStep,
        _: Around<'a, CasStep, impl Iterator<Item = &'a CasStep>>,
    ) -> bool {
        self.pure(step)
    }

    fn constant(&self, step: &CasStep) -> bool {
        matches!(step, CasStep::Write(_))
    }

    /// A read, a cas that missed, and one that leaves what it finds.
    fn pure(&self, step: &CasStep) -> bool {
        match step {
            CasStep::Read(_) | CasStep::Miss(_) => true,
            CasStep::Cas(old, new) => old == new,
            CasStep::Write(_) => false,
        }
    }

    fn idle(&self, step: &CasStep, _last: bool) -> bool {
        self.pure(step)
    }

    fn describe(&self, cell: &RegisterValue) -> ModelState {
        ModelState::Cell(*cell)
    }
}
