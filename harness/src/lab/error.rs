//! The mistakes of a lab.

use crate::explore::SearchError;
use crate::foreign::ForeignError;
use crate::setup::SetupError;
use base::BackendError;
use std::path::PathBuf;

/// A mistake in what a lab is asked for, or a world that broke. One line says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The description of the lock has a mistake.
    #[error(transparent)]
    Lock(#[from] ForeignError),
    /// A fault or a number makes no sense.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The search has failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// The simulated world broke.
    #[error(transparent)]
    World(#[from] BackendError),
    /// No faults are left.
    #[error("a lab needs a fault: give .under([\"none\"]) for a run without one")]
    NoNemesis,
    /// The variable for the number of schedules has none.
    #[error("PICKLOCK_SCHEDULES is `{0}`, which is no number of schedules")]
    Schedules(String),
    /// A kept schedule cannot be read.
    #[error("{0}; remove the file if this picklock cannot read it any more")]
    Kept(String),
    /// A file cannot be written.
    #[error("cannot write `{}`: {why}", .file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: std::io::Error,
    },
}
