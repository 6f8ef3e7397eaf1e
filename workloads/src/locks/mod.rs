//! The catalogue of locks: one file per lock, one line each in [`LOCKS`].

mod etcd_lease;
mod known;
mod memcached_add;
mod memcached_add_as_printed;
mod postgres;
mod postgres_advisory;
mod postgres_row;
mod process_fields;
mod redis_getset;
mod redis_getset_php;
mod redis_lock_class_as_printed;
mod redis_node;
mod redis_set_nx_px;
mod redis_set_nx_px_del;
mod redis_set_nx_px_fenced;
mod redis_set_nx_px_fixed;
mod redis_set_nx_px_getdel;
mod redis_set_nx_px_lua_as_printed;
mod redis_set_nx_px_renew;
mod redis_set_nx_px_threadid_as_printed;
mod redis_setnx;
mod redis_setnx_expire;
mod redis_timestamp_del;
mod redlock;
mod zk_exclusive;
mod zk_exclusive_as_printed;
mod zk_exclusive_naive;
mod zk_queue;
mod zk_reentrant;
mod zk_reentrant_naive;
mod zk_rw;
mod zk_rw_as_printed;
mod zk_rw_neighbour;
mod zk_rw_requeued;
mod zk_sequential;
mod zk_sequential_fenced;
mod zk_sequential_herd;
mod zk_sequential_naive;
mod zookeeper;

use base::{Key, Known, Lock, Promises};
pub use known::Breaks;
use known::unpromised;
pub use process_fields::ProcessFields;
use std::any::Any;
use std::time::Duration;
use stores::{Shape, Store, StoreId, Topology};

/// All locks, in the order in which `picklock list` shows them.
pub const LOCKS: &[&LockSpec] = &[
    &redis_setnx::SPEC,
    &redis_setnx_expire::SPEC,
    &redis_set_nx_px::SPEC,
    &redis_set_nx_px_fenced::SPEC,
    &redis_set_nx_px_renew::SPEC,
    &redis_set_nx_px_del::SPEC,
    &redis_set_nx_px_fixed::SPEC,
    &redis_set_nx_px_getdel::SPEC,
    &redis_set_nx_px_threadid_as_printed::SPEC,
    &redis_set_nx_px_lua_as_printed::SPEC,
    &redis_lock_class_as_printed::SPEC,
    &redis_timestamp_del::SPEC,
    &redis_getset::SPEC,
    &redis_getset_php::SPEC,
    &redlock::SPEC,
    &memcached_add::SPEC,
    &memcached_add_as_printed::SPEC,
    &postgres_advisory::SPEC,
    &postgres_row::SPEC,
    &etcd_lease::SPEC,
    &zk_exclusive::SPEC,
    &zk_exclusive_naive::SPEC,
    &zk_exclusive_as_printed::SPEC,
    &zk_sequential::SPEC,
    &zk_sequential_fenced::SPEC,
    &zk_sequential_naive::SPEC,
    &zk_sequential_herd::SPEC,
    &zk_reentrant::SPEC,
    &zk_reentrant_naive::SPEC,
    &zk_rw::SPEC,
    &zk_rw_requeued::SPEC,
    &zk_rw_neighbour::SPEC,
    &zk_rw_as_printed::SPEC,
];

/// The lock with this name.
pub fn find(name: &str) -> Option<&'static LockSpec> {
    LOCKS.iter().copied().find(|spec| spec.name == name)
}

/// A lock in the catalogue.
pub struct LockSpec {
    /// The name, as `--algo` takes it.
    pub name: &'static str,
    /// One line for `picklock list`.
    pub summary: &'static str,
    /// The properties that it promises.
    pub promises: Promises,
    /// The causes that are known to break it.
    pub breaks: &'static [&'static [Breaks]],
    /// The longest hold that its clients draw, in ttls: see [`BELOW_TTL`] and [`BEYOND_SESSION`].
    pub longest_hold: f64,
    /// The function with which a client opens it.
    pub open: &'static dyn Opens,
}

/// The longest hold for a lock that runs out by time: with a hold beyond the ttl it would break
/// without any fault (H8), and with this one there is time left for a slow machine.
pub const BELOW_TTL: f64 = 0.6;

/// The longest hold for a lock that lives as long as its client's session: only a hold that
/// outlasts the session of a client that is cut off can show whether the client stops in time
/// (H24).
pub const BEYOND_SESSION: f64 = 1.75;

impl LockSpec {
    /// The store that it is built on.
    pub fn store(&self) -> StoreId {
        self.open.store()
    }

    /// The topologies on which it runs, the usual one first.
    pub fn topologies(&self) -> impl Iterator<Item = &'static Topology> {
        let shape = self.open.shape();
        self.store().topologies().iter().filter(move |topology| topology.shape == shape)
    }

    /// The topology on which it runs unless told otherwise.
    ///
    /// # Panics
    /// Panics when its store has none that fits, which no lock of the list has.
    pub fn topology(&self) -> &'static Topology {
        self.topologies().next().expect("a store has a topology for each of its locks")
    }

    /// The topology with this name, if it runs on that; else the usual one.
    pub fn topology_named(&self, name: &str) -> &'static Topology {
        self.topologies().find(|topology| topology.name == name).unwrap_or_else(|| self.topology())
    }

    /// The time for which its grants live, whatever ttl the run has; `None` if they live for that
    /// ttl.
    pub fn own_ttl(&self) -> Option<Duration> {
        self.open.own_ttl()
    }

    /// The slowest message that its acquire can bear, with this ttl: a server must answer in time,
    /// and the round trips of one try must leave enough of a lock that runs out for its longest
    /// hold.
    pub fn slowest_message(&self, ttl: Duration) -> Duration {
        let pace = &self.promises.pace;
        let answered = ttl * pace.answer_permille / 1_000 / 2;
        if self.longest_hold >= 1.0 {
            return answered;
        }
        let rounded = Duration::from_nanos(pace.rounded_ns(ttl.as_nanos() as u64));
        let left = rounded.saturating_sub(ttl.mul_f64(self.longest_hold));
        answered.min(left / pace.round_trips.max(1) / 2)
    }

    /// The causes that are known to break it, in the form in which they are stored with a run.
    pub fn known(&self) -> Vec<Known> {
        let rows = |breaks: &'static Breaks| {
            let pairs = breaks.by.iter().flat_map(|by| breaks.shows.iter().map(move |it| (by, it)));
            pairs.map(|(cause, anomaly)| Known {
                cause: *cause,
                anomaly: (*anomaly).into(),
                why: breaks.why.into(),
            })
        };
        let breaks = self.breaks.iter().copied().flatten();
        breaks.chain(unpromised(&self.promises)).flat_map(rows).collect()
    }
}

/// The way in which a client opens a lock on a store.
pub struct On<S: Store> {
    /// The function that opens it.
    pub open: fn(S::Client, LockSettings) -> Box<dyn Lock>,
    shape: Shape,
    own_ttl: Option<Duration>,
}

impl<S: Store> On<S> {
    /// Opens a lock on one store, whichever server answers for it.
    pub const fn one(open: fn(S::Client, LockSettings) -> Box<dyn Lock>) -> Self {
        Self { open, shape: Shape::One, own_ttl: None }
    }

    /// Opens a lock on several servers that know nothing of each other.
    pub const fn several(open: fn(S::Client, LockSettings) -> Box<dyn Lock>) -> Self {
        Self { open, shape: Shape::Several, own_ttl: None }
    }

    /// Opens the same lock with grants that live for a time of their own.
    #[must_use]
    pub const fn living(self, ttl: Duration) -> Self {
        Self { own_ttl: Some(ttl), ..self }
    }
}

/// The way in which a client opens a lock, on whichever store: an [`On`].
pub trait Opens: Any + Sync {
    /// Returns the store on which the lock is built.
    fn store(&self) -> StoreId;

    /// The shape in which the lock sees the servers.
    fn shape(&self) -> Shape;

    /// The time for which its grants live, if that is not the run's ttl.
    fn own_ttl(&self) -> Option<Duration>;
}

impl<S: Store> Opens for On<S> {
    fn store(&self) -> StoreId {
        S::ID
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn own_ttl(&self) -> Option<Duration> {
        self.own_ttl
    }
}

impl dyn Opens {
    /// Returns it as it is on this store; `None` if it is on another.
    pub fn on<S: Store>(&self) -> Option<&On<S>> {
        (self as &dyn Any).downcast_ref()
    }
}

/// The settings with which a lock is opened.
#[derive(Clone, Debug)]
pub struct LockSettings {
    /// The key that it guards.
    pub key: Key,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The fields that all locks of the client's process share.
    pub process: ProcessFields,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_says_how_its_clients_notice_that_it_is_free() {
        for lock in LOCKS {
            let Promises { wakes, pace, .. } = lock.promises;
            assert_eq!(wakes.is_none(), pace.back_off_ns > 0, "{}", lock.name);
        }
    }

    #[test]
    fn a_lock_that_counts_seconds_lives_for_whole_ones() {
        let life = |name, ttl| {
            let lock = find(name).expect("a lock of the list");
            lock.promises.pace.life_ns(ttl) / 100_000_000
        };
        assert_eq!(life("redis-set-nx-px", 300_000_000), 3);
        assert_eq!(life("redis-setnx-expire", 300_000_000), 10);
        assert_eq!(life("redis-getset", 300_000_000), 30);
        assert_eq!(life("redis-timestamp-del", 1_100_000_000), 40);
    }
}
