//! From a history to a verdict: no files, no clock, no drawing.
//!
//! A checker is one file and one line of [`CHECKERS`]; the header of its file is its manual entry.
//! A part of the run that several of them need is read once, into a [`Case`]:
//! [`holds`](histories::holds) reads the claims to each lock and their holds, [`faults`] reads the
//! faults and their times, and [`line_sweep`](histories::line_sweep) finds holds that overlap
//! against the rules.
//!
//! Deciding comes first and explaining after it: [`Checker::check`] names the events that prove an
//! anomaly, and when all verdicts stand, [`Checker::explain`] tells how it came about.

#![warn(missing_docs)]

mod acquire_errors;
mod anomalies;
mod availability;
mod bypass;
mod calm;
mod causes;
mod checker;
mod coverage;
mod evidence;
mod exclusion;
mod fairness;
pub mod faults;
mod fencing;
mod foreign_release;
mod groups;
mod herd;
mod independence;
mod intervals;
mod judgement;
mod list;
mod perf;
mod phase;
#[cfg(test)]
mod picture;
mod progress;
mod reentrancy;
mod release_errors;
mod shared_concurrency;
mod stalls;
mod story;
mod vault;
mod words;

pub use acquire_errors::AcquireErrors;
pub use anomalies::ANOMALIES;
pub use availability::Availability;
pub use causes::Case;
pub use checker::Checker;
pub use coverage::Coverage;
pub use evidence::Evidence;
pub use exclusion::Exclusion;
pub use fairness::Fairness;
pub use fencing::Fencing;
pub use foreign_release::ForeignRelease;
pub use herd::Herd;
pub use independence::Independence;
pub use judgement::{EXPLANATION_STEPS, JUDGEMENT_VERSION, Judgement, check_all, overall};
pub use list::CHECKERS;
pub use perf::Perf;
pub use progress::Progress;
pub use reentrancy::Reentrancy;
pub use release_errors::ReleaseErrors;
pub use shared_concurrency::SharedConcurrency;
pub use story::Story;
pub use vault::VaultChecker;

#[cfg(test)]
mod tests;
