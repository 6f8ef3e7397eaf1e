//! `herd`: how many waiters does the store wake in vain?
//!
//! **Decides** for a lock whose waiters sleep until the store wakes the next of them (`wakes:
//! next`). A `notified` belongs to what came last before it on its key: a release, an arrival
//! (another acquire), or an acquire that was given up. It was *in vain* if the next grant that
//! excludes the woken client's went to somebody else. The anomaly is `herd`: a release or an
//! arrival woke two clients or more in vain, while nothing disturbed the run from there to that
//! grant. Whoever waits behind a client that gives up must look again, and of readers that may be
//! several.
//!
//! **Limits.** Sessions that run out wake clients without an event in the history, so that it is
//! judged in calm only. A lock that declares that it wakes everybody is
//! not judged, only measured; one whose clients ask again and again wakes nobody. Inconclusive
//! when nobody was woken.
//!
//! **Source.** ZooKeeper's recipes, "Locks": "each node is watched by exactly one client … avoids
//! the herd effect".

use crate::causes::by_recipe;
use crate::words::count;
use crate::{Case, Checker};
use base::{F, Key, Measure, Outcome, Verdict, Wakes};
use histories::holds::{AcquireAnswer, Claim, Claims};
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The thundering herd checker.
pub struct Herd;

impl Checker for Herd {
    fn name(&self) -> &'static str {
        "herd"
    }

    fn summary(&self) -> &'static str {
        "a release wakes those whose turn it is, not everybody who waits"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        let Some(wakes) = case.run.info.lock.promises.wakes else {
            let why = "clients ask again and again, and the store wakes nobody";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        };
        let causes = causes(case);
        let measures = measures(&causes);
        let woken: u64 = causes.iter().map(|cause| cause.woken.len() as u64).sum();
        let verdict = |outcome, summary| Verdict {
            measures: measures.clone(),
            ..Verdict::new(self.name(), outcome, summary)
        };
        let facts = format!(
            "{} wake-ups; one release woke at most {}, one arrival at most {}",
            woken,
            most(&causes, WakeKind::Release),
            most(&causes, WakeKind::Arrival)
        );
        if wakes == Wakes::All {
            let why = format!("it declares that it wakes everybody who waits: {facts}");
            return verdict(Outcome::NotApplicable, why);
        }
        if woken == 0 {
            return verdict(Outcome::Inconclusive, "nobody was woken".into());
        }
        let is_herd =
            |cause: &&WakingEvent| cause.kind != WakeKind::Withdrawal && cause.vain.len() > 1;
        let herds: Vec<&WakingEvent> = causes.iter().filter(is_herd).collect();
        let Some(first) = herds.first() else { return verdict(Outcome::Held, facts) };
        let witness = std::iter::once(first.at).chain(first.vain.iter().copied());
        let reason = "all of them looked in vain, for the lock went to another";
        let anomaly = by_recipe("herd", herds.len() as u64, witness, reason);
        let times = count(herds.len() as u64, "time");
        let summary = format!("{times} two clients or more were woken in vain; {facts}");
        Verdict { anomalies: vec![anomaly], ..verdict(Outcome::Violated, summary) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WakeKind {
    Release,
    Arrival,
    /// An acquire that came to nothing: whoever waited behind it looks again.
    Withdrawal,
}

/// An event that can wake waiters, and whom it woke, in calm.
#[derive(Debug)]
struct WakingEvent {
    at: u64,
    key: usize,
    kind: WakeKind,
    woken: Vec<u64>,
    vain: Vec<u64>,
}

fn causes(case: &Case<'_>) -> Vec<WakingEvent> {
    let Claims { claims, keys, .. } = &case.claims;
    let mut causes: Vec<WakingEvent> = claims.iter().flat_map(begins).collect();
    causes.sort_by_key(|cause| cause.at);
    let calm = case.calm();
    let turns: Vec<GrantOrder> = (0..keys.len()).map(|key| GrantOrder::of(case, key)).collect();
    let places: BTreeMap<Key, usize> = keys.iter().cloned().zip(0..).collect();
    // The last cause of each key so far.
    let mut last: Vec<Option<usize>> = vec![None; keys.len()];
    let mut begun = 0;
    for event in case.run.history.events().iter().filter(|event| event.f == F::Notified) {
        let name = event.key.clone().unwrap_or_else(|| "".into());
        let (Some(process), Some(key)) = (event.client(), places.get(&name)) else { continue };
        while let Some(cause) = causes.get(begun).filter(|cause| cause.at < event.index) {
            last[cause.key] = Some(begun);
            begun += 1;
        }
        let giving_up = giving_up(case, &causes[begun..], *key, event.time_ns);
        let cause = giving_up.map(|later| begun + later).or(last[*key]);
        let cause = cause.map(|place| &mut causes[place]);
        let from = |cause: &WakingEvent| cause.at.min(event.index);
        let in_calm = |cause: &&mut WakingEvent| calm.spans(from(cause), event.index);
        let Some(cause) = cause.filter(in_calm) else { continue };
        cause.woken.push(event.index);
        let again =
            |at: &u64| case.run.history.get(*at).is_some_and(|e| e.process == event.process);
        let passed_over = turns[*key].in_vain(claims, process, event.index);
        let undisturbed = passed_over.is_some_and(|other| calm.spans(from(cause), other));
        if undisturbed && !cause.vain.iter().any(again) {
            cause.vain.push(event.index);
        }
    }
    causes
}

/// Returns the place, among later events, of the acquire that was being given up at this time: its
/// answer came within the time of a round trip.
fn giving_up(case: &Case<'_>, later: &[WakingEvent], key: usize, woken_ns: u64) -> Option<usize> {
    let latest_ns = woken_ns.saturating_add(case.run.info.pick_up_ns());
    let time_ns = |event: &WakingEvent| case.run.history.get(event.at).map_or(0, |it| it.time_ns);
    let mut soon = later.iter().take_while(|event| time_ns(event) <= latest_ns);
    soon.position(|event| event.key == key && event.kind == WakeKind::Withdrawal)
}

/// Returns the acts of a claim that can wake others.
fn begins(claim: &Claim) -> impl Iterator<Item = WakingEvent> {
    let cause =
        |at: u64, kind| WakingEvent { at, key: claim.key, kind, woken: vec![], vain: vec![] };
    let ended = match claim.answer {
        AcquireAnswer::Granted(_) => claim.end.map(|end| cause(end.at, WakeKind::Release)),
        AcquireAnswer::Failed(at) | AcquireAnswer::Unknown(at) => {
            Some(cause(at, WakeKind::Withdrawal))
        }
        AcquireAnswer::Open => None,
    };
    std::iter::once(cause(claim.invoke, WakeKind::Arrival)).chain(ended)
}

/// The claims of one key: the grants in their order, and who asks.
struct GrantOrder {
    grants: Vec<(u64, usize)>,
    /// The acquires, by process and `invoke`.
    asked: Vec<(u32, u64, usize)>,
}

impl GrantOrder {
    fn of(case: &Case<'_>, key: usize) -> Self {
        let grants = case.granted(key).map(|(id, claim)| (claim.asking().end, id)).collect();
        let mut asked: Vec<_> = case.asked(key).map(|(id, c)| (c.process, c.invoke, id)).collect();
        asked.sort_unstable();
        Self { grants, asked }
    }

    /// The next grant that excludes the claim with which a process waits, if it is another's and
    /// finds the process still waiting.
    fn in_vain(&self, claims: &[Claim], process: u32, at: u64) -> Option<u64> {
        let before = self.asked.partition_point(|(who, invoke, _)| (*who, *invoke) < (process, at));
        let (who, _, mine) = self.asked[before.checked_sub(1)?];
        let asking = claims[mine].asking();
        if who != process || !asking.contains(&at) {
            return None;
        }
        let excludes = |id: usize| id == mine || claims[id].mode.excludes(claims[mine].mode);
        let next = self.grants.partition_point(|(ok, _)| *ok < at);
        let (ok, id) = *self.grants[next..].iter().find(|(_, id)| excludes(*id))?;
        (id != mine && asking.contains(&ok)).then_some(ok)
    }
}

fn most(causes: &[WakingEvent], kind: WakeKind) -> u64 {
    let woken = causes.iter().filter(|cause| cause.kind == kind).map(|cause| cause.woken.len());
    woken.max().unwrap_or(0) as u64
}

fn measures(causes: &[WakingEvent]) -> Vec<Measure> {
    let vain: usize = causes.iter().map(|cause| cause.vain.len()).sum();
    let woken: usize = causes.iter().map(|cause| cause.woken.len()).sum();
    vec![
        Measure::new("wake-ups", "", woken as u64),
        Measure::new("wake-ups in vain", "", vain as u64),
        Measure::new("most wake-ups by one release", "", most(causes, WakeKind::Release)),
        Measure::new("most wake-ups by one arrival", "", most(causes, WakeKind::Arrival)),
    ]
}
