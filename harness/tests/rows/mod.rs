//! The table: which lock keeps its promise under which nemesis, and which must be caught.
//! Both worlds are held against the same rows.

#![allow(dead_code, reason = "each of the tests has a use for some of it")]

use base::{F, Kind, Outcome, Run};
use checkers::Judgement;
use picklock::setup::{Options, Setup};
use std::time::Duration;

/// A row of the table.
pub struct Row {
    pub algo: &'static str,
    pub nemesis: &'static str,
    pub link_delay: Duration,
    /// Where the lock's default does not fit.
    pub ttl: Option<Duration>,
    pub must: Must,
}

/// What a row demands.
pub enum Must {
    /// Every property holds.
    Hold,
    /// These anomalies are seen; properties that are not named may be violated with them.
    Show(&'static [&'static str]),
    /// This anomaly is seen, and the vault fences off what it leads to.
    Fence(&'static str),
}

const fn row(algo: &'static str, nemesis: &'static str, must: Must) -> Row {
    Row { algo, nemesis, link_delay: Duration::ZERO, ttl: None, must }
}

/// The rows.
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
        algo: "redis-setnx-expire",
        nemesis: "crash",
        link_delay: Duration::from_millis(100),
        ttl: None,
        must: Must::Show(&["deadlock"]),
    },
    row("redis-set-nx-px", "crash-client", Must::Hold),
    // A busy machine takes two seconds to kill a server and to start it again, and somebody is to
    // hold all the while.
    Row {
        algo: "redis-set-nx-px",
        nemesis: "crash-server-lose-data",
        link_delay: Duration::ZERO,
        ttl: Some(Duration::from_secs(8)),
        must: Must::Show(&["double hold"]),
    },
    row("redlock", "none", Must::Hold),
    row("redlock", "pause", Must::Show(&["double hold"])),
    row("redis-set-nx-px-getdel", "none", Must::Hold),
    row("redis-timestamp-del", "none", Must::Hold),
    row("zk-exclusive-naive", "none", Must::Hold),
    row("zk-sequential-naive", "none", Must::Hold),
];

/// Rows for the simulator alone: what they show needs luck, and one real run may have none; or the
/// fault is one that real servers cannot do.
pub const SIMULATED: &[Row] = &[
    row("redis-set-nx-px-getdel", "pause", Must::Show(&["double hold"])),
    row("zk-exclusive-naive", "partition", Must::Show(&["double hold"])),
    row("zk-sequential-naive", "partition", Must::Show(&["double hold"])),
    row("redis-set-nx-px", "clock-jump", Must::Show(&["double hold"])),
    row("zk-rw", "clock", Must::Hold),
    row("redis-set-nx-px", "crash-server-lose-second", Must::Show(&["double hold"])),
    row("zk-sequential", "link", Must::Hold),
    row("redis-set-nx-px", "clock-drift", Must::Hold),
];

impl Row {
    /// What is run for this row.
    pub fn setup(&self, seed: u64, time_limit: Duration) -> Setup {
        let mut options = Options::new(self.algo, self.nemesis, seed);
        options.link_delay = self.link_delay;
        options.time_limit = time_limit;
        options.ttl = self.ttl.unwrap_or(options.ttl);
        Setup::new(options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The row's name.
    pub fn name(&self) -> String {
        format!("{} under {}", self.algo, self.nemesis)
    }

    /// Whether a run is what the row demands: `None` when it cannot tell.
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

/// How many reads and writes the vault fenced off.
fn fenced(run: &Run) -> usize {
    let events = run.history.events().iter();
    events.filter(|e| matches!(e.f, F::Read | F::Write) && e.kind == Kind::Fail).count()
}
