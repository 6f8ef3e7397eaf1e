//! The scenarios that measure the simulator: whole runs of a lock without faults, recorded, with
//! mutual exclusion checked at the end of each.

use base::{RunSpec, Spread, nanos};
use histories::holds::Claims;
use histories::line_sweep::{Rule, conflicts};
use sim::SimConfig;
use std::time::Duration;
use workloads::TestedLock;

use crate::setup::Setup;
use crate::worlds::sim::{config, world};
use drive::plan::Plan;
use drive::{Recorder, Unwatched, drive};

/// A scenario, as it stands in the list.
pub struct Scenario {
    /// The name that `--scenario` takes.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    algo: &'static str,
    clients: u32,
    /// The number of turns that each client takes; `None`: as many as fit into 30 seconds.
    turns: Option<u32>,
}

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "redis-set-nx-px",
        summary: "5 clients contend for one lock on one server for 30 s",
        algo: "redis-set-nx-px",
        clients: 5,
        turns: None,
    },
    Scenario {
        name: "redlock",
        summary: "3 clients take and free one lock on five servers once each",
        algo: "redlock",
        clients: 3,
        turns: Some(1),
    },
    Scenario {
        name: "zk-rw",
        summary: "5 readers and writers on three servers for 30 s",
        algo: "zk-rw",
        clients: 5,
        turns: None,
    },
];

const SIMULATED: Duration = Duration::from_secs(30);

const fn millis(least: u64, most: u64) -> Spread {
    Spread::Uniform { least: Duration::from_millis(least), most: Duration::from_millis(most) }
}

/// The scenario of this name.
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

/// The counts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// The number of events in the simulated world: see [`sim::Simulated::happened`].
    pub events: u64,
    /// The number of lines in the history.
    pub recorded: u64,
    /// The number of times that the lock was acquired or released.
    pub operations: u64,
}

impl Scenario {
    /// Makes it ready to run, with another number of clients where one is given.
    ///
    /// # Panics
    /// Panics when a run cannot have that many clients.
    pub fn prepare(&self, clients: Option<u32>) -> Prepared {
        let lock = workloads::lock(self.algo).expect("a lock of the list");
        let run = RunSpec {
            clients: clients.unwrap_or(self.clients),
            time_limit_ns: nanos(SIMULATED),
            ..lock.info.run("none", 0)
        };
        let Setup { mut plan, world, .. } =
            Setup::new(&lock, run).unwrap_or_else(|error| panic!("{error}"));
        plan.quiet = Duration::ZERO;
        plan.load.think = millis(0, 60);
        plan.load.hold = millis(0, 20);
        plan.load.turns = self.turns;
        let mut config = config(&world);
        config.latency = millis(1, 20);
        Prepared { lock, plan, config }
    }
}

/// A scenario that is ready to run, again and again.
pub struct Prepared {
    lock: TestedLock,
    plan: Plan,
    config: SimConfig,
}

impl Prepared {
    /// Runs it once and checks mutual exclusion.
    ///
    /// # Panics
    /// Panics when the world breaks or the lock was held twice: without faults, neither can be.
    pub fn run(&mut self, seed: u64) -> RunCounts {
        self.plan.run.seed = seed;
        self.config.seed = seed;
        let mut world = world(&self.lock, self.config.clone(), None);
        let mut recorder = Recorder::in_memory();
        drive(world.as_mut(), &self.plan, Vec::new(), &mut recorder, &mut Unwatched)
            .expect("a world without faults stands");
        let history = recorder.into_history();
        let claims = Claims::of(&history);
        assert!(
            conflicts(&claims, Rule::Others).is_empty(),
            "seed {seed}: {} was held twice",
            self.lock.name()
        );
        let released = claims.claims.iter().filter(|claim| claim.freed.is_some()).count();
        RunCounts {
            events: world.happened(),
            recorded: history.events().len() as u64,
            operations: (claims.grants().count() + released) as u64,
        }
    }
}
