//! The result of an entry, as it is displayed and stored.

use base::Measure;
use serde::{Deserialize, Serialize};

/// The result of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryOutcome {
    /// The name of the entry.
    pub name: String,
    /// The hazards of the catalogue that it is about.
    pub hazards: Vec<String>,
    /// The lock under test.
    pub lock: String,
    /// The faults.
    pub nemesis: String,
    /// The verdicts that were expected, in words.
    pub expected: String,
    /// The relation of what was seen to what was expected.
    #[serde(flatten)]
    pub status: EntryStatus,
    /// The number of schedules that were run.
    pub schedules: u64,
    /// The seed of the run that shows it, if one does.
    pub seed: Option<u64>,
    /// The numbers that the checkers measured in that run.
    pub measures: Vec<Measure>,
    /// The world in which it was run.
    pub backend: String,
    /// The command that makes that run again.
    pub command: String,
    /// The folder of that run, if it is not as expected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folder: Option<String>,
    /// The time that the entry took, in nanoseconds.
    pub took_ns: u64,
}

/// The relation of what was seen to what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", content = "reason", rename_all = "kebab-case")]
pub enum EntryStatus {
    /// The expected verdicts were seen.
    AsExpected,
    /// It was not, with the reason.
    NotAsExpected(String),
    /// The runs cannot tell, with the reason.
    Inconclusive(String),
}
