//! Suites: TOML files that list runs with what is expected of each. `docs/ci.md` describes the
//! format.
//!
//! Both directions are held: a lock that must be caught and is not is as wrong as a good one that
//! breaks.

mod baseline;
mod entry;
mod expect;
mod field;
mod outcome;
mod read;
mod search;

pub use baseline::{Baseline, BaselineError, EntryFigures, Tolerances};
pub use entry::SuiteEntry;
pub use expect::{Expectation, Fit};
pub use outcome::{EntryOutcome, EntryStatus};
pub use read::{Suite, SuiteError};
pub use search::{EntryError, EntryFinding, search};
