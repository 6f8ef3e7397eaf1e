//! The workers behind a ledger. Workers of a client share its connection, so that the store knows
//! of each change whose client made it; the claims of its workers tell which of them did.
//!
//! A write is of the worker that asks. Of several, a queue tells whose node it is by its place, and
//! otherwise the next grant does: the store grants to one of them at a time. A removal is of the
//! worker that frees what it had written.

use super::ownership::ClaimStep;
use super::span::{Trouble, Troubles};
use crate::evidence::Evidence;
use base::{Change, Kind, Ledger, LedgerEntry, Removed, Shape};
use histories::holds::Claim;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the changes of a ledger, each with the worker that made it in place of its client, but
/// for those to things that lock nothing. `None`: of one of them nobody can tell.
pub(super) fn changes<'a>(
    evidence: &'a Evidence<'_>,
    ledger: &'a Ledger,
    is_lock: impl Fn(u32) -> bool,
) -> Option<Cow<'a, [LedgerEntry]>> {
    if evidence.run.info.workers <= 1 {
        return Some(ledger.entries().into());
    }
    // Where a majority decides, one grant has many writes, and some of each try are in vain. A
    // semaphore is granted to several of them at a time.
    let lock = &evidence.run.info.lock;
    if lock.shape != Shape::One || lock.promises.permits > 1 {
        return None;
    }
    let mut authors = Authors::of(evidence, ledger);
    let entries = ledger.entries().iter().enumerate();
    let mut changed = |(place, entry): (usize, &LedgerEntry)| match is_lock(entry.object) {
        true => authors.of_entry(place, *entry),
        false => Some(*entry),
    };
    entries.map(&mut changed).collect()
}

struct Authors<'a, 'run> {
    evidence: &'a Evidence<'run>,
    ledger: &'a Ledger,
    /// The claims of each worker, in order.
    claims: BTreeMap<u32, Vec<&'a Claim>>,
    /// The latest process of each client that the ledger has met.
    latest: BTreeMap<u32, u32>,
    /// The worker that last wrote each thing, by its server and name, and whether that stands.
    writers: BTreeMap<(u32, u32), (u32, bool)>,
    /// True if the names of nodes end in the places of grants.
    has_places: bool,
    /// The time of each worker's last write.
    written_ns: BTreeMap<u32, u64>,
}

impl<'a, 'run> Authors<'a, 'run> {
    fn of(evidence: &'a Evidence<'run>, ledger: &'a Ledger) -> Self {
        let mut claims: BTreeMap<u32, Vec<&Claim>> = BTreeMap::new();
        for claim in &evidence.claims.claims {
            let worker = evidence.run.info.worker_of(claim.process);
            claims.entry(worker).or_default().push(claim);
        }
        let places = evidence.claims.claims.iter().filter_map(|claim| queue_place(evidence, claim));
        let ends: BTreeSet<String> = places.map(|place| format!("{place:010}")).collect();
        let end = |name: &str| name.get(name.len().checked_sub(10)?..).map(str::to_owned);
        let names = ledger.entries().iter().map(|entry| ledger.name(entry.object));
        let has_places = !ends.is_empty() && names.filter_map(end).any(|end| ends.contains(&end));
        Self {
            evidence,
            ledger,
            claims,
            has_places,
            latest: BTreeMap::new(),
            writers: BTreeMap::new(),
            written_ns: BTreeMap::new(),
        }
    }

    fn of_entry(&mut self, place: usize, entry: LedgerEntry) -> Option<LedgerEntry> {
        let thing = (entry.server, entry.object);
        if let Change::Written(process) = entry.change {
            let writer = self.writer(place, entry, process)?;
            self.writers.insert(thing, (writer, true));
            self.written_ns.insert(writer, entry.time_ns);
            return Some(LedgerEntry { change: Change::Written(writer), ..entry });
        }
        let change = match entry.change {
            Change::Deleted(process) => Change::Deleted(self.remover(entry, process)?),
            Change::SessionEnded(process) => {
                Change::SessionEnded(self.last_writer(entry, process).unwrap_or(process))
            }
            change => change,
        };
        let restored = change == Change::Restored;
        self.writers.entry(thing).and_modify(|(_, stands)| *stands = restored);
        Some(LedgerEntry { change, ..entry })
    }

    fn writer(&mut self, place: usize, entry: LedgerEntry, process: u32) -> Option<u32> {
        let last = self.last_writer(entry, process);
        if self.is_past(process) {
            return last;
        }
        let claims = self.claims(process, entry);
        let asking = self.without_writers(self.at(ClaimStep::Asking, &claims, entry));
        let is_one = asking.len() == 1;
        let placed = self.of_place(&asking, entry);
        if placed.is_some() || (self.has_places && asking.len() > 1) {
            let unplaced =
                asking.into_iter().filter(|claim| queue_place(self.evidence, claim).is_none());
            return placed.or_else(|| first(&unplaced.collect::<Vec<_>>()));
        }
        let renews = self.writers.get(&(entry.server, entry.object)).is_some_and(|it| it.1);
        let next = self.granted_next(&asking, place, entry);
        let next = next.or(last.filter(|_| renews || asking.is_empty()));
        let in_vain = asking.iter().all(|claim| claim.granted().is_none());
        next.or_else(|| first(&asking).filter(|_| is_one || in_vain))
    }

    fn remover(&mut self, entry: LedgerEntry, process: u32) -> Option<u32> {
        let last = self.last_writer(entry, process);
        if self.is_past(process) {
            return last;
        }
        let claims = self.claims(process, entry);
        let mut freeing = self.at(ClaimStep::Releasing, &claims, entry);
        freeing.retain(|claim| !has_removed_nothing(claim));
        let frees = |writer: &u32| freeing.iter().any(|claim| claim.process == *writer);
        last.filter(frees).or_else(|| only(&freeing)).or(last)
    }

    /// Returns true if a client has a later process than this, whose requests are late.
    fn is_past(&mut self, process: u32) -> bool {
        let client = self.client(process);
        let latest = self.latest.entry(client).or_insert(process);
        *latest = process.max(*latest);
        *latest > process
    }

    /// The client of a process that the store knows.
    fn client(&self, process: u32) -> u32 {
        process % self.evidence.run.info.run.clients.max(1)
    }

    /// The worker that last wrote the thing of a change, if it is one of a process's client.
    fn last_writer(&self, entry: LedgerEntry, process: u32) -> Option<u32> {
        let (writer, _) = *self.writers.get(&(entry.server, entry.object))?;
        (self.evidence.run.info.client_of(writer) == self.client(process)).then_some(writer)
    }

    /// The latest claim of each worker of a client at the time of a change, of the lock that the
    /// thing has in its name.
    fn claims(&self, process: u32, entry: LedgerEntry) -> Vec<&'a Claim> {
        let workers = self.evidence.run.info.workers;
        let first = self.client(process) * workers;
        let (name, keys) = (self.ledger.name(entry.object), &self.evidence.claims.keys);
        let has_key = keys.iter().any(|key| name.contains(&**key));
        let latest = |worker| {
            let claims = self.claims.get(&worker)?;
            let begun = |it: &&Claim| self.evidence.time(it.invoke) <= entry.time_ns;
            claims[..claims.partition_point(begun)].last().copied()
        };
        let is_meant = |it: &&Claim| !has_key || name.contains(&*keys[it.key]);
        (first..first + workers).filter_map(latest).filter(is_meant).collect()
    }

    /// Those of some claims that are at a step when a change is made.
    fn at(&self, step: ClaimStep, claims: &[&'a Claim], entry: LedgerEntry) -> Vec<&'a Claim> {
        let is_there = |it: &&&Claim| ClaimStep::of(self.evidence, it, entry.time_ns) == step;
        claims.iter().filter(is_there).copied().collect()
    }

    /// The worker among those that ask whose place in the queue the name of its node ends in.
    fn of_place(&self, asking: &[&Claim], entry: LedgerEntry) -> Option<u32> {
        let name = self.ledger.name(entry.object);
        let is_its = |place| name.ends_with(&format!("{place:010}"));
        let owner =
            asking.iter().find(|claim| queue_place(self.evidence, claim).is_some_and(is_its));
        owner.map(|claim| claim.process)
    }

    /// The worker among those that ask that is granted the lock next, before their client changes
    /// the thing again.
    fn granted_next(&self, asking: &[&Claim], place: usize, entry: LedgerEntry) -> Option<u32> {
        let Change::Written(process) = entry.change else { return None };
        let changes = [Change::Written(process), Change::Deleted(process)];
        let is_next = |it: &&LedgerEntry| {
            (it.server, it.object) == (entry.server, entry.object) && changes.contains(&it.change)
        };
        let next = self.ledger.entries()[place + 1..].iter().find(is_next);
        let until_ns = next.map_or(u64::MAX, |next| next.time_ns);
        let granted = |claim: &&Claim| {
            let at_ns = self.evidence.time(claim.granted()?);
            let is_in_time = self.asked_ns(claim) <= entry.time_ns && at_ns <= until_ns;
            is_in_time.then_some((at_ns, claim.process))
        };
        asking.iter().filter_map(granted).min().map(|(_, worker)| worker)
    }

    /// The time of the request that a claim was granted, where its grant reports that by a right
    /// clock, else of the first.
    fn asked_ns(&self, claim: &Claim) -> u64 {
        let first_ns = self.evidence.time(claim.invoke);
        let request = |ok| Some((ok, self.evidence.facts(ok)?.asked_ns?));
        let Some((ok, asked_ns)) = claim.granted().and_then(request) else { return first_ns };
        let asking = first_ns..self.evidence.time(ok);
        match Troubles::of(self.evidence, claim.process, asking).had(Trouble::ClientClock) {
            true => first_ns,
            false => asked_ns,
        }
    }

    /// Some claims without those whose worker has written something since it asked: a try takes the
    /// lock once. All of them, if each has.
    fn without_writers(&self, asking: Vec<&'a Claim>) -> Vec<&'a Claim> {
        let last_ns = |claim: &Claim| self.written_ns.get(&claim.process).copied();
        let has = |claim: &&&Claim| last_ns(claim).is_some_and(|at| at >= self.asked_ns(claim));
        match asking.iter().filter(|claim| !has(claim)).copied().collect::<Vec<_>>() {
            fresh if fresh.is_empty() => asking,
            fresh => fresh,
        }
    }
}

/// The place in the queue that the grant of a claim reports.
fn queue_place(evidence: &Evidence<'_>, claim: &Claim) -> Option<u64> {
    evidence.facts(claim.granted()?)?.place
}

/// Returns true if the answer to the release of a claim says that it removed nothing.
fn has_removed_nothing(claim: &Claim) -> bool {
    let has_failed = claim.freed.is_some_and(|(_, kind)| kind == Kind::Fail);
    has_failed || claim.removed == Some(Removed::Nothing)
}

/// The worker that asked first: over one connection the requests come in the order in which they
/// were made.
fn first(asking: &[&Claim]) -> Option<u32> {
    asking.iter().min_by_key(|claim| claim.invoke).map(|claim| claim.process)
}

/// The worker of the only claim.
fn only(claims: &[&Claim]) -> Option<u32> {
    match claims {
        [claim] => Some(claim.process),
        _ => None,
    }
}
