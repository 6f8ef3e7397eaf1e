//! `set`: members are added, never removed; a read shows all of them.

use super::{Around, Model, ModelSpec};
use crate::operation::{Operation, OperationKind};
use crate::search::{Meter, SpentBudget, line, search};
use crate::state::ModelState;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::sync::Arc;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "set",
    bound: None,
    summary: "a set to which members are added, read as a whole",
    reentrant: None,
    lock: None,
    takes: |action| matches!(action, OperationKind::Add { .. } | OperationKind::Members { .. }),
    search: |_, operations, meter| search(&Set, operations, meter),
    line: |_, operations, wanted, meter| line(&Set, operations, wanted, meter),
};

pub(crate) struct Set;

/// A set of small numbers, one bit each, without zero words at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct NumberSet(Vec<u64>);

impl NumberSet {
    fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    fn add(&mut self, number: usize) {
        let words = self.0.len().max(number / 64 + 1);
        self.0.resize(words, 0);
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Bytes of the row.
    fn heap(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }

    fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SetStep {
    Add(usize),
    /// Shows these; any, when they are not known.
    Members(Option<Shown>),
}

/// The members that a read shows. Reads that show the same members share one set; the number in
/// front identifies it, so that different sets are distinguished at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shown(usize, Arc<NumberSet>);

impl SetStep {
    /// Returns true if it shows a set without this member.
    fn lacks(&self, member: usize) -> bool {
        matches!(self, Self::Members(Some(Shown(_, members))) if !members.has(member))
    }
}

/// Bytes of an entry of a table while the table grows, beside what it points to.
const ENTRY: usize = 64;

/// Gives small numbers to members, so that a state is a row of bits, and to such rows.
#[derive(Default)]
struct Numbering {
    members: HashMap<i64, usize, FxBuildHasher>,
    shown: HashMap<Arc<NumberSet>, usize, FxBuildHasher>,
}

impl Numbering {
    fn step(
        &mut self,
        action: &OperationKind,
        meter: &mut Meter<'_, '_>,
    ) -> Result<SetStep, SpentBudget> {
        Ok(match action {
            OperationKind::Add { value } => SetStep::Add(self.member(*value, meter)?),
            OperationKind::Members { values: Some(members) } => {
                SetStep::Members(Some(self.shown(members, meter)?))
            }
            _ => SetStep::Members(None),
        })
    }

    fn member(&mut self, value: i64, meter: &mut Meter<'_, '_>) -> Result<usize, SpentBudget> {
        meter.tick()?;
        let next = self.members.len();
        let number = *self.members.entry(value).or_insert(next);
        if number == next {
            meter.take(ENTRY)?;
        }
        Ok(number)
    }

    fn shown(&mut self, members: &[i64], meter: &mut Meter<'_, '_>) -> Result<Shown, SpentBudget> {
        let mut numbers = NumberSet::default();
        for member in members {
            numbers.add(self.member(*member, meter)?);
        }
        numbers.0.shrink_to_fit();
        meter.handle(numbers.heap())?;
        let next = self.shown.len();
        if let Some((numbers, number)) = self.shown.get_key_value(&numbers) {
            return Ok(Shown(*number, Arc::clone(numbers)));
        }
        meter.take(ENTRY + numbers.heap())?;
        let numbers = Arc::new(numbers);
        self.shown.insert(Arc::clone(&numbers), next);
        Ok(Shown(next, numbers))
    }
}

impl Model for Set {
    type State = NumberSet;
    type Step = SetStep;

    fn steps(
        &self,
        operations: &[&Operation],
        meter: &mut Meter<'_, '_>,
    ) -> Result<Vec<SetStep>, SpentBudget> {
        let mut numbering = Numbering::default();
        operations.iter().map(|operation| numbering.step(&operation.action, meter)).collect()
    }

    fn initial(&self) -> NumberSet {
        NumberSet::default()
    }

    fn apply(&self, set: &NumberSet, step: &SetStep) -> Option<NumberSet> {
        match step {
            SetStep::Add(member) => {
                let mut set = set.clone();
                set.add(*member);
                Some(set)
            }
            SetStep::Members(members) => {
                members.as_ref().is_none_or(|Shown(_, all)| **all == *set).then(|| set.clone())
            }
        }
    }

    /// Two of a kind may change places, and what shows a set without a member is never legal right
    /// after it was added.
    fn passes(&self, earlier: &SetStep, later: &SetStep, _optional: bool) -> bool {
        match (earlier, later) {
            (SetStep::Add(member), SetStep::Members(Some(_))) => later.lacks(*member),
            (SetStep::Members(Some(_)), SetStep::Add(_)) => false,
            _ => true,
        }
    }

    /// A read, because it changes nothing; a member that is there already, because it stays; and
    /// one that must be there at the goal, if no read that is still open lacks it.
    fn eager<'a>(
        &self,
        set: &NumberSet,
        step: &SetStep,
        mut around: Around<'a, SetStep, impl Iterator<Item = &'a SetStep>>,
    ) -> bool {
        match (step, around.goal) {
            (SetStep::Members(_), _) => true,
            (SetStep::Add(member), _) if set.has(*member) => true,
            (SetStep::Add(member), SetStep::Members(Some(Shown(_, goal)))) => {
                goal.has(*member) && !around.open.any(|open| open.lacks(*member))
            }
            _ => false,
        }
    }

    /// Returns true for a read.
    fn pure(&self, step: &SetStep) -> bool {
        matches!(step, SetStep::Members(_))
    }

    fn idle(&self, step: &SetStep, _last: bool) -> bool {
        self.pure(step)
    }

    fn heap(set: &NumberSet) -> usize {
        set.heap()
    }

    fn describe(&self, set: &NumberSet) -> ModelState {
        ModelState::Members(set.len())
    }
}
