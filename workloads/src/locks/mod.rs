//! The catalogue of locks: one file per lock, one line each in [`LOCKS`].

mod etcd;
mod etcd_lease;
mod etcd_mutex;
mod known;
mod memcached_add;
mod memcached_add_as_printed;
mod postgres;
mod postgres_advisory;
mod postgres_advisory_xact;
mod postgres_row;
mod postgres_transaction;
mod process_fields;
mod program;
mod redis_blpop;
mod redis_getset;
mod redis_getset_php;
mod redis_lock_class_as_printed;
mod redis_node;
mod redis_redisson;
mod redis_semaphore;
mod redis_semaphore_as_printed;
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

use base::{Key, Known, Lock, LockInfo, ProgramCommand, Promises, nanos};
pub use known::{Breaks, on_servers, unpromised};
pub use process_fields::ProcessFields;
pub use program::ProgramLock;
use std::any::Any;
use std::sync::Arc;
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
    &redis_blpop::SPEC,
    &redis_redisson::SPEC,
    &redis_semaphore::SPEC,
    &redis_semaphore_as_printed::SPEC,
    &redlock::SPEC,
    &memcached_add::SPEC,
    &memcached_add_as_printed::SPEC,
    &postgres_advisory::SPEC,
    &postgres_advisory_xact::SPEC,
    &postgres_row::SPEC,
    &etcd_lease::SPEC,
    &etcd_mutex::SPEC,
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

/// Returns the lock with this name.
pub fn find(name: &str) -> Option<&'static LockSpec> {
    LOCKS.iter().copied().find(|spec| spec.name == name)
}

/// Returns the lock with this name as owned data, with the way to open it.
pub fn lock(name: &str) -> Option<TestedLock> {
    find(name).map(LockSpec::lock)
}

/// A lock in the catalogue, as its file describes it.
pub struct LockSpec {
    /// The name, as `--algo` takes it.
    pub name: &'static str,
    /// One line for `picklock list`.
    pub summary: &'static str,
    /// The properties that it promises.
    pub promises: Promises,
    /// The causes that are known to break it.
    pub breaks: &'static [&'static [Breaks]],
    /// The longest hold that its clients draw, in thousandths of a ttl: see [`BELOW_TTL`] and
    /// [`BEYOND_SESSION`].
    pub longest_hold: u32,
    /// The function with which a client opens it.
    pub open: &'static dyn Opens,
}

/// The longest hold for a lock that runs out by time: with a hold beyond the ttl it would break
/// without any fault (H8), and with this one there is time left for a slow machine.
pub const BELOW_TTL: u32 = 600;

/// The longest hold for a lock that lives as long as its client's session: only a hold that
/// outlasts the session of a client that is cut off can show whether the client stops in time
/// (H24).
pub const BEYOND_SESSION: u32 = 1_750;

impl LockSpec {
    /// Returns the lock as owned data, with the way to open it.
    ///
    /// # Panics
    /// Panics when its name is none, or its store has no topology for it; no lock of the list is
    /// such.
    pub fn lock(&self) -> TestedLock {
        let store = self.open.store();
        let topology = store.topologies().iter().find(|it| it.shape == self.open.shape());
        let info = LockInfo {
            name: self.name.try_into().unwrap_or_else(|error| panic!("{error}")),
            summary: self.summary.into(),
            promises: self.promises,
            known: self.known(),
            longest_hold_permille: self.longest_hold,
            store: store.name().into(),
            shape: self.open.shape(),
            topology: topology.expect("a store has a topology for each of its locks").name.into(),
            usual_ttl_ns: nanos(store.ttl()),
            own_ttl_ns: self.open.own_ttl().map(nanos),
            arguments: String::new(),
        };
        TestedLock { info: Arc::new(info), opener: self.open.shared() }
    }

    /// Returns the causes that are known to break it, in the form in which they are stored with a
    /// run.
    pub fn known(&self) -> Vec<Known> {
        let breaks = self.breaks.iter().copied().flatten();
        breaks.flat_map(Breaks::rows).chain(unpromised(&self.promises)).collect()
    }
}

/// A lock under test: its description, and the way in which a client opens it. Clones are the same.
#[derive(Clone)]
pub struct TestedLock {
    /// The description.
    pub info: Arc<LockInfo>,
    /// The way in which a client opens it.
    pub opener: Arc<dyn Opens>,
}

impl TestedLock {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns the store that it is built on.
    pub fn store(&self) -> StoreId {
        self.opener.store()
    }

    /// Returns the topologies on which it runs, the usual one first.
    pub fn topologies(&self) -> impl Iterator<Item = &'static Topology> {
        let shape = self.info.shape;
        self.store().topologies().iter().filter(move |topology| topology.shape == shape)
    }

    /// Returns the topology on which it usually runs.
    pub fn topology(&self) -> &'static Topology {
        self.topology_named(&self.info.topology)
    }

    /// Returns the topology with this name, if it runs on that; else the first on which it runs.
    ///
    /// # Panics
    /// Panics when its store has no topology of its shape.
    pub fn topology_named(&self, name: &str) -> &'static Topology {
        let named = self.topologies().find(|topology| topology.name == name);
        named.or_else(|| self.topologies().next()).expect("a store has topologies of each shape")
    }
}

/// The way in which a client opens a lock on a store.
pub struct On<S: Store> {
    opening: Opening<S>,
    shape: Shape,
    own_ttl: Option<Duration>,
}

/// The code that opens a lock: a function of the catalogue, or a closure of somebody else.
enum Opening<S: Store> {
    Function(fn(S::Client, LockSettings) -> Box<dyn Lock>),
    Closure(Arc<OpeningClosure<S>>),
}

type OpeningClosure<S> = dyn Fn(<S as Store>::Client, LockSettings) -> Box<dyn Lock> + Send + Sync;

impl<S: Store> Clone for Opening<S> {
    fn clone(&self) -> Self {
        match self {
            Self::Function(open) => Self::Function(*open),
            Self::Closure(open) => Self::Closure(open.clone()),
        }
    }
}

impl<S: Store> Clone for On<S> {
    fn clone(&self) -> Self {
        Self { opening: self.opening.clone(), ..*self }
    }
}

impl<S: Store> On<S> {
    /// Opens a lock on one store, whichever server answers for it.
    pub const fn one(open: fn(S::Client, LockSettings) -> Box<dyn Lock>) -> Self {
        Self { opening: Opening::Function(open), shape: Shape::One, own_ttl: None }
    }

    /// Opens a lock on several servers that know nothing of each other.
    pub const fn several(open: fn(S::Client, LockSettings) -> Box<dyn Lock>) -> Self {
        Self { opening: Opening::Function(open), shape: Shape::Several, own_ttl: None }
    }

    /// Opens a lock that sees the servers in this shape by a closure.
    pub fn by(
        shape: Shape,
        open: impl Fn(S::Client, LockSettings) -> Box<dyn Lock> + Send + Sync + 'static,
    ) -> Self {
        Self { opening: Opening::Closure(Arc::new(open)), shape, own_ttl: None }
    }

    /// Opens the same lock with grants that live for a time of their own.
    #[must_use]
    pub const fn living(mut self, ttl: Duration) -> Self {
        self.own_ttl = Some(ttl);
        self
    }

    /// Opens the lock.
    pub fn open(&self, client: S::Client, settings: LockSettings) -> Box<dyn Lock> {
        match &self.opening {
            Opening::Function(open) => open(client, settings),
            Opening::Closure(open) => open(client, settings),
        }
    }
}

/// The way in which a client opens a lock, on whichever store: an [`On`].
pub trait Opens: Any + Send + Sync {
    /// Returns the store on which the lock is built.
    fn store(&self) -> StoreId;

    /// Returns the shape in which the lock sees the servers.
    fn shape(&self) -> Shape;

    /// Returns the time for which its grants live, if that is not the run's ttl.
    fn own_ttl(&self) -> Option<Duration>;

    /// Returns it as an owned value.
    fn shared(&self) -> Arc<dyn Opens>;

    /// Returns the command of the program that takes the lock; `None` where picklock's own client
    /// does.
    fn program(&self) -> Option<&ProgramCommand> {
        None
    }

    /// Returns the longest time that a client takes until it can be asked for the lock.
    fn start_up(&self) -> Duration {
        START_UP
    }

    /// Returns the command that starts its server; `None` where picklock knows how.
    fn server(&self) -> Option<&ProgramCommand> {
        None
    }
}

/// The longest time that a client takes by default until it can be asked for the lock: a virtual
/// machine takes seconds.
pub const START_UP: Duration = Duration::from_secs(60);

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

    fn shared(&self) -> Arc<dyn Opens> {
        Arc::new(self.clone())
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
