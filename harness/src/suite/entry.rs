//! One entry of a suite: a run, and what is expected of it.

use base::{RunSpec, nanos};
use std::time::Duration;
use workloads::TestedLock;

use super::Expectation;
use crate::setup::{Setup, SetupError};

/// A run, and what is expected of it.
#[derive(Clone)]
pub struct SuiteEntry {
    /// The name, which no other entry of the suite has.
    pub name: String,
    /// The hazards of the catalogue that it shows, or is the clean sibling of.
    pub hazards: Vec<String>,
    /// The lock under test.
    pub lock: TestedLock,
    /// The run, as it is in the simulator.
    pub run: RunSpec,
    /// The number of schedules in the simulator.
    pub seeds: u64,
    /// True if fewer than one schedule in ten shows what is to be seen.
    pub rare: bool,
    /// The number of runs on real servers; 0: it stays in the simulator.
    pub real: u64,
    /// The length of a run on real servers.
    pub real_time_limit: Duration,
    /// The verdicts that are expected.
    pub expect: Expectation,
}

impl SuiteEntry {
    /// Returns the setup of a run of it in the simulator.
    ///
    /// # Errors
    /// Fails when the entry asks for something impossible.
    pub fn simulated(&self, seed: u64) -> Result<Setup, SetupError> {
        Setup::new(&self.lock, RunSpec { seed, ..self.run.clone() })
    }

    /// Returns the setup of a run of it on real servers.
    ///
    /// # Errors
    /// Fails when the entry asks for something impossible.
    pub fn on_servers(&self, seed: u64) -> Result<Setup, SetupError> {
        let time_limit_ns = nanos(self.real_time_limit);
        Setup::new(&self.lock, RunSpec { seed, time_limit_ns, ..self.run.clone() })
    }

    /// Returns true if a filter of the command line asks for it: by a part of its name, or by a
    /// hazard.
    pub fn is_asked_for(&self, filter: &str) -> bool {
        self.name.contains(filter) || self.hazards.iter().any(|hazard| hazard == filter)
    }
}
