//! Decides whether a history of operations is one of a model: `picklock check --model`.
//!
//! This is Jepsen's rule, the *strict* normal form: operations that failed are dropped, those of
//! unknown outcome may have happened at any time after their begin or not at all, and nothing is
//! added. Keys are judged one by one: by the [line sweep](crate::line_sweep) where it is exact, else
//! by [search](crate::search).

use crate::line_sweep::strict;
use crate::models::NamedModel;
use crate::operation::Operation;
use crate::search::{Budget, Meter, SearchAnswer, SpentBudget};
use crate::state::ModelState;

/// The answer to whether a history is one of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The operations can be put on one line that the model can walk.
    Legal,
    /// They cannot: the keys of which that is so, the one whose history goes wrong first in front,
    /// and no more than a few.
    Illegal(Vec<Illegal>),
    /// A budget was spent before it was known; why, in words.
    Inconclusive(String),
}

/// The number of illegal keys that are reported.
const REPORTED_KEYS: usize = 8;

/// The reason why the operations of a key are illegal. Operations are indices of the list that was
/// given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal {
    /// The key of the operation.
    pub key: u32,
    /// The first operation that can be put nowhere, whatever is done with those before it.
    pub stuck: usize,
    /// The operations that it is in conflict with or that were under way beside it: those that
    /// hold the lock, those not yet answered, those of unknown outcome.
    pub concurrent: Vec<usize>,
    /// The states in which the model may have been just before; at most a few of many.
    pub states: Vec<ModelState>,
}

/// An operation that a model does not know: its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit(pub usize);

/// The memory that the line sweep takes for an operation, in bytes: its change, twice, and a few
/// numbers.
const SWEPT: usize = 96;

/// Decides whether operations (of any number of keys, in any order) are legal for a model. If
/// several keys are illegal, the one whose history goes wrong first is reported first.
///
/// # Errors
/// If the model does not know one of the operations: a lock cannot be read.
pub fn decide(
    model: NamedModel,
    operations: &[Operation],
    budget: Budget<'_>,
) -> Result<Decision, Misfit> {
    let swept = |operations: &[&Operation], meter: &mut Meter<'_, '_>| {
        let lock = model.spec.lock?(model.bound);
        match meter.take(operations.len() * SWEPT) {
            Ok(()) => {
                strict::decide(lock, operations).or_else(|| strict::definite(lock, operations))
            }
            Err(stop) => Some(SearchAnswer::Stopped(stop)),
        }
    };
    decide_with(swept, model, operations, budget)
}

/// Decides as [`decide`] does, but always by search: to compare the two, and to measure it.
///
/// # Errors
/// If the model does not know one of the operations.
pub fn decide_by_search(
    model: NamedModel,
    operations: &[Operation],
    budget: Budget<'_>,
) -> Result<Decision, Misfit> {
    decide_with(|_, _| None, model, operations, budget)
}

fn decide_with(
    swept: impl Fn(&[&Operation], &mut Meter<'_, '_>) -> Option<SearchAnswer>,
    model: NamedModel,
    operations: &[Operation],
    mut budget: Budget<'_>,
) -> Result<Decision, Misfit> {
    let takes = model.spec.takes;
    if let Some(index) = operations.iter().position(|operation| !takes(&operation.action)) {
        return Err(Misfit(index));
    }
    let mut meter = Meter::new(&mut budget);
    let mut wrong: Vec<Illegal> = Vec::new();
    let mut stopped = None;
    for key in keys(operations) {
        let ours: Vec<&Operation> = key.iter().map(|index| &operations[*index as usize]).collect();
        let answer = swept(&ours, &mut meter).unwrap_or_else(|| {
            meter.give_all();
            (model.spec.search)(model.bound, &ours, &mut meter)
        });
        meter.give_all();
        match decision(answer, operations, &key) {
            Decision::Legal => {}
            Decision::Illegal(illegal) => {
                wrong.extend(illegal);
                wrong.sort_by_key(|illegal| operations[illegal.stuck].deadline());
                wrong.truncate(REPORTED_KEYS);
            }
            Decision::Inconclusive(why) => stopped = stopped.or(Some(why)),
        }
    }
    Ok(match stopped {
        _ if !wrong.is_empty() => Decision::Illegal(wrong),
        Some(why) => Decision::Inconclusive(why),
        None => Decision::Legal,
    })
}

/// The operations of each key, as indices.
pub(crate) fn keys(operations: &[Operation]) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> = (0..operations.len() as u32).collect();
    order.sort_by_key(|index| operations[*index as usize].key);
    let same = |a: &u32, b: &u32| operations[*a as usize].key == operations[*b as usize].key;
    order.chunk_by(same).map(<[u32]>::to_vec).collect()
}

/// An answer about the operations of one key, in the numbers of all.
fn decision(answer: SearchAnswer, operations: &[Operation], key: &[u32]) -> Decision {
    let index = |id: usize| key[id] as usize;
    match answer {
        SearchAnswer::Legal => Decision::Legal,
        SearchAnswer::Illegal { stuck, concurrent, states } => Decision::Illegal(vec![Illegal {
            key: operations[index(stuck)].key,
            stuck: index(stuck),
            concurrent: concurrent.into_iter().map(index).collect(),
            states,
        }]),
        SearchAnswer::Stopped(SpentBudget::Time) => {
            Decision::Inconclusive("the time budget was spent before it was known".into())
        }
        SearchAnswer::Stopped(SpentBudget::Memory) => {
            Decision::Inconclusive("the memory budget was spent before it was known".into())
        }
    }
}

#[cfg(test)]
mod tests;
