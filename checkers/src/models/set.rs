//! `set`: members are added, never removed; a read shows all of them.

use super::{Around, Model, ModelSpec};
use crate::operation::{Action, Operation};
use crate::search::search;

pub(super) const SPEC: ModelSpec = ModelSpec {
    name: "set",
    bound: None,
    summary: "a set to which members are added, read as a whole",
    lock: None,
    takes: |action| matches!(action, Action::Add { .. } | Action::Members { .. }),
    search: |_, operations, meter| search(&Set, operations, meter),
};

pub(crate) struct Set;

/// A set of small numbers, one bit each, without zero words at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Numbers(Vec<u64>);

impl Numbers {
    fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    fn add(&mut self, number: usize) {
        let words = self.0.len().max(number / 64 + 1);
        self.0.resize(words, 0);
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Add(usize),
    /// Shows these; any, when they are not known.
    Members(Option<Numbers>),
}

impl Step {
    /// Whether it shows a set without this member.
    fn lacks(&self, member: usize) -> bool {
        matches!(self, Self::Members(Some(members)) if !members.has(member))
    }
}

impl Model for Set {
    type State = Numbers;
    type Step = Step;

    /// Members get small numbers, so that a state is a row of bits.
    fn steps(&self, operations: &[&Operation]) -> Vec<Step> {
        let mut values: Vec<i64> = Vec::new();
        for operation in operations {
            match &operation.action {
                Action::Add { value } => values.push(*value),
                Action::Members { values: Some(members) } => values.extend(members.iter()),
                _ => {}
            }
        }
        values.sort_unstable();
        values.dedup();
        let number = |value: &i64| values.binary_search(value).expect("every value is listed");
        let step = |operation: &&Operation| match &operation.action {
            Action::Add { value } => Step::Add(number(value)),
            Action::Members { values: Some(members) } => {
                let mut numbers = Numbers::default();
                members.iter().for_each(|member| numbers.add(number(member)));
                Step::Members(Some(numbers))
            }
            _ => Step::Members(None),
        };
        operations.iter().map(step).collect()
    }

    fn initial(&self) -> Numbers {
        Numbers::default()
    }

    fn apply(&self, set: &Numbers, step: &Step) -> Option<Numbers> {
        match step {
            Step::Add(member) => {
                let mut set = set.clone();
                set.add(*member);
                Some(set)
            }
            Step::Members(members) => {
                members.as_ref().is_none_or(|members| members == set).then(|| set.clone())
            }
        }
    }

    /// Two of a kind may change places, and what shows a set without a member is never legal right
    /// after it was added.
    fn passes(&self, earlier: &Step, later: &Step, _optional: bool) -> bool {
        match (earlier, later) {
            (Step::Add(member), Step::Members(Some(_))) => later.lacks(*member),
            (Step::Members(Some(_)), Step::Add(_)) => false,
            _ => true,
        }
    }

    /// A read, because it changes nothing; a member that is there already, because it stays; and
    /// one that must be there at the goal, if no read that is still open lacks it.
    fn eager<'a>(
        &self,
        set: &Numbers,
        step: &Step,
        mut around: Around<'a, Step, impl Iterator<Item = &'a Step>>,
    ) -> bool {
        match (step, around.goal) {
            (Step::Members(_), _) => true,
            (Step::Add(member), _) if set.has(*member) => true,
            (Step::Add(member), Step::Members(Some(goal))) => {
                goal.has(*member) && !around.open.any(|open| open.lacks(*member))
            }
            _ => false,
        }
    }

    /// A read.
    fn pure(&self, step: &Step) -> bool {
        matches!(step, Step::Members(_))
    }

    fn idle(&self, step: &Step, _alone: bool) -> bool {
        self.pure(step)
    }

    fn describe(&self, set: &Numbers) -> String {
        format!("{} members", set.len())
    }
}
