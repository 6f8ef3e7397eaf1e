//! The options of a run: the leaf on which everything else stands.

use base::Ensemble;
use std::time::Duration;
use stores::zookeeper::Timing;
use stores::{Links, StoreId, Topology};

/// A time to live that never runs out, for a world without time.
pub const UNLIMITED: Duration = Duration::MAX;

/// The numbers and names that a user can set.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the lock.
    pub algo: String,
    /// The topology. `None`: the usual one of the lock.
    pub topology: Option<&'static Topology>,
    /// The nemeses, joined by commas.
    pub nemesis: String,
    /// The number of clients that contend.
    pub clients: u32,
    /// The time during which faults are injected.
    pub time_limit: Duration,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The tick of a ZooKeeper ensemble. `None`: as is safe for such a session.
    pub tick: Option<Duration>,
    /// The ticks of silence that end a connection between its servers. `None`: as is safe.
    pub sync_limit: Option<u32>,
    /// The mean of a short hold.
    pub hold: Duration,
    /// The mean time between two turns of a client.
    pub think: Duration,
    /// The delay of each client-server link, each way.
    pub link_delay: Duration,
    /// The distribution of these delays, which only a swarm chooses.
    pub links: Links,
    /// The number of keys.
    pub keys: u32,
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
            nemesis: nemesis.into(),
            clients: 5,
            time_limit: Duration::from_secs(30),
            ttl: workloads::find(algo).map_or(Duration::from_secs(2), |lock| lock.store().ttl()),
            tick: None,
            sync_limit: None,
            hold: Duration::from_millis(50),
            think: Duration::from_millis(25),
            link_delay: Duration::ZERO,
            links: Links::default(),
            keys: 1,
            seed,
            swarm: false,
        }
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
