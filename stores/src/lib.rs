//! The stores that locks are built on. One folder per store: protocol, model (a pure state
//! machine), real adapter, and the conformance suite that both must pass.

pub mod model;
#[cfg(feature = "real")]
pub mod real;
pub mod redis;
pub mod vault;
mod world_spec;
pub mod zookeeper;

pub use world_spec::{Links, WorldSpec};

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A store that locks are built on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// One Redis server.
    Redis,
    /// A ZooKeeper ensemble.
    ZooKeeper,
}

impl Store {
    /// The number of servers that a lock on this store uses unless told otherwise.
    pub const fn servers(self) -> u32 {
        match self {
            Self::Redis => 1,
            Self::ZooKeeper => 3,
        }
    }

    /// The store's tick. What has run out may live on until the next one: a ZooKeeper ensemble ends
    /// sessions on a tick; Redis expires keys ten times a second.
    pub const fn tick(self, timing: &zookeeper::Timing) -> Duration {
        match self {
            Self::Redis => Duration::from_millis(100),
            Self::ZooKeeper => timing.tick,
        }
    }

    /// The time to live, or session time-out, of a lock on this store unless told otherwise: long
    /// enough that a real server restarts within a hold of 0.6 of it, or within a session.
    pub const fn ttl(self) -> Duration {
        match self {
            Self::Redis => Duration::from_secs(4),
            Self::ZooKeeper => Duration::from_secs(2),
        }
    }
}
