//! Histories as texts, and their check against a model: no files, no clock, no drawing.
//!
//! [`read`] reads a run of ours; [`reading`] reads histories from anywhere as entries, which
//! [`Pairing`] makes into operations. [`decide`] holds operations against a model of [`MODELS`]: a
//! model is one file and one line there. [`holds`] reads the claims of clients to each lock and
//! their holds from a run of ours, and [`line_sweep`] finds holds that overlap against the rules.

#![warn(missing_docs)]

mod decide;
mod error;
mod export;
mod extract;
pub mod holds;
pub mod line_sweep;
mod models;
pub mod operation;
mod pairing;
mod places;
mod processes;
pub mod reading;
mod search;
mod state;
mod stored;

pub use decide::{Decision, Illegal, Misfit, decide, decide_by_search};
pub use error::HistoryError;
pub use export::edn;
pub use extract::{Extract, KeyExtract, Room, ShownOperations, extract};
pub use models::{MODELS, ModelSpec, NamedModel, NoModel};
pub use pairing::{Paired, Pairing, Reading, Unserved};
pub use processes::Processes;
pub use search::{Budget, Line, LinePoint};
pub use state::{ModelState, Names};
pub use stored::{StoredHistory, read, read_within};
