//! What a backend is asked to set up.

use crate::Store;
use crate::zookeeper::Timing;
use std::path::PathBuf;
use std::time::Duration;

/// How the delays of the links between clients and servers are spread, in the simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Alike, and steady.
    #[default]
    Alike,
    /// Alike, and now and then a message takes long.
    HeavyTailed,
    /// Each link, each way, has manners of its own: steady, far away, or with a heavy tail.
    Uneven,
}

/// The world of one run.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// The store.
    pub store: Store,
    /// How many servers.
    pub servers: u32,
    /// How many clients, each in a seat of its own.
    pub clients: u32,
    /// The lock that the clients use.
    pub algo: String,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The settings of a ZooKeeper ensemble; other stores have no use for them.
    pub timing: Timing,
    /// How long a call to a server may take.
    pub call_timeout: Duration,
    /// How long each client-server link delays, each way.
    pub link_delay: Duration,
    /// How these delays are spread.
    pub links: Links,
    /// Seeds everything that is drawn.
    pub seed: u64,
    /// Where logs go (`log/` of the run folder). `None`: nowhere.
    pub logs: Option<PathBuf>,
}
