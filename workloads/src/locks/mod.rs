//! The catalogue of locks: a file a lock, a line in [`LOCKS`].

mod redis_getset;
mod redis_node;
mod redis_set_nx_px;
mod redis_set_nx_px_fenced;
mod redis_set_nx_px_getdel;
mod redis_setnx_expire;
mod redis_timestamp_del;
mod redlock;
mod zk_exclusive;
mod zk_exclusive_naive;
mod zk_rw;
mod zk_rw_as_printed;
mod zk_sequential;
mod zk_sequential_naive;
mod zookeeper;

use base::{Key, Known, Link, Lock, Promises};
use std::rc::Rc;
use std::time::Duration;
use stores::Store;
use stores::redis::Redis;
use stores::zookeeper::Client;

/// Every lock, in the order in which `picklock list` shows them.
pub const LOCKS: &[&LockSpec] = &[
    &redis_setnx_expire::SPEC,
    &redis_set_nx_px::SPEC,
    &redis_set_nx_px_fenced::SPEC,
    &redis_set_nx_px_getdel::SPEC,
    &redis_timestamp_del::SPEC,
    &redis_getset::SPEC,
    &redlock::SPEC,
    &zk_exclusive::SPEC,
    &zk_exclusive_naive::SPEC,
    &zk_sequential::SPEC,
    &zk_sequential_naive::SPEC,
    &zk_rw::SPEC,
    &zk_rw_as_printed::SPEC,
];

/// The lock of this name.
pub fn find(name: &str) -> Option<&'static LockSpec> {
    LOCKS.iter().copied().find(|spec| spec.name == name)
}

/// A lock in the catalogue.
pub struct LockSpec {
    /// What `--algo` takes.
    pub name: &'static str,
    /// One line for `picklock list`.
    pub summary: &'static str,
    /// What it promises.
    pub promises: Promises,
    /// What is known to break it: nemesis, anomaly, why.
    pub known: &'static [(&'static str, &'static str, &'static str)],
    /// The longest hold that its clients draw, in ttls: see [`BELOW_TTL`] and [`BEYOND_SESSION`].
    pub longest_hold: f64,
    /// How a client opens it.
    pub open: Open,
}

/// For a lock that runs out by time: with a hold beyond the ttl it would break without any fault
/// (H8), and with this one there is time left for a slow machine.
pub const BELOW_TTL: f64 = 0.6;

/// For a lock that lives as long as its client's session: only a hold that outlasts the session of
/// a client that is cut off can show whether the client stops in time (H24).
pub const BEYOND_SESSION: f64 = 1.75;

impl LockSpec {
    /// The store that it is built on.
    pub const fn store(&self) -> Store {
        match self.open {
            Open::Redis(_) | Open::RedisServers(..) => Store::Redis,
            Open::ZooKeeper(_) => Store::ZooKeeper,
        }
    }

    /// How many servers it wants.
    pub const fn servers(&self) -> u32 {
        match self.open {
            Open::RedisServers(servers, _) => servers,
            Open::Redis(_) | Open::ZooKeeper(_) => self.store().servers(),
        }
    }

    /// What is known to break it, as it is stored with a run.
    pub fn known(&self) -> Vec<Known> {
        let row = |&(nemesis, anomaly, why): &(&str, &str, &str)| Known {
            nemesis: nemesis.into(),
            anomaly: anomaly.into(),
            why: why.into(),
        };
        self.known.iter().map(row).collect()
    }
}

/// Opens a lock over a client's link.
pub type OpenOn<L> = fn(L, Settings) -> Box<dyn Lock>;

/// How a client opens a lock, by store.
#[derive(Clone, Copy)]
pub enum Open {
    /// On one Redis server.
    Redis(OpenOn<Rc<dyn Link<Redis>>>),
    /// On so many Redis servers that know nothing of each other.
    RedisServers(u32, OpenOn<Rc<dyn Link<Redis>>>),
    /// On ZooKeeper.
    ZooKeeper(OpenOn<Client>),
}

/// What a lock is told when it is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it guards.
    pub key: Key,
    /// Its time to live, or its session time-out.
    pub ttl: Duration,
}
