//! The ends of leases and sessions: the times at which a store gave up what a grant rests on.
//!
//! A ledger of the store records them exactly. Without one they follow from what the client knows:
//! the time of its request and the duration that it asked for.

use crate::{Change, Event, Run};
use std::collections::BTreeMap;

/// The end of what a grant rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseEnd {
    /// The time of the end, since the run began.
    pub at_ns: u64,
    /// True for the end of a session, false for that of a lease.
    pub of_session: bool,
}

impl LeaseEnd {
    /// The event in words, as a clause.
    pub fn words(self) -> &'static str {
        if self.of_session { "its session ended" } else { "its lease expired" }
    }
}

/// The life of an entry that a process put into the store: its beginning, and its end if it ended
/// by itself.
#[derive(Debug)]
struct Life {
    since_ns: u64,
    end: Option<LeaseEnd>,
}

/// The ends of the leases and sessions of a run.
#[derive(Debug)]
pub struct Leases {
    /// The lives by process, in the order of time; `None` without a ledger that would record them.
    lives: Option<BTreeMap<u32, Vec<Life>>>,
}

impl Leases {
    /// Reads the ledger once.
    pub fn of(run: &Run) -> Self {
        Self { lives: lives(run) }
    }

    /// The end of what this grant rests on, if it is known.
    pub fn end(&self, grant: &Event) -> Option<LeaseEnd> {
        let facts = grant.facts.as_deref();
        let believed = || Some(LeaseEnd { at_ns: facts?.expires_ns?, of_session: false });
        let (Some(lives), Some(process)) = (&self.lives, grant.client()) else { return believed() };
        let asked = facts.and_then(|facts| facts.asked_ns).unwrap_or(0);
        let ours = |life: &&Life| (asked..=grant.time_ns).contains(&life.since_ns);
        match lives.get(&process).and_then(|lives| lives.iter().rev().find(ours)) {
            Some(life) => life.end,
            None => believed(),
        }
    }
}

/// The lives of the entries in the store, by process. `None` without a ledger, or where the lock is
/// a majority of servers: no single one of these decides when it ran out.
fn lives(run: &Run) -> Option<BTreeMap<u32, Vec<Life>>> {
    let ledger = run.ledger.as_ref()?;
    let ended = |change: Change| match change {
        Change::SessionEnded(_) => Some(true),
        Change::Expired | Change::Overdue(_) if run.info.servers == 1 => Some(false),
        _ => None,
    };
    let several = ledger.entries().iter().any(|entry| entry.server > 0);
    if several {
        return None;
    }
    let mut lives: BTreeMap<u32, Vec<Life>> = BTreeMap::new();
    let mut open: BTreeMap<u32, (u32, usize)> = BTreeMap::new();
    for entry in ledger.entries() {
        if let Some((process, place)) = open.remove(&entry.object) {
            let end =
                ended(entry.change).map(|of_session| LeaseEnd { at_ns: entry.time_ns, of_session });
            lives.entry(process).or_default()[place].end = end;
        }
        if let Change::Written(process) = entry.change {
            let ours = lives.entry(process).or_default();
            open.insert(entry.object, (process, ours.len()));
            ours.push(Life { since_ns: entry.time_ns, end: None });
        }
    }
    Some(lives)
}
