//! `cas-register`: a cell with read, write and compare-and-set; nothing is in it at first.

use super::{Around, Model, ModelSpec};
use crate::operation::{Action, Operation, Value};
use crate::search::search;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "cas-register",
    bound: None,
    summary: "a cell with read, write and compare-and-set",
    lock: None,
    takes: |action| {
        matches!(action, Action::Read { .. } | Action::Write { .. } | Action::Cas { .. })
    },
    search: |_, operations, meter| search(&CasRegister, operations, meter),
};

pub(crate) struct CasRegister;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Finds this value; any, when it is not known.
    Read(Option<Value>),
    Write(Value),
    /// Finds the first value, leaves the second.
    Cas(Value, Value),
}

impl Step {
    fn of(operation: &&Operation) -> Self {
        match operation.action {
            Action::Write { value } => Self::Write(value),
            Action::Cas { old, new } => Self::Cas(old, new),
            Action::Read { value } => Self::Read(value),
            _ => Self::Read(None),
        }
    }

    /// What is in the cell for certain when it is done.
    fn leaves(self) -> Option<Value> {
        match self {
            Self::Read(value) => value,
            Self::Write(value) | Self::Cas(_, value) => Some(value),
        }
    }

    /// What must be in the cell for it to be legal.
    fn finds(self) -> Option<Value> {
        match self {
            Self::Read(value) => value,
            Self::Cas(old, _) => Some(old),
            Self::Write(_) => None,
        }
    }
}

impl Model for CasRegister {
    type State = Value;
    type Step = Step;

    fn steps(&self, operations: &[&Operation]) -> Vec<Step> {
        operations.iter().map(Step::of).collect()
    }

    fn initial(&self) -> Value {
        None
    }

    fn apply(&self, cell: &Value, step: &Step) -> Option<Value> {
        let fits = step.finds().is_none_or(|value| value == *cell);
        fits.then_some(match step {
            Step::Read(_) => *cell,
            Step::Write(value) | Step::Cas(_, value) => *value,
        })
    }

    /// What does not find what was left is never legal next to it. A write hides what an optional
    /// step has left, and a read leaves all as it is.
    fn passes(&self, earlier: &Step, later: &Step, optional: bool) -> bool {
        match (earlier.leaves(), later.finds()) {
            (Some(left), Some(found)) if left != found => true,
            _ => match (earlier, later) {
                (Step::Read(_), Step::Read(_)) | (_, Step::Read(None)) => true,
                (_, Step::Write(_)) if optional => true,
                (Step::Write(first), Step::Write(second)) => first == second,
                _ => false,
            },
        }
    }

    /// A read, because it changes nothing.
    fn eager<'a>(
        &self,
        _: &Value,
        step: &Step,
        _: Around<'a, Step, impl Iterator<Item = &'a Step>>,
    ) -> bool {
        matches!(step, Step::Read(_))
    }

    fn idle(&self, step: &Step, _alone: bool) -> bool {
        matches!(step, Step::Read(_))
    }

    fn describe(&self, cell: &Value) -> String {
        cell.map_or("nil".into(), |value| value.to_string())
    }
}
