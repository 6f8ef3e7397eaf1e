//! `fairness`: is a queue lock granted in the order of its queue, and does nobody starve?
//!
//! **Decides** whether anybody starves, of every lock; and the order, of one that promises `fifo`.
//! Anomalies:
//!
//! * `fifo inversion`: of two grants that exclude each other, the one with the later place in the
//!   store's queue was given first. Places are what the recipe says (`place`).
//! * `starvation`: while one acquire waited, so many that began later were granted the lock in a
//!   mode that excludes it that it is more than its lot. A fair share is one grant for each worker.
//!   Four shares are more than any place in a queue explains. In a lottery whoever looks seldom
//!   loses to those who look often, for any number of times; there an acquire starves if the lock
//!   was not free once while sixteen shares passed, and for as long as it may stay taken: one
//!   reader lets go of it only after another has come. A lock can promise a number (`patience`).
//!   A semaphore is free where as many permits are as the acquire asks for.
//!
//! Both are judged in calm, the latter in the calm at the end of the wait: a client that was paused
//! in front of its grant learns of it late. **Measures** for every lock: how often the most
//! overtaken acquire was overtaken, and Jain's index over the grants of the clients (1,000 ‰: all
//! got the same).
//!
//! **Limits.** Without places it sees no inversion; without them and without a bypass it is
//! inconclusive. A lock without an order in which nobody starves is only measured.
//!
//! **Source.** Lamport's bakery, 1974 (first come, first served, from the doorway on); Jain, Chiu,
//! Hawe, "A quantitative measure of fairness", 1984.

use crate::bypass::{self, Bypass};
use crate::causes::by_recipe;
use crate::words::count;
use crate::{Case, Checker};
use base::{Anomaly, Measure, Mode, Outcome, Verdict};
use histories::holds::Claim;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The fairness checker.
pub struct Fairness;

impl Checker for Fairness {
    fn name(&self) -> &'static str {
        "fairness"
    }

    fn summary(&self) -> &'static str {
        "a queue is served in its order, and nobody starves"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        let jain = jain(case);
        let most = case.bypasses().most;
        let measures = vec![
            Measure::new("most often overtaken", "", most),
            Measure::new("Jain's index", "‰", jain),
        ];
        let facts = format!("at most {most} overtook one acquire, Jain's index {jain} ‰");
        let verdict = |outcome, summary| Verdict {
            measures: measures.clone(),
            ..Verdict::new(self.name(), outcome, summary)
        };
        let queue = case.run.info.lock.promises.fifo;
        let (compared, inversions) = if queue { inversions(case) } else { (0, None) };
        let anomalies: Vec<Anomaly> = inversions.into_iter().chain(starvation(case)).collect();
        if !anomalies.is_empty() {
            let named: Vec<String> = anomalies.iter().map(|a| count(a.count, &a.name)).collect();
            let summary = format!("{}; {facts}", named.join(", "));
            return Verdict { anomalies, ..verdict(Outcome::Violated, summary) };
        }
        if !queue {
            let why = format!("the lock promises no order: {facts}");
            return verdict(Outcome::NotApplicable, why);
        }
        if compared == 0 {
            let why = "no two grants with a place in a queue, far from any fault".to_owned();
            return verdict(Outcome::Inconclusive, why);
        }
        verdict(
            Outcome::Held,
            format!("{} in the order of the queue; {facts}", count(compared, "grant")),
        )
    }
}

/// The claim that waited for too many times its fair share. One that was overtaken because nothing
/// woke its client is for `progress` to name.
fn starvation(case: &Case<'_>) -> Option<Anomaly> {
    let info = &case.run.info;
    let sleeps = info.lock.promises.wakes.is_some();
    let taken_when_free: Vec<_> =
        (0..case.claims.keys.len()).map(|key| taken_when_free(case, key)).collect();
    let starved = |bypass: &&Bypass| {
        (!sleeps || case.woken_since(bypass))
            && shares(case, bypass, &taken_when_free) >= bypass::patience(info)
    };
    let mut starved = case.bypasses().long.iter().filter(starved);
    let first = starved.next()?;
    let claim = &case.claims.claims[first.claim];
    let last = Some(claim.asking().end).filter(|at| case.run.history.get(*at).is_some());
    let reason = format!(
        "while process {} waited, the lock was granted at least {} times to those who asked later, \
         which is {} times its fair share",
        claim.process,
        first.count,
        first.count / bypass::share(info)
    );
    let witness = [claim.invoke, first.first].into_iter().chain(last);
    Some(by_recipe("starvation", 1 + starved.count() as u64, witness, reason))
}

/// Returns how many times its fair share an acquire was overtaken in the calm at the end of its
/// wait. Without a queue that calm has to last as long as the lock may stay taken: whoever looks
/// seldom is overtaken by all who look often, and gets it soon all the same.
fn shares(case: &Case<'_>, bypass: &Bypass, taken_when_free: &[Vec<FreeBefore>]) -> u64 {
    let info = &case.run.info;
    let promises = &info.lock.promises;
    let claim = &case.claims.claims[bypass.claim];
    let (asked, until) = (case.time(claim.invoke), case.time(claim.asking().end));
    let until = until.min(case.run.history.end());
    let Some(mut since) = case.calm().since(asked, until) else { return 0 };
    if !promises.fifo && promises.patience.is_none() {
        let taken = &taken_when_free[claim.key];
        let before = taken.partition_point(|it| it.grant < claim.asking().end);
        let mut before = taken[..before].iter().rev();
        let last = before.find(|it| it.permits >= u64::from(claim.permits));
        since = since.max(last.map_or(0, |last| case.time(last.grant)));
    }
    if !promises.fifo && until - since < info.due_ns() {
        return 0;
    }
    let overtakes = |other: &Claim| {
        other.invoke > claim.invoke
            && claim.mode.excludes(other.mode)
            && other.granted().is_some_and(|ok| case.time(ok) >= since)
    };
    let overtaken = match since == asked {
        true => bypass.count,
        false => {
            let others = case.granted_in(claim.asking()).filter(|other| other.key == claim.key);
            others.filter(|other| overtakes(other)).count() as u64
        }
    };
    overtaken / bypass::share(info)
}

/// A grant before which the lock was free.
struct FreeBefore {
    /// The event of the grant.
    grant: u64,
    /// The number of permits that were free; 1 of a lock that is no semaphore.
    permits: u64,
}

/// Returns the grants of a key before which the lock was free.
fn taken_when_free(case: &Case<'_>, key: usize) -> Vec<FreeBefore> {
    let all = u64::from(case.run.info.lock.promises.permits);
    let mut held: Vec<(u64, u64)> = Vec::new();
    let free_before = |claim: &Claim| {
        let hold = claim.definite()?;
        held.retain(|(end, _)| *end > hold.start);
        let taken: u64 = held.iter().map(|(_, permits)| permits).sum();
        held.push((hold.end, claim.permits.into()));
        let permits = all.checked_sub(taken).filter(|free| *free > 0)?;
        Some(FreeBefore { grant: hold.start, permits })
    };
    case.granted(key).map(|(_, claim)| claim).filter_map(free_before).collect()
}

/// Returns the number of grants that could be compared with one before them, and the anomaly of
/// those that were given too late.
fn inversions(case: &Case<'_>) -> (u64, Option<Anomaly>) {
    let (mut compared, mut seen) = (0, Vec::new());
    for key in 0..case.claims.keys.len() {
        // The latest place that was served, by writers and by readers.
        let mut served: [Option<(u64, u64)>; 2] = [None, None];
        for (_, claim) in case.granted(key) {
            let ok = claim.asking().end;
            let place = case.facts(ok).and_then(|facts| facts.place);
            let calm = || case.calm().spans(claim.invoke, ok);
            let Some(place) = place.filter(|_| calm()) else { continue };
            let before = match claim.mode {
                Mode::Exclusive => served[0].max(served[1]),
                Mode::Shared => served[0],
            };
            compared += u64::from(before.is_some());
            if let Some((_, earlier)) = before.filter(|(served, _)| *served > place) {
                seen.push([earlier, ok]);
            }
            let mine = &mut served[usize::from(claim.mode == Mode::Shared)];
            *mine = (*mine).max(Some((place, ok)));
        }
    }
    seen.sort_unstable_by_key(|[_, late]| *late);
    let reason = "the second had the earlier place in the queue";
    let anomaly =
        seen.first().map(|first| by_recipe("fifo inversion", seen.len() as u64, *first, reason));
    (compared, anomaly)
}

/// Jain's index over the grants of each worker, in thousandths: (Σx)² / (n Σx²).
fn jain(case: &Case<'_>) -> u64 {
    let workers = case.run.info.all_workers();
    let mut grants: BTreeMap<u32, u64> = BTreeMap::new();
    for (process, granted) in &case.claims.holders {
        *grants.entry(case.run.info.worker_of(*process)).or_default() += granted;
    }
    let sum: u128 = grants.values().map(|n| u128::from(*n)).sum();
    let squares: u128 = grants.values().map(|n| u128::from(*n) * u128::from(*n)).sum();
    // Whoever got nothing counts as well.
    let n = u128::from(workers).max(grants.len() as u128);
    (sum * sum * 1_000).checked_div(n * squares).unwrap_or(1_000) as u64
}
