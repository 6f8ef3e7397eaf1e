//! From a history to a verdict: no files, no clock, no drawing.
//!
//! A checker is one file and one line of [`CHECKERS`]; the header of its file is its manual entry.
//! What several of them need stands apart and is read once, into a [`Case`]: [`holds`] reads who asked
//! for and held which lock, [`faults`] reads what the nemesis did and when. [`sweep`] finds holds that overlap against the
//! rules.

#![warn(missing_docs)]

mod case;
mod coverage;
mod decide;
mod exclusion;
pub mod faults;
pub mod holds;
mod judgement;
mod models;
pub mod operation;
mod phase;
#[cfg(test)]
mod picture;
mod progress;
mod search;
pub mod sweep;
mod vault;
mod words;

pub use case::{Case, Checker};
pub use coverage::Coverage;
pub use decide::{Decision, Illegal, Misfit, decide};
pub use exclusion::Exclusion;
pub use judgement::{JUDGEMENT_VERSION, Judgement, overall};
pub use models::{MODELS, ModelSpec, NamedModel, NoModel};
pub use progress::Progress;
pub use search::Budget;
pub use vault::Vault;

use base::{Run, Verdict};

/// Every checker, in the order in which reports show them.
pub const CHECKERS: &[&dyn Checker] = &[
    &Exclusion, //
    &Vault, &Progress, &Coverage,
];

/// What each checker says about a run, in the order of [`CHECKERS`].
pub fn check_all(run: &Run) -> Vec<Verdict> {
    let case = Case::of(run);
    CHECKERS.iter().map(|checker| checker.check(&case)).collect()
}
