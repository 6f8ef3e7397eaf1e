//! The models that a history can be held against: small automata, in a file each.
//!
//! A model says from which state which step is legal and where it leads; [`search`] finds out
//! whether the operations of a history can be put on one line that the model can walk. What a
//! model knows besides (which steps commute, which never help) only makes the search shorter, and
//! each such claim is proved where it is made. The vocabulary is Lipton's ("Reduction", 1975): a
//! step that may as well be taken later is a right mover, one that may as well be taken now is a
//! left mover; locks are taken by the first kind and freed by the second.

mod cas_register;
mod reentrant;
mod register;
mod rw;
mod rw_reentrant;
mod semaphore;
mod set;

#[cfg(test)]
pub(crate) use {
    cas_register::CasRegister, reentrant::ReentrantModel, rw::Rw, rw_reentrant::ReentrantRw,
    semaphore::Semaphore, set::Set,
};

use crate::line_sweep::{Rule, strict::StrictLock};
use crate::operation::{Operation, OperationKind, Token};
use crate::search::{Line, Meter, SearchAnswer, SpentBudget, WantedLine};
use crate::state::ModelState;
use base::Mode;
use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

/// Every model, in the order in which they are listed.
pub const MODELS: &[ModelSpec] = &[
    semaphore::MUTEX,
    reentrant::OWNER_MUTEX,
    rw::RW,
    rw_reentrant::RW,
    reentrant::SPEC,
    semaphore::SPEC,
    rw::FENCED,
    rw_reentrant::FENCED,
    register::SPEC,
    cas_register::SPEC,
    set::SPEC,
];

/// An automaton over the operations of one key.
pub(crate) trait Model {
    /// A state of the automaton.
    type State: Clone + Eq + Hash;
    /// An operation as this model sees it.
    type Step: Clone + Eq + Hash;

    /// Brings the operations of one key into its own form, one step for each. What this takes
    /// beyond a glance at each of them, and beyond the steps themselves, is metered.
    fn steps(
        &self,
        operations: &[&Operation],
        meter: &mut Meter<'_, '_>,
    ) -> Result<Vec<Self::Step>, SpentBudget>;

    /// Returns the state in which it begins.
    fn initial(&self) -> Self::State;

    /// Returns the state to which a step leads; `None` when it is illegal.
    fn apply(&self, state: &Self::State, step: &Self::Step) -> Option<Self::State>;

    /// Returns true if, wherever `earlier` and then `later` is legal, `later` and then `earlier` is
    /// legal too and leads to the same state; or, for an `optional` one that need not happen,
    /// `later` without `earlier` is. It is trivially so where `later` is never legal after
    /// `earlier`.
    fn passes(&self, earlier: &Self::Step, later: &Self::Step, optional: bool) -> bool;

    /// Returns true if a step that is legal in this state may as well be taken at once: no line
    /// that is legal from here on, in which it stands later or (if it is optional) not at all,
    /// becomes illegal. The line passes through `around.goal` at some time.
    fn eager<'a>(
        &self,
        state: &Self::State,
        step: &Self::Step,
        around: Around<'a, Self::Step, impl Iterator<Item = &'a Self::Step>>,
    ) -> bool
    where
        Self::Step: 'a;

    /// Returns false if, on each line that takes a legal step here and comes to the goal, the step
    /// can be put behind the goal, or left out if it is optional. `left` are the steps that a line
    /// may take before the goal, this one among them.
    fn is_of_use<'a>(
        &self,
        _state: &Self::State,
        _step: BeforeGoal<'a, Self::Step>,
        _goal: &Self::Step,
        _left: impl Iterator<Item = BeforeGoal<'a, Self::Step>> + Clone,
    ) -> bool
    where
        Self::Step: 'a,
    {
        true
    }

    /// Returns true if each line from here to the goal takes a step such as this one, and may as
    /// well take this one at once.
    fn is_forced<'a>(
        &self,
        _state: &Self::State,
        _step: &Self::Step,
        _goal: &Self::Step,
        _left: impl Iterator<Item = BeforeGoal<'a, Self::Step>> + Clone,
    ) -> bool
    where
        Self::Step: 'a,
    {
        false
    }

    /// Returns false if a step of unknown outcome is nothing to other steps of its process that are
    /// [eager](Self::eager) where they are [steady](Around::steady).
    fn disturbs(&self, _step: &Self::Step) -> bool {
        true
    }

    /// Returns true if a step is legal in every state, and leads from all of them to the same one.
    /// Right before another such step it leaves no trace.
    fn constant(&self, _step: &Self::Step) -> bool {
        false
    }

    /// Returns true if a step never changes the state.
    fn pure(&self, _step: &Self::Step) -> bool {
        false
    }

    /// Returns true if an optional step is never of use to any other operation, whatever becomes of
    /// other idle ones. `last`: no operation of its process that certainly happened is answered
    /// after its begin.
    fn idle(&self, step: &Self::Step, last: bool) -> bool;

    /// Returns true if, of two lines to the same state, the one with a part of the other's open
    /// steps can go wherever the other can: the steps that it lacks can be put in at every state,
    /// in some order, and lead back to that state. `steps` are all that there are.
    fn fewer(&self, _steps: &[Self::Step]) -> bool {
        false
    }

    /// Returns true if [`becomes`](Self::becomes) is ever true of two states.
    fn relates(&self) -> bool {
        false
    }

    /// Returns true if steps lead from one state to the other, in some order.
    fn becomes(
        &self,
        _from: &Self::State,
        _to: &Self::State,
        _between: Between<'_, Self::Step>,
    ) -> bool {
        false
    }

    /// The number of a step among those that a line takes in the order of their numbers, and only
    /// so.
    fn turn(&self, _step: &Self::Step) -> Option<Token> {
        None
    }

    /// Bytes of a state outside of the state itself, where it can be large.
    fn heap(_state: &Self::State) -> usize {
        0
    }

    /// The state, for people.
    fn describe(&self, state: &Self::State) -> ModelState;
}

/// The surroundings of a step that might be taken at once.
pub(crate) struct Around<'a, Step, Open> {
    /// The step that must be reached next.
    pub goal: &'a Step,
    /// The process of the step has no other operation from its begin until its end; for an
    /// operation that has none, until for ever.
    pub alone: bool,
    /// The step certainly happened, and it would be alone but for operations of unknown outcome
    /// that do not [disturb](Model::disturbs) it.
    pub steady: bool,
    /// All steps that certainly happened, have begun and are not on the line yet.
    pub open: Open,
}

/// A step that a line may take before it comes to its goal.
#[derive(Clone, Copy)]
pub(crate) struct BeforeGoal<'a, Step> {
    pub step: &'a Step,
    /// It need not happen.
    pub optional: bool,
}

/// Steps that may lead from one state to another.
#[derive(Clone, Copy)]
pub(crate) struct Between<'a, Step> {
    /// Steps that have to be taken, in any order.
    pub steps: &'a [&'a Step],
    /// The number of optional steps of this kind, each of which may be taken.
    pub left: &'a dyn Fn(&Step) -> u32,
}

/// A model in the list: its name, its parameter and how to make it.
pub struct ModelSpec {
    /// The name of the model.
    pub name: &'static str,
    /// The thing that its number bounds, when it has one: `semaphore:3`.
    pub bound: Option<&'static str>,
    /// The model in one line, for `picklock list`.
    pub summary: &'static str,
    /// The model of the same lock that its holder may take again, if it is another one.
    pub reentrant: Option<&'static str>,
    /// The sets of holds that are legal, and whether tokens grow; `None` when it is not a lock.
    pub(crate) lock: Option<fn(u32) -> StrictLock>,
    /// Returns true if the model knows this action.
    pub(crate) takes: fn(&OperationKind) -> bool,
    /// Decides by search.
    pub(crate) search: fn(u32, &[&Operation], &mut Meter<'_, '_>) -> SearchAnswer,
    /// Looks for a line.
    pub(crate) line: fn(u32, &[&Operation], &WantedLine<'_>, &mut Meter<'_, '_>) -> Line,
}

/// A model with its parameter: `mutex`, `semaphore:3`.
#[derive(Clone, Copy)]
pub struct NamedModel {
    /// The model in the list.
    pub spec: &'static ModelSpec,
    /// Its number; 1 when it has none.
    pub bound: u32,
}

impl NamedModel {
    /// Returns true if it is a lock that can be held shared.
    pub(crate) fn is_shared(&self) -> bool {
        (self.spec.takes)(&OperationKind::Convert { mode: Mode::Shared })
    }

    /// Returns true if it is a lock.
    pub(crate) fn is_lock(&self) -> bool {
        self.spec.lock.is_some()
    }

    /// Returns true if it has several permits, of which one acquire may take many.
    pub(crate) fn has_permits(&self) -> bool {
        let rule = self.spec.lock.map(|lock| lock(self.bound).rule);
        self.spec.bound.is_some() && matches!(rule, Some(Rule::Permits(_)))
    }

    /// Returns true if it is a lock whose grants bring tokens.
    pub(crate) fn is_fenced(&self) -> bool {
        self.spec.lock.is_some_and(|lock| lock(self.bound).fenced)
    }
}

impl fmt::Display for NamedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spec.bound {
            Some(_) => write!(f, "{}:{}", self.spec.name, self.bound),
            None => f.write_str(self.spec.name),
        }
    }
}

impl fmt::Debug for NamedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The reason why a text names no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoModel {
    /// There is none of this name.
    Unknown(String),
    /// Its number is missing, is not wanted, or is not a number from 1 on; in words.
    Bound(String),
}

impl FromStr for NamedModel {
    type Err = NoModel;

    fn from_str(text: &str) -> Result<Self, NoModel> {
        let named = |name: &str| MODELS.iter().find(|spec| spec.name == name);
        let (name, bound) = match text.split_once(':') {
            Some((name, bound)) if named(text).is_none() => (name, Some(bound)),
            _ => (text, None),
        };
        let spec = named(name);
        let spec = spec.ok_or_else(|| NoModel::Unknown(name.into()))?;
        let bound = match (spec.bound, bound) {
            (None, None) => 1,
            (Some(_), Some(bound)) if bound.parse::<u32>().is_ok_and(|bound| bound > 0) => {
                bound.parse().expect("just parsed")
            }
            (Some(what), _) => {
                let line = format!("`{name}` needs the {what}, from 1 on: write `{name}:2`");
                return Err(NoModel::Bound(line));
            }
            (None, Some(_)) => {
                let names = MODELS.iter().map(|spec| spec.name);
                let names = names.filter(|it| it.split(':').next() == Some(name));
                let names: Vec<String> = names.map(|it| format!("`{it}`")).collect();
                let line = format!("`{name}` takes no number: write {}", names.join(" or "));
                return Err(NoModel::Bound(line));
            }
        };
        Ok(Self { spec, bound })
    }
}

/// Returns true if an action is one of a lock.
pub(crate) fn is_lock(action: &OperationKind) -> bool {
    use OperationKind::{Acquire, Confirm, Release};
    matches!(action, Acquire { .. } | Release { .. } | Confirm)
}

/// Returns true if an action is one of a lock that can be held in two modes.
pub(crate) fn is_shared_lock(action: &OperationKind) -> bool {
    is_lock(action) || matches!(action, OperationKind::Convert { .. })
}

#[cfg(test)]
mod tests;
