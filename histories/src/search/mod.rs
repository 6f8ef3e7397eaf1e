//! General search: can the operations of one key be put on one line that a model can walk?
//!
//! # The algorithm
//! Wing and Gong ("Testing and verifying concurrent objects", 1993) with Lowe's just-in-time
//! linearization ("Testing for linearizability", 2017). The history is read once, from front to
//! back. A *configuration* is one way in which the line may have gone so far: the state that it
//! leads to, and which of the open operations are on it. Only the *answer* of an operation forces
//! anything: by then it must be on the line. So at each answer every configuration that lacks the
//! operation is carried on, by steps of other open operations, until it can take it; those that
//! cannot are dropped. A history is illegal if none remains, and the operation that was answered
//! there is the one that cannot be placed.
//!
//! # What keeps it short
//! Every rule keeps, for each line that can be completed, one that can be completed too.
//!
//! * **Right movers.** Before the goal, a line takes only what cannot be put behind it
//!   ([`Model::passes`]): start with the goal, add each open operation that does not pass all that
//!   were added so far, and repeat. Of a line that takes something else before the goal, the last
//!   such thing can be moved behind it (or, if it is optional, left out), and so on.
//! * **Left movers.** A step that may as well be taken at once ([`Model::eager`]) is taken, without
//!   a second branch. If it is the goal itself, nothing else need come before it.
//! * **Twins.** Of open operations with equal steps, the one that is answered first comes first:
//!   in a line that has it the other way round, the two can change places. The goal is answered
//!   before all others.
//! * **Traces.** Some steps leave none: a [constant](Model::constant) one (a write) right before
//!   another, and one that is [pure](Model::pure) (a read) wherever it is legal. So when a constant
//!   step is put on the line, all other constant ones that are open count as *done* as well: they
//!   may have been put right before it, or may be put elsewhere yet; that is decided when they are
//!   needed, or never. Hence they pass each other. In lines that take a constant step in place of
//!   a constant goal, which is then done, the goal can stand right before it: such a line comes
//!   from the one in which the goal is all that is taken, later and by steps that are open still.
//! * **Dominance.** Operations of unknown outcome never need be on the line. Of two configurations
//!   with the same state and the same answered-for operations, the one that has spent at most as
//!   many of each kind of optional operations can go wherever the other can; and so can one in
//!   which more is done without a trace. Where the steps that a line lacks can be put in anywhere
//!   ([`Model::fewer`]), one with fewer steps can as well. Equal optional operations are one kind
//!   and counted, and those of no use to anybody ([`Model::idle`]) are left out from the beginning.
//! * **Haste.** A configuration that another one can still become, by steps that are open for it
//!   ([`Model::becomes`]), is in haste: the other can go wherever it can. This is asked between two
//!   answers only, since on the way to one such steps may be needed.
//! * **Depth.** Each operation of unknown outcome can double the configurations, most of which are
//!   never needed. So where the search takes long, a line is looked for [in depth](line) for a
//!   while: if it is found, there is one.
//!
//! No recursion; nothing is kept of the past but the configurations. Time and memory are metered
//! inside each step ([`Meter`]).

mod bits;
mod config;
mod line;
mod meter;
mod open;
#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
pub(crate) mod tests;
mod walk;

use line::is_soon_found;
pub use line::{Line, LinePoint};
pub(crate) use line::{WantedLine, line};
pub use meter::Budget;
pub(crate) use meter::{Meter, SpentBudget};

use crate::models::Model;
use crate::operation::{Ended, Operation};
use crate::state::ModelState;
use open::{OpenOperations, Timeline};
use walk::{Dead, LineSearch};

/// The answer of the search about the operations of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SearchAnswer {
    /// There is such a line.
    Legal,
    /// There is none. Operations are numbers in the list that was given.
    Illegal {
        /// The operation that cannot be placed.
        stuck: usize,
        /// The operations that were open, or of unknown outcome, when it was answered.
        concurrent: Vec<usize>,
        /// The states to which the lines that go furthest lead; a few of them.
        states: Vec<ModelState>,
    },
    /// The budget was spent.
    Stopped(SpentBudget),
}

/// The bytes kept of an operation throughout, beside its step: its begin and its answer in order,
/// and a few numbers.
const EACH: usize = 120;

/// The looks at the clock after which a search among doubts tries another way.
const SOON: usize = 128;

/// Searches for a line of these operations, all of one key, in any order.
pub(crate) fn search<M: Model>(
    model: &M,
    operations: &[&Operation],
    meter: &mut Meter<'_, '_>,
) -> SearchAnswer {
    metered(model, operations, meter).unwrap_or_else(SearchAnswer::Stopped)
}

fn metered<M: Model>(
    model: &M,
    operations: &[&Operation],
    meter: &mut Meter<'_, '_>,
) -> Result<SearchAnswer, SpentBudget> {
    meter.tick()?;
    meter.take(operations.len() * (size_of::<M::Step>() + EACH))?;
    let happened: Vec<usize> =
        (0..operations.len()).filter(|id| operations[*id].ended != Ended::Fail).collect();
    let kept: Vec<&Operation> = happened.iter().map(|id| operations[*id]).collect();
    let steps = model.steps(&kept, meter)?;
    let timeline = Timeline::of(model, &kept, &steps);
    let is_in_doubt = timeline.begun().any(|id| !kept[id].certain());
    let in_breadth = |meter: &mut Meter<'_, '_>| {
        let open = OpenOperations::of(model, &timeline, &kept, &steps);
        LineSearch::of(model, &steps, open).run(&timeline, meter)
    };
    let soon = if is_in_doubt { meter.within(SOON, in_breadth).ok() } else { None };
    let ended = match soon {
        Some(ended) => ended,
        None if is_in_doubt && is_soon_found(model, &kept, &steps, &timeline, meter) => Ok(()),
        None => in_breadth(meter)?,
    };
    Ok(match ended {
        Ok(()) => SearchAnswer::Legal,
        Err(Dead { stuck, concurrent, states }) => SearchAnswer::Illegal {
            stuck: happened[stuck],
            concurrent: concurrent.into_iter().map(|id| happened[id]).collect(),
            states,
        },
    })
}
