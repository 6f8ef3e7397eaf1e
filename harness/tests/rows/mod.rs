//! The table: which lock keeps its promise under which nemesis, and which must be caught.
//! Both worlds are held against the same rows.

#![allow(dead_code, reason = "each of the tests has a use for some of it")]

use base::{F, Kind, Outcome, Run};
use checkers::Judgement;
use picklock::plan::{Length, Options};
use picklock::setup::Setup;
use std::time::Duration;
use stores::StoreId;

/// A row of the table.
pub struct Row {
    pub algo: &'static str,
    pub nemesis: &'static str,
    /// The topology, where it is not the usual one.
    pub on: Option<&'static str>,
    pub task: &'static str,
    pub link_delay: Duration,
    /// The lock's time to live, where the default does not fit.
    pub ttl: Option<Duration>,
    /// The exact length of holds, where chance draws too few long ones.
    pub hold: Option<Duration>,
    /// Tick and sync limit, where the safe ones do not fit.
    pub ensemble: Option<(Duration, u32)>,
    /// The number of clients, where five are too many.
    pub clients: Option<u32>,
    pub must: Must,
}

/// The demand of a row.
pub enum Must {
    /// Every property holds.
    Hold,
    /// These anomalies are seen; properties that are not named may be violated with them.
    Show(&'static [&'static str]),
    /// This anomaly is seen, and the vault fences off what it leads to.
    Fence(&'static str),
}

const fn row(algo: &'static str, nemesis: &'static str, must: Must) -> Row {
    Row {
        algo,
        nemesis,
        on: None,
        task: "contend",
        link_delay: Duration::ZERO,
        ttl: None,
        hold: None,
        ensemble: None,
        clients: None,
        must,
    }
}

/// The same on another topology.
const fn on(topology: &'static str, row: Row) -> Row {
    Row { on: Some(topology), ..row }
}

/// The same with clients that do something else than contend.
const fn doing(task: &'static str, row: Row) -> Row {
    Row { task, ..row }
}

/// The same with so few clients that each of them has met the fault before the run is over.
const fn few(clients: u32, algo: &'static str, nemesis: &'static str, must: Must) -> Row {
    Row { clients: Some(clients), ..row(algo, nemesis, must) }
}

/// The same with sessions so short that one of its cuts most likely outlasts a session of a holder.
const fn short(algo: &'static str, nemesis: &'static str, must: Must) -> Row {
    Row { ttl: Some(Duration::from_millis(500)), ..few(3, algo, nemesis, must) }
}

/// The rows of the table, in order.
pub const TABLE: &[Row] = &[
    row("redis-setnx-expire", "none", Must::Hold),
    row("redis-set-nx-px", "none", Must::Hold),
    row("redis-set-nx-px-fenced", "none", Must::Hold),
    row("redis-getset", "none", Must::Hold),
    row("zk-exclusive", "none", Must::Hold),
    row("zk-sequential", "none", Must::Hold),
    row("zk-rw", "none", Must::Hold),
    row("zk-rw-as-printed", "none", Must::Show(&["reader-writer overlap"])),
    row("zk-rw", "partition", Must::Hold),
    row("zk-rw", "crash", Must::Hold),
    row("zk-sequential", "partition", Must::Hold),
    row("zk-sequential", "crash", Must::Hold),
    row("redis-set-nx-px", "pause", Must::Show(&["double hold", "stale write accepted"])),
    row("redis-set-nx-px-fenced", "pause", Must::Fence("double hold")),
    Row {
        link_delay: Duration::from_millis(100),
        ..row("redis-setnx-expire", "crash", Must::Show(&["deadlock"]))
    },
    row("redis-set-nx-px", "crash-client", Must::Hold),
    // A busy machine takes two seconds to kill a server and to start it again, and somebody is to
    // hold all the while.
    Row {
        ttl: Some(Duration::from_secs(8)),
        ..row("redis-set-nx-px", "crash-server-lose-data", Must::Show(&["double hold"]))
    },
    row("redlock", "none", Must::Hold),
    row("redlock", "pause", Must::Show(&["double hold"])),
    row("redis-set-nx-px-getdel", "none", Must::Hold),
    row("redis-timestamp-del", "none", Must::Hold),
    row("zk-exclusive-naive", "none", Must::Hold),
    row("zk-sequential-naive", "none", Must::Hold),
    row("zk-sequential", "partition-vault", Must::Show(&["stale write accepted"])),
    row("redis-set-nx-px-fenced", "partition-vault", Must::Hold),
    row("zk-sequential", "vanish-server", Must::Hold),
    row("zk-sequential", "link-throttle", Must::Hold),
    row("redis-setnx", "none", Must::Hold),
    row("redis-setnx", "crash-client", Must::Show(&["deadlock"])),
    row("redis-set-nx-px-del", "pause-client", Must::Show(&["foreign release"])),
    row("redis-set-nx-px-fixed", "pause-client", Must::Show(&["foreign release"])),
    row(
        "redis-set-nx-px-threadid-as-printed",
        "none",
        Must::Show(&["double hold", "foreign release"]),
    ),
    row("redis-set-nx-px-lua-as-printed", "none", Must::Show(&["failed release"])),
    row("redis-lock-class-as-printed", "none", Must::Show(&["phantom holder"])),
    row("zk-sequential-herd", "none", Must::Show(&["herd"])),
    row("zk-sequential-fenced", "none", Must::Hold),
    row("zk-sequential-fenced", "pause-client", Must::Fence("double hold")),
    row("memcached-add", "none", Must::Hold),
    row("memcached-add", "crash-server-lose-data", Must::Show(&["double hold"])),
    row("memcached-add", "evict", Must::Show(&["double hold"])),
    row("postgres-advisory", "none", Must::Hold),
    row("postgres-advisory", "pause-client", Must::Hold),
    row("postgres-row", "none", Must::Hold),
    row("postgres-row", "pause-client", Must::Show(&["double hold", "stale write accepted"])),
    // Many readers, and short holds: two of them are to wait for the same writer.
    Row {
        ttl: Some(Duration::from_secs(1)),
        clients: Some(12),
        ..row("zk-rw-neighbour", "none", Must::Show(&["readers one by one"]))
    },
    row("zk-exclusive-as-printed", "none", Must::Hold),
    // With a longer session the run is over before the harness has given the client up.
    Row {
        ttl: Some(Duration::from_secs(4)),
        ..few(1, "zk-exclusive-as-printed", "pause-client", Must::Show(&["deadlock"]))
    },
    row("redis-set-nx-px-getdel", "pause", Must::Show(&["double hold"])),
    row("zk-sequential", "link", Must::Hold),
    Row {
        link_delay: Duration::from_millis(100),
        ..row("zk-exclusive-as-printed", "link-lose-reply", Must::Show(&["deadlock"]))
    },
    short("zk-exclusive-as-printed", "partition-client", Must::Show(&["double hold"])),
    short("zk-exclusive-naive", "partition-client", Must::Show(&["double hold"])),
    short("zk-sequential-naive", "partition-client", Must::Show(&["double hold"])),
    on("redis-sentinel", row("redis-set-nx-px", "none", Must::Hold)),
    Row {
        ttl: Some(Duration::from_secs(8)),
        hold: Some(Duration::from_millis(4_500)),
        ..on("redis-sentinel", row("redis-set-nx-px", "failover", Must::Show(&["double hold"])))
    },
    doing("reenter", row("zk-reentrant", "none", Must::Hold)),
    doing("workers", row("zk-exclusive", "none", Must::Show(&["double hold"]))),
    doing("workers", row("zk-sequential", "none", Must::Hold)),
    doing("convert", row("zk-rw", "none", Must::Hold)),
    doing("convert", row("zk-rw-requeued", "none", Must::Show(&["reader-writer overlap"]))),
];

/// Rows for the simulator alone: what they show needs luck, and one real run may have none; the
/// fault is one that real servers cannot do; or nobody has shown yet that one run there always
/// tells.
pub const SIMULATED: &[Row] = &[
    row("memcached-add", "pause-client", Must::Show(&["foreign release"])),
    row("memcached-add-as-printed", "none", Must::Show(&["failed release"])),
    row("memcached-add-as-printed", "evict", Must::Show(&["double hold"])),
    row("zk-rw-as-printed", "partition-client", Must::Show(&["double hold"])),
    row("zk-exclusive-naive", "partition", Must::Show(&["double hold"])),
    row("zk-sequential-naive", "partition", Must::Show(&["double hold"])),
    row("postgres-advisory", "partition", Must::Hold),
    row("postgres-advisory", "link", Must::Hold),
    row("postgres-advisory", "pause-client,crash-server", Must::Show(&["double hold"])),
    row("postgres-row", "partition", Must::Hold),
    row("postgres-row", "crash", Must::Hold),
    row("redis-set-nx-px", "clock-jump", Must::Show(&["double hold"])),
    row("zk-rw", "clock", Must::Hold),
    row("redis-set-nx-px", "crash-server-lose-second", Must::Show(&["double hold"])),
    on("redis-sentinel", row("redis-set-nx-px", "crash-client", Must::Hold)),
    on("redis-sentinel", row("redis-set-nx-px", "partition-server", Must::Show(&["double hold"]))),
    row("redis-set-nx-px", "clock-drift", Must::Hold),
    // The settings of life, in short: two ticks are a session, and five of silence end a connection.
    with_ensemble(1, Must::Show(&["double hold"])),
    with_ensemble(5, Must::Hold),
    few(2, "zk-exclusive", "partition-client", Must::Hold),
    doing("reenter", row("zk-reentrant", "partition,crash", Must::Hold)),
    doing("reenter", row("zk-reentrant-naive", "partition-client", Must::Show(&["double hold"]))),
    doing("reenter", row("zk-exclusive", "none", Must::Show(&["double hold"]))),
    doing("reenter", row("redis-set-nx-px", "none", Must::Hold)),
    doing("try", row("redis-set-nx-px", "crash-client", Must::Hold)),
    doing("try", row("zk-rw", "partition", Must::Hold)),
    doing("two-keys", row("redis-set-nx-px", "crash-client", Must::Hold)),
    doing("two-keys", row("zk-sequential", "partition,crash", Must::Hold)),
    doing("convert", row("zk-rw", "partition,crash", Must::Hold)),
    doing("readers", row("zk-rw", "crash", Must::Hold)),
    doing("workers", row("redis-set-nx-px", "crash-client", Must::Hold)),
    doing("workers", row("zk-sequential", "partition,crash", Must::Hold)),
];

/// A lock that obeys *Disconnected* on servers with a tick of half a second and a sync limit of 5.
const fn with_ensemble(session: u64, must: Must) -> Row {
    Row {
        ttl: Some(Duration::from_secs(session)),
        ensemble: Some((Duration::from_millis(500), 5)),
        ..row("zk-sequential", "partition-server", must)
    }
}

impl Row {
    /// Returns the setup of this row's run.
    pub fn setup(&self, seed: u64, time_limit: Duration) -> Setup {
        let mut options = Options::new(self.algo, self.nemesis, seed);
        options.topology = self.on.and_then(StoreId::topology);
        options.task = workloads::task(self.task).expect("a task of the list");
        options.link_delay = self.link_delay;
        options.time_limit = time_limit;
        options.ttl = self.ttl.unwrap_or(options.ttl);
        options.hold = self.hold.map_or(options.hold, |time| Length { time, exact: true });
        options.tick = self.ensemble.map(|(tick, _)| tick);
        options.sync_limit = self.ensemble.map(|(_, limit)| limit);
        options.clients = self.clients.unwrap_or(options.clients);
        Setup::new(options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The row's name, which no other row has.
    pub fn name(&self) -> String {
        let ttl = self.ttl.map(|ttl| format!(" with a ttl of {ttl:?}")).unwrap_or_default();
        let task = Some(self.task).filter(|task| *task != "contend");
        let task = task.map(|task| format!(" at {task}")).unwrap_or_default();
        let on = self.on.map(|on| format!(" on {on}")).unwrap_or_default();
        format!("{}{on} under {}{task}{ttl}", self.algo, self.nemesis)
    }

    /// Returns true if a run does what the row demands, and `None` when it cannot tell.
    pub fn judge(&self, run: &Run) -> (Option<bool>, Judgement) {
        let judgement = Judgement::of(run);
        let verdicts = &judgement.verdicts;
        let shows = |anomaly: &str| verdicts.iter().any(|verdict| verdict.shows(anomaly));
        let outcome = |property: &str| {
            verdicts.iter().find(|verdict| verdict.property == property).map(|v| v.outcome)
        };
        let fits = match self.must {
            Must::Hold => match judgement.outcome {
                Outcome::Held => Some(true),
                Outcome::Violated => Some(false),
                _ => None,
            },
            Must::Show(anomalies) => Some(anomalies.iter().all(|anomaly| shows(anomaly))),
            Must::Fence(anomaly) => {
                let vault_held = outcome("vault") == Some(Outcome::Held);
                Some(shows(anomaly) && vault_held && fenced(run) > 0)
            }
        };
        (fits, judgement)
    }
}

/// Counts the reads and writes that the vault fenced off.
fn fenced(run: &Run) -> usize {
    let events = run.history.events().iter();
    events.filter(|e| matches!(e.f, F::Read | F::Write) && e.kind == Kind::Fail).count()
}
