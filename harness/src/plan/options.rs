//! The options of a run: the leaf on which everything else stands.

use base::{Ensemble, ExtraPromise, Spread, Task};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use stores::zookeeper::Timing;
use stores::{LinkDelays, StoreId, Topology};

use super::{NamedServer, ScriptFile, ToxiproxyAt};

/// A time to live that never runs out, for a world without time.
pub const UNLIMITED: Duration = Duration::MAX;

/// The numbers and names that a user can set.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the lock.
    pub algo: String,
    /// The topology. `None`: the usual one of the lock.
    pub topology: Option<&'static Topology>,
    /// The servers that somebody else runs; none if they are to be started.
    pub given: Vec<NamedServer>,
    /// The Toxiproxy server that the links of clients lead through.
    pub toxiproxy: Option<ToxiproxyAt>,
    /// The nemeses, joined by commas.
    pub nemesis: String,
    /// The fault script, which takes the place of the nemeses.
    pub script: Option<Arc<ScriptFile>>,
    /// The task of the clients.
    pub task: &'static Task,
    /// The number of clients that contend.
    pub clients: u32,
    /// The time during which faults are injected.
    pub time_limit: Duration,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The time that nemeses take the lengths of their faults from. `None`: the ttl.
    pub fault_scale: Option<Duration>,
    /// The tick of a ZooKeeper ensemble. `None`: as is safe for such a session.
    pub tick: Option<Duration>,
    /// The ticks of silence that end a connection between its servers. `None`: as is safe.
    pub sync_limit: Option<u32>,
    /// The length of holds.
    pub hold: Length,
    /// The time between two turns of a worker. `None`: half of a hold.
    pub think: Option<Length>,
    /// The delay of each client-server link, each way.
    pub link_delay: Duration,
    /// The distribution of these delays, which only a swarm chooses.
    pub links: LinkDelays,
    /// The number of keys.
    pub keys: u32,
    /// The promises to which the run holds the lock, beside its own.
    pub extra_promises: Vec<ExtraPromise>,
    /// The seed of the run.
    pub seed: u64,
    /// The seed draws its own configuration within these options, see [`crate::swarm`].
    pub swarm: bool,
}

impl Options {
    /// The defaults, for a lock and its nemeses.
    pub fn new(algo: &str, nemesis: &str, seed: u64) -> Self {
        Self {
            algo: algo.into(),
            topology: None,
            given: Vec::new(),
            toxiproxy: None,
            nemesis: nemesis.into(),
            script: None,
            task: &Task::CONTEND,
            clients: 5,
            time_limit: Duration::from_secs(30),
            ttl: workloads::find(algo).map_or(Duration::from_secs(2), |lock| lock.store().ttl()),
            fault_scale: None,
            tick: None,
            sync_limit: None,
            hold: Length::about(Duration::from_millis(50)),
            think: None,
            link_delay: Duration::ZERO,
            links: LinkDelays::default(),
            keys: 1,
            extra_promises: Vec::new(),
            seed,
            swarm: false,
        }
    }

    /// The time between two turns of a worker.
    pub fn think(&self) -> Length {
        self.think.unwrap_or(Length { time: self.hold.time / 2, exact: false })
    }

    /// The time that nemeses take the lengths of their faults from.
    pub fn fault_scale(&self) -> Duration {
        self.fault_scale.unwrap_or(self.ttl)
    }

    /// The settings of a ZooKeeper ensemble.
    pub fn timing(&self) -> Timing {
        Timing::of(self.ttl).with(self.tick, self.sync_limit)
    }

    /// Returns the settings of such servers as the run's header stores them; `None` without
    /// ZooKeeper.
    pub fn ensemble(&self, store: StoreId) -> Option<Ensemble> {
        (store == StoreId::ZooKeeper).then(|| self.timing().ensemble())
    }
}

/// The length of holds or of pauses: a mean to draw around, or a time to keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The mean, or the exact time.
    pub time: Duration,
    /// True if every one takes exactly that time.
    pub exact: bool,
}

/// The word before a time that is to be kept.
const EXACT: &str = "exact:";

impl Length {
    /// Lengths around a mean.
    pub const fn about(mean: Duration) -> Self {
        Self { time: mean, exact: false }
    }

    /// Returns the distribution that is drawn from: `about` of the mean, if that is what it is.
    pub fn spread(self, about: impl FnOnce(Duration) -> Spread) -> Spread {
        if self.exact { Spread::Exactly(self.time) } else { about(self.time) }
    }

    /// Returns the same with another mean. An exact time stays.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Duration) -> Duration) -> Self {
        if self.exact { self } else { Self { time: change(self.time), ..self } }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = humantime::format_duration(self.time).to_string().replace(' ', "");
        write!(f, "{}{time}", if self.exact { EXACT } else { "" })
    }
}

/// A text that is no length.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}; write it as 500ms, 2s or exact:50ms")]
pub struct NoLength(humantime::DurationError);

impl FromStr for Length {
    type Err = NoLength;

    fn from_str(text: &str) -> Result<Self, NoLength> {
        let (time, exact) = match text.strip_prefix(EXACT) {
            Some(time) => (time, true),
            None => (text, false),
        };
        let time = humantime::parse_duration(time).map_err(NoLength)?;
        Ok(Self { time, exact })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_read_as_it_is_written() {
        for text in ["50ms", "exact:6s", "exact:0s"] {
            assert_eq!(text.parse::<Length>().map(|it| it.to_string()), Ok(text.into()));
        }
        assert!(
            "exactly:5s".parse::<Length>().is_err_and(|why| why.to_string().contains("exact:50ms"))
        );
    }
}
