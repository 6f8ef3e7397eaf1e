//! The description of a run: everything that somebody can ask for, once. The command line, the
//! entries of suites, schedules, sweeps, searches and `run.json` all contain it.

use crate::{Ensemble, ExtraPromise, Length, NamedServer, ScriptFile, Task, ToxiproxyAt};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// A time to live that never runs out, for a world without time.
pub const UNLIMITED_NS: u64 = u64::MAX;

/// Everything that can be asked for of a run, beside its lock and its world. What is not stored has
/// its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// The nemeses, joined by commas; the name of the fault script where there is one.
    pub nemesis: String,
    /// The fault script, which takes the place of the nemeses.
    #[serde(rename = "script_file", skip_serializing_if = "Option::is_none", default)]
    pub script: Option<Arc<ScriptFile>>,
    /// Seeds everything that is drawn.
    #[serde(default)]
    pub seed: u64,
    /// True if the seed draws its own configuration within these numbers.
    #[serde(default)]
    pub swarm: bool,
    /// The name of the topology. `None`: the usual one of the lock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub topology: Option<String>,
    /// The name of the task of the clients.
    #[serde(default = "contend")]
    pub task: String,
    /// The number of clients that contend.
    #[serde(default = "five")]
    pub clients: u32,
    /// The time during which faults are injected.
    pub time_limit_ns: u64,
    /// The lock's time to live, or its session time-out.
    pub ttl_ns: u64,
    /// The time that nemeses take the lengths of their faults from. `None`: the ttl.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault_scale_ns: Option<u64>,
    /// The settings of the servers, where they have some that matter to sessions.
    #[serde(skip_serializing_if = "EnsembleSpec::is_empty", default)]
    pub ensemble: EnsembleSpec,
    /// The length of holds.
    #[serde(default = "short_hold")]
    pub hold: Length,
    /// The time between two turns of a worker. `None`: half of a hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub think: Option<Length>,
    /// The longest time that an acquire waits. `None`: long enough for every other worker to have a
    /// long hold before it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait_ns: Option<u64>,
    /// The delay of each client-server link, each way.
    #[serde(default)]
    pub link_delay_ns: u64,
    /// The number of keys.
    #[serde(default = "one")]
    pub keys: u32,
    /// The promises to which the run holds the lock, beside its own.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub demand: Vec<ExtraPromise>,
    /// The servers that somebody else runs; none if they are to be started.
    #[serde(skip)]
    pub servers: Vec<NamedServer>,
    /// True if those are observed, too, so that exact causes are found.
    #[serde(skip)]
    pub observe: bool,
    /// The Toxiproxy server that the links of clients lead through.
    #[serde(skip)]
    pub links: Option<ToxiproxyAt>,
}

/// The settings of a ZooKeeper ensemble that were asked for; the others are as is safe for a
/// session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnsembleSpec {
    /// `tickTime`: the unit of the others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tick_ns: Option<u64>,
    /// `syncLimit`: how many ticks of silence end a connection between servers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sync_limit: Option<u32>,
}

impl EnsembleSpec {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns these settings, with others where none were asked for.
    pub fn or(self, safe: Ensemble) -> Ensemble {
        Ensemble {
            tick_ns: self.tick_ns.unwrap_or(safe.tick_ns),
            sync_limit: self.sync_limit.unwrap_or(safe.sync_limit),
        }
    }
}

impl From<Ensemble> for EnsembleSpec {
    fn from(it: Ensemble) -> Self {
        Self { tick_ns: Some(it.tick_ns), sync_limit: Some(it.sync_limit) }
    }
}

impl RunSpec {
    /// Makes a run with the defaults, and this ttl.
    pub fn new(nemesis: &str, ttl: Duration, seed: u64) -> Self {
        Self {
            nemesis: nemesis.into(),
            script: None,
            seed,
            swarm: false,
            topology: None,
            task: contend(),
            clients: five(),
            time_limit_ns: 30_000_000_000,
            ttl_ns: nanos(ttl),
            fault_scale_ns: None,
            ensemble: EnsembleSpec::default(),
            hold: short_hold(),
            think: None,
            wait_ns: None,
            link_delay_ns: 0,
            keys: one(),
            demand: Vec::new(),
            servers: Vec::new(),
            observe: false,
            links: None,
        }
    }

    /// Returns the time between two turns of a worker.
    pub fn think(&self) -> Length {
        self.think.unwrap_or(Length { time: self.hold.time / 2, exact: false })
    }

    /// Returns the time during which faults are injected.
    pub const fn time_limit(&self) -> Duration {
        Duration::from_nanos(self.time_limit_ns)
    }

    /// Returns the lock's time to live, or its session time-out.
    pub const fn ttl(&self) -> Duration {
        Duration::from_nanos(self.ttl_ns)
    }

    /// Returns the time that nemeses take the lengths of their faults from.
    pub fn fault_scale(&self) -> Duration {
        self.fault_scale_ns.map_or(self.ttl(), Duration::from_nanos)
    }

    /// Returns the delay of each client-server link, each way.
    pub const fn link_delay(&self) -> Duration {
        Duration::from_nanos(self.link_delay_ns)
    }

    /// Returns the longest time that a call may take. A round trip over a slow link takes two
    /// delays, and a recipe must not time out on it. A grant that comes as late as that must leave
    /// time for the longest hold of a lock that runs out: with holds of 0.6 ttls, its reply may
    /// take 0.4 ttls from the server.
    pub fn call_timeout(&self) -> Duration {
        let usual = (self.ttl() / 8).min(Duration::from_millis(500)) + self.link_delay() * 4;
        usual.min(self.ttl() * 3 / 8 + self.link_delay())
    }
}

/// Returns a time in whole nanoseconds, as it is stored.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn contend() -> String {
    Task::CONTEND.name.into()
}

const fn five() -> u32 {
    5
}

const fn one() -> u32 {
    1
}

const fn short_hold() -> Length {
    Length::about(Duration::from_millis(50))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let mut spec = RunSpec::new("pause", Duration::from_secs(4), 7);
        let stored = serde_json::to_string(&spec).expect("JSON");
        assert!(stored.contains("\"ttl_ns\":4000000000"), "{stored}");
        assert_eq!(serde_json::from_str::<RunSpec>(&stored).expect("as written"), spec);
        spec.fault_scale_ns = Some(1_000_000_000);
        spec.ensemble.sync_limit = Some(5);
        spec.think = Some(Length { time: Duration::ZERO, exact: true });
        spec.demand = vec![ExtraPromise::Herd];
        let stored = serde_json::to_string(&spec).expect("JSON");
        assert_eq!(serde_json::from_str::<RunSpec>(&stored).expect("as written"), spec);
    }
}
