//! The mistakes in a schedule, and in the file that should be one.

use base::{Node, WrongVersion};
use std::path::PathBuf;

use super::KEYS;
use crate::setup::SetupError;

/// The reason why a schedule cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// No run has as few or as many clients.
    #[error("it has {0} clients; give 1 to 200")]
    Clients(u32),
    /// Its workers are not those of whole clients.
    #[error("its clients have not {0} workers each")]
    Workers(u32),
    /// Its task has no such script.
    #[error("it has a turn by script {0}, which is not there")]
    Script(u32),
    /// No run has such a key.
    #[error("it has a turn on key {0}; there are {KEYS} at most")]
    Key(u32),
    /// It names a lock that does not exist.
    #[error("there is no lock `{0}` in this picklock; one of your own is named by --lock FILE")]
    Lock(String),
    /// It names a topology that does not exist.
    #[error("there is no topology `{0}`")]
    Topology(String),
    /// It names a task that does not exist.
    #[error("there is no task `{0}`")]
    Task(String),
    /// It asks for what cannot be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A fault hits what is not part of the run.
    #[error("it has a fault at {0}, which is not there")]
    Fault(Node),
    /// It fills servers that never evict.
    #[error("it has a fault \"{fault}\", and {why}")]
    Eviction {
        /// The fault in words.
        fault: String,
        /// The reason why the servers never evict.
        why: &'static str,
    },
    /// A time is longer than any run.
    #[error("it has a time beyond 24 h, or no ttl")]
    Time,
}

/// A text that is no schedule, as a verb phrase to stand after the name of its file.
#[derive(Debug, thiserror::Error)]
pub enum NoSchedule {
    /// The text is not JSON.
    #[error("is not valid JSON: {0}")]
    Json(serde_json::Error),
    /// The text is something else.
    #[error("is not a schedule of picklock")]
    Other,
    /// The text is of another version.
    #[error(transparent)]
    Version(#[from] WrongVersion),
    /// A part of the schedule is missing, or is not what it should be.
    #[error("is not a schedule: {0}")]
    Data(serde_json::Error),
    /// The schedule cannot be run.
    #[error("cannot be run: {0}")]
    Unsound(#[from] ScheduleError),
}

/// A file from which no schedule can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{0:#}")]
    File(anyhow::Error),
    /// The file is no schedule.
    #[error("`{}` {why}", .file.display())]
    Text {
        /// The path of the file.
        file: PathBuf,
        /// The reason why it is none.
        why: NoSchedule,
    },
}
