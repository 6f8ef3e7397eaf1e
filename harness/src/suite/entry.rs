//! One entry of a suite: a run, and what is expected of it.

use base::{ExtraPromise, Task};
use std::sync::Arc;
use std::time::Duration;
use stores::Topology;
use workloads::LockSpec;

use super::Expectation;
use crate::plan::{Length, Options, ScriptFile};
use crate::setup::{Setup, SetupError};

/// A run, and what is expected of it.
#[derive(Clone)]
pub struct SuiteEntry {
    /// The name, which no other entry of the suite has.
    pub name: String,
    /// The hazards of the catalogue that it shows, or is the clean sibling of.
    pub hazards: Vec<String>,
    /// The lock under test.
    pub lock: &'static LockSpec,
    /// The faults, as nemeses joined by commas; the name of the script if there is one.
    pub nemesis: String,
    /// The fault script in the place of nemeses.
    pub script: Option<Arc<ScriptFile>>,
    /// The topology. `None`: the usual one.
    pub on: Option<&'static Topology>,
    /// The task of the clients.
    pub task: &'static Task,
    /// The promises to which it holds the lock, beside its own.
    pub extra_promises: Vec<ExtraPromise>,
    /// The numbers that differ from the defaults.
    pub numbers: EntryNumbers,
    /// The number of schedules in the simulator.
    pub seeds: u64,
    /// True if fewer than one schedule in ten shows what is to be seen.
    pub rare: bool,
    /// The number of runs on real servers; 0: it stays in the simulator.
    pub real: u64,
    /// The length of a run on real servers; and in the simulator, if its numbers say none.
    pub real_time_limit: Duration,
    /// The verdicts that are expected.
    pub expect: Expectation,
}

/// The numbers of a run that differ from the defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryNumbers {
    /// The number of clients.
    pub clients: Option<u32>,
    /// The number of keys.
    pub keys: Option<u32>,
    /// The lock's time to live, or its session time-out.
    pub ttl: Option<Duration>,
    /// The length of holds.
    pub hold: Option<Length>,
    /// The time between two turns of a worker.
    pub think: Option<Length>,
    /// The delay of each client-server link, each way.
    pub link_delay: Option<Duration>,
    /// The time that the lengths of faults count in.
    pub fault_scale: Option<Duration>,
    /// The tick of a ZooKeeper ensemble.
    pub tick: Option<Duration>,
    /// The ticks of silence that end a connection between its servers.
    pub sync_limit: Option<u32>,
    /// The length of a run in the simulator.
    pub time_limit: Option<Duration>,
}

impl SuiteEntry {
    /// The setup of a run of it in the simulator.
    ///
    /// # Errors
    /// Fails when the entry asks for something impossible.
    pub fn simulated(&self, seed: u64) -> Result<Setup, SetupError> {
        let time_limit = self.numbers.time_limit.unwrap_or(self.real_time_limit);
        Setup::new(Options { time_limit, ..self.options(seed) })
    }

    /// The setup of a run of it on real servers.
    ///
    /// # Errors
    /// Fails when the entry asks for something impossible.
    pub fn on_servers(&self, seed: u64) -> Result<Setup, SetupError> {
        Setup::new(Options { time_limit: self.real_time_limit, ..self.options(seed) })
    }

    /// The options of a run of it, but for its length, which each world has its own of.
    pub fn options(&self, seed: u64) -> Options {
        let defaults = Options::new(self.lock.name, &self.nemesis, seed);
        let numbers = &self.numbers;
        Options {
            topology: self.on,
            task: self.task,
            extra_promises: self.extra_promises.clone(),
            script: self.script.clone(),
            clients: numbers.clients.unwrap_or(defaults.clients),
            keys: numbers.keys.unwrap_or(defaults.keys),
            ttl: numbers.ttl.unwrap_or(defaults.ttl),
            hold: numbers.hold.unwrap_or(defaults.hold),
            think: numbers.think,
            link_delay: numbers.link_delay.unwrap_or(defaults.link_delay),
            fault_scale: numbers.fault_scale,
            tick: numbers.tick,
            sync_limit: numbers.sync_limit,
            ..defaults
        }
    }

    /// Returns true if a filter of the command line asks for it: by a part of its name, or by a hazard.
    pub fn is_asked_for(&self, filter: &str) -> bool {
        self.name.contains(filter) || self.hazards.iter().any(|hazard| hazard == filter)
    }
}
