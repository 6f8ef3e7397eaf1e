//! The mistakes of a lab.

use crate::explore::SearchError;
use crate::foreign::ForeignError;
use crate::setup::SetupError;
use base::BackendError;
use std::path::PathBuf;

/// A mistake in what a lab is asked for, or a world that broke. One line says what to do about it.
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::{Lab, Nemesis};
///
/// // One server has no peers from which it could be cut.
/// let error = Lab::redis().lock(MyLock::new).under([Nemesis::PartitionRing]).check().unwrap_err();
/// assert!(error.to_string().contains("needs 5 servers"));
/// ```
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
    #[error("a lab needs a fault: give .under([Nemesis::None]) for a run without one")]
    NoNemesis,
    /// The variable for the number of schedules has none.
    #[error("PICKLOCK_SCHEDULES is `{0}`, which is no number of schedules")]
    Schedules(String),
    /// Nobody knows which test a client is to begin.
    #[error(
        "a lab on real servers begins its test anew in each client, by the name of the test's \
         thread: call it on the thread of a #[test]"
    )]
    NoTest,
    /// A client has come to another lab than the one that started it.
    #[error("a test with a lab on real servers has to come to the same labs each time it is begun")]
    OtherLab,
    /// The servers cannot be started.
    #[error("there are no real servers: {reason}; {fix}")]
    NotReady {
        /// The reason.
        reason: String,
        /// The remedy.
        fix: String,
    },
    /// The faults are for the simulator.
    #[error("{0}: leave out on_real_servers() for these faults")]
    Simulated(String),
    /// A client cannot be started, or cannot serve.
    #[error("a client on real servers: {0}")]
    Client(String),
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
