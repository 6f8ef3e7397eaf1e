//! The description of a run: everything that a checker may know besides the history.

use crate::{Cause, EnsembleSpec, History, Ledger, LockInfo, RunSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The promises of a lock. A property that it does not promise is `not applicable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promises {
    /// True if it can be held by several readers at once.
    pub shared: bool,
    /// The number of its permits: so many may hold it at once, of a lock that is no semaphore one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub permits: u32,
    /// True if its grants carry fencing tokens, and the vault checks them.
    pub fenced: bool,
    /// The number of its lives (see [`Pace::life_ns`]) within which it is free again after a
    /// holder's death. `None`: never promised.
    pub recovers: Option<u32>,
    /// True if it is granted in the order in which clients joined its queue.
    #[serde(default)]
    pub fifo: bool,
    /// The waiters that the store wakes. `None`: clients ask again and again.
    #[serde(default)]
    pub wakes: Option<Wakes>,
    /// True if its holder may acquire it again.
    #[serde(default)]
    pub reentrant: bool,
    /// True if a writer may become a reader without letting go of it.
    #[serde(default)]
    pub downgrades: bool,
    /// True if its holder may ask for more time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extends: bool,
    /// True if it can say whether its holder still holds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells: bool,
    /// True if it goes on being granted while a minority of its servers is down.
    #[serde(default)]
    pub available: bool,
    /// The number of fair shares that an acquire waits at most: as many grants to those who ask
    /// later as there are workers make one. `None`: four in a queue; without a queue, an acquire
    /// starves only while the lock is never free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<u32>,
    /// The lock's own measure of time: what it adds to a ttl, and how fast its clients ask.
    #[serde(default)]
    pub pace: Pace,
}

/// A lock's own measure of time: how long it lives beyond its ttl, and how long its clients take to
/// notice that it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The unit in which the lock counts its ttl, which is rounded up to it. Zero: none.
    pub grain_ns: u64,
    /// The number of these units that it may live on after the rounded ttl.
    pub grains_more: u32,
    /// The longest time between two tries of an acquire. Zero: the store wakes the waiters.
    pub back_off_ns: u64,
    /// The greatest number of round trips in one try.
    pub round_trips: u32,
    /// The part of its ttl within which a server must have answered a call, in thousandths.
    pub answer_permille: u32,
    /// The tries that it may take to be granted a lock that is free: the one that was under way
    /// when it became free, and the next; more where clients can get in each other's way.
    pub tries: u32,
}

impl Pace {
    /// The pace of a lock that counts its ttl exactly and takes one round trip a try.
    pub const EXACT: Self = Self {
        grain_ns: 0,
        grains_more: 0,
        back_off_ns: 0,
        round_trips: 1,
        answer_permille: 400,
        tries: 2,
    };

    /// The ttl as the lock counts it: the shortest time for which it lives.
    pub fn rounded_ns(&self, ttl: u64) -> u64 {
        match self.grain_ns {
            0 => ttl,
            grain => ttl.div_ceil(grain).saturating_mul(grain),
        }
    }

    /// The longest time for which the lock lives, with this ttl.
    pub fn life_ns(&self, ttl: u64) -> u64 {
        let more = self.grain_ns.saturating_mul(u64::from(self.grains_more));
        self.rounded_ns(ttl).saturating_add(more)
    }

    /// The longest time from when the lock is free until a client that asks has it, over links on
    /// which a message takes so long at most.
    pub fn pick_up_ns(&self, slowest_message: u64) -> u64 {
        let trips = slowest_message.saturating_mul(2).saturating_mul(u64::from(self.round_trips));
        trips.saturating_add(self.back_off_ns).saturating_mul(u64::from(self.tries))
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::EXACT
    }
}

/// The waiters that a store wakes when a lock changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wakes {
    /// All waiters: a herd.
    All,
    /// The waiters whose turn it is, and at most one other.
    Next,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Promises {
    /// The promise of the simplest lock: one holder at a time.
    pub const MUTEX: Self = Self {
        shared: false,
        permits: 1,
        fenced: false,
        recovers: None,
        fifo: false,
        wakes: None,
        reentrant: false,
        downgrades: false,
        extends: false,
        tells: false,
        available: false,
        patience: None,
        pace: Pace::EXACT,
    };
}

/// A known weakness of a lock: the cause that breaks it, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The cause that breaks it.
    pub cause: Cause,
    /// The name of the anomaly that shows.
    pub anomaly: String,
    /// The reason, in a sentence, with the hazard's number in the catalogue.
    pub why: String,
}

/// The settings of a ZooKeeper ensemble, by the names that its configuration file uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ensemble {
    /// `tickTime`: the unit of the others.
    pub tick_ns: u64,
    /// `syncLimit`: how many ticks of silence end a connection between servers.
    pub sync_limit: u32,
}

impl Ensemble {
    /// The shortest time that members have to join a leader, in nanoseconds, as far as ticks
    /// of 0.5 s and less allow it: a loaded machine takes its time to start three of them.
    const LEAST_INIT_NS: u64 = 10_000_000_000;

    /// `initLimit`: how many ticks a leader waits for others to follow it. The 10 of the
    /// configuration file that ZooKeeper comes with; with short ticks up to 20.
    pub const fn init_limit(&self) -> u32 {
        match Self::LEAST_INIT_NS.div_ceil(if self.tick_ns == 0 { 1 } else { self.tick_ns }) {
            few @ 10..=20 => few as u32,
            0..10 => 10,
            _ => 20,
        }
    }

    /// The longest time for which a leader waits for others to follow it, in nanoseconds.
    pub const fn init_ns(&self) -> u64 {
        self.tick_ns.saturating_mul(self.init_limit() as u64)
    }

    /// Returns true if a member that is cut off may serve its clients for longer than such a
    /// session lives: for one sync limit until its leader hangs up, and for another if it cannot
    /// hear that.
    pub const fn outlasts(&self, session_ns: u64) -> bool {
        2 * self.sync_limit as u128 * self.tick_ns as u128 > session_ns as u128
    }
}

/// A server in its topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// The name, which is the same in both worlds: "server-0".
    pub name: String,
    /// The role: "server", "member", "sentinel".
    pub role: String,
    /// The group, from 0. A majority of each group has to be up.
    pub group: u32,
}

/// A fault that the fault script of a run asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptedFault {
    /// The line of the script in which it begins.
    pub line: u32,
    /// The fault in the words of the script: "pause holder when working".
    pub what: String,
}

/// The version of `run.json` that this build writes and reads.
pub const RUN_VERSION: u32 = 3;

/// The settings of a run, stored as `run.json` beside its history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of this format.
    pub version: u32,
    /// The lock under test, with the promises to which the run holds it.
    #[serde(flatten)]
    pub lock: LockInfo,
    /// The run that was made: nemeses, seed, clients, times and topology.
    #[serde(flatten)]
    pub run: RunSpec,
    /// The name of the backend.
    pub backend: String,
    /// The number of workers in each client, each with a process number of its own.
    #[serde(default = "one")]
    pub workers: u32,
    /// The number of servers.
    pub servers: u32,
    /// The servers, by number.
    #[serde(default)]
    pub nodes: Vec<ServerInfo>,
    /// The longest time until the servers have agreed on a new primary, where they have one.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub failover_ns: u64,
    /// Nothing that the servers store survives a crash.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub volatile: bool,
    /// The time for which the run went on after the last heal.
    pub quiet_ns: u64,
    /// The longest time that a message takes between a client and a server while no fault is in
    /// force.
    #[serde(default)]
    pub slowest_message_ns: u64,
    /// The store's own clock tick: what has run out may live on until the next one.
    #[serde(default)]
    pub tick_ns: u64,
    /// The longest time that an acquire may wait before it gives up.
    pub acquire_timeout_ns: u64,
    /// The faults that its fault script asks for, if it has one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub script: Vec<ScriptedFault>,
    /// The command that runs it again.
    pub command: String,
}

fn one() -> u32 {
    1
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RunInfo {
    /// Makes the header of a run on one server, by which nothing takes any time.
    pub fn new(lock: LockInfo, run: RunSpec, backend: &str) -> Self {
        Self {
            version: RUN_VERSION,
            lock,
            run,
            backend: backend.into(),
            workers: 1,
            servers: 1,
            nodes: Vec::new(),
            failover_ns: 0,
            volatile: false,
            quiet_ns: 0,
            slowest_message_ns: 0,
            tick_ns: 0,
            acquire_timeout_ns: 0,
            script: Vec::new(),
            command: String::new(),
        }
    }

    /// Returns the settings of the servers, where they have some that matter to sessions.
    pub fn ensemble(&self) -> Option<Ensemble> {
        let EnsembleSpec { tick_ns, sync_limit } = self.run.ensemble;
        Some(Ensemble { tick_ns: tick_ns?, sync_limit: sync_limit? })
    }

    /// Returns the name of the layout of the servers.
    pub fn topology(&self) -> &str {
        self.run.topology.as_deref().unwrap_or_default()
    }

    /// The number of workers of all clients.
    pub fn all_workers(&self) -> u32 {
        self.run.clients.saturating_mul(self.workers)
    }

    /// Returns the worker that had a process number: it is the same before and after its crashes,
    /// each of which adds the number of all workers to it.
    pub fn worker_of(&self, process: u32) -> u32 {
        process.checked_rem(self.all_workers()).unwrap_or(process)
    }

    /// Returns the client of a process number.
    pub fn client_of(&self, process: u32) -> u32 {
        self.worker_of(process) / self.workers.max(1)
    }

    /// Returns the groups of servers, each by number. A majority of each has to be up.
    pub fn groups(&self) -> Vec<Vec<u32>> {
        if self.nodes.is_empty() {
            return vec![(0..self.servers).collect()];
        }
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (number, node) in (0..).zip(&self.nodes) {
            groups.entry(node.group).or_default().push(number);
        }
        groups.into_values().collect()
    }

    /// The longest time for which the lock may stay taken by a holder that is gone: what it
    /// promises, in its own measure, and at least one life; and a tick of its store.
    pub fn recovery_ns(&self) -> u64 {
        let lives = u64::from(self.lock.promises.recovers.unwrap_or(1).max(1));
        self.lock
            .promises
            .pace
            .life_ns(self.run.ttl_ns)
            .saturating_mul(lives)
            .saturating_add(self.tick_ns)
    }

    /// The longest time from when the lock was left taken until a client that asks must have been
    /// granted it: its recovery, the time in which its servers may be without a primary, and the
    /// time that clients take to pick it up.
    pub fn due_ns(&self) -> u64 {
        let free_ns = self.recovery_ns().saturating_add(self.failover_ns);
        free_ns.saturating_add(self.pick_up_ns())
    }

    /// The longest time after the last fault until a client that asks must have been granted the
    /// lock. The members of an ensemble may have elected a leader that none of them follows; once
    /// it gives up, the next one gives each session its whole time anew.
    pub fn settled_ns(&self) -> u64 {
        let elects = |ensemble: Ensemble| {
            ensemble.init_ns().saturating_add(self.run.ttl_ns).saturating_add(self.pick_up_ns())
        };
        self.due_ns().max(self.ensemble().map_or(0, elects))
    }

    /// The longest time from when the lock is free until a client that asks has it.
    pub fn pick_up_ns(&self) -> u64 {
        self.lock.promises.pace.pick_up_ns(self.message_ns())
    }

    /// The longest time that a message takes one way.
    pub fn message_ns(&self) -> u64 {
        self.slowest_message_ns.max(self.run.link_delay_ns)
    }
}

/// A run as a checker sees it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The settings of the run.
    pub info: RunInfo,
    /// The events of the run.
    pub history: History,
    /// The changes of everything that was put into the store. `None`: the backend keeps no ledger.
    pub ledger: Option<Ledger>,
}
