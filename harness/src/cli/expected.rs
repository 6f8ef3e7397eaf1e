//! `--expect`: an exit code that says whether the outcome came as expected.

use base::Outcome;
use clap::ValueEnum;

use crate::Exit;

/// The outcome that a single run is expected to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExpectedOutcome {
    /// The lock breaks a promise.
    Violated,
    /// The lock keeps its promises.
    Held,
}

impl ExpectedOutcome {
    /// Returns the exit code of a run that ended so: 0 as expected, 1 not as expected, 2
    /// inconclusive.
    pub fn exit(self, outcome: Outcome) -> Exit {
        match (self, Exit::from(outcome)) {
            (Self::Violated, Exit::Violated) | (Self::Held, Exit::Held) => Exit::Held,
            (Self::Violated, Exit::Held) | (Self::Held, Exit::Violated) => Exit::Violated,
            (_, exit) => exit,
        }
    }
}
