//! `shared-concurrency`: do readers that wait together enter together?
//!
//! **Decides** for a lock that promises `shared`. Two readers are a *pair* if both were asking when
//! a writer released the lock, no writer was asking until both had it (but behind both of them in
//! the store's queue: such a one is no reason to wait), and the first of them then held it for a
//! twentieth of the ttl or more, and long enough to take a free lock over these links. They entered
//! together if the second was granted it before the first had released it. When at least three
//! pairs entered one after the other, and more than together, the anomaly is `readers one by one`.
//!
//! **Limits.** Single pairs are put down to a slow machine. Judged in calm only. Fewer than three
//! pairs are inconclusive.
//!
//! **Source.** Courtois, Heymans, Parnas, "Concurrent control with readers and writers", 1971.

use crate::causes::by_recipe;
use crate::words::count;
use crate::{Case, Checker};
use base::{Mode, Outcome, Verdict};
use histories::holds::{Claim, Ending};

#[cfg(test)]
mod tests;

/// The least number of pairs that shows anything.
const MIN_PAIRS: u64 = 3;

/// The shared concurrency checker.
pub struct SharedConcurrency;

impl Checker for SharedConcurrency {
    fn name(&self) -> &'static str {
        "shared-concurrency"
    }

    fn summary(&self) -> &'static str {
        "readers that wait together enter together"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        if !case.run.info.lock.promises.shared {
            let why = "the lock knows no readers";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        }
        let (together, apart) = pairs(case);
        let pairs = together + apart.len() as u64;
        let seen = format!(
            "{} of readers that waited for the same writer, {together} entered together",
            count(pairs, "pair")
        );
        if apart.len() as u64 >= MIN_PAIRS && apart.len() as u64 > together {
            let reason = "both had waited for the same writer, and no other was asking";
            let anomaly = by_recipe("readers one by one", apart.len() as u64, apart[0], reason);
            let anomalies = vec![anomaly];
            return Verdict { anomalies, ..Verdict::new(self.name(), Outcome::Violated, seen) };
        }
        let outcome = if pairs < MIN_PAIRS { Outcome::Inconclusive } else { Outcome::Held };
        Verdict::new(self.name(), outcome, seen)
    }
}

/// Returns the number of pairs that entered together; and of each of the others the writer's
/// release, the first reader's grant, its end and the second reader's grant.
fn pairs(case: &Case<'_>) -> (u64, Vec<[u64; 4]>) {
    let calm = case.calm();
    let (mut together, mut apart) = (0, Vec::new());
    for key in 0..case.claims.keys.len() {
        let asked = case.asked(key).map(|(_, claim)| claim);
        let writers: Vec<&Claim> = asked.filter(|c| c.mode == Mode::Exclusive).collect();
        let granted = case.granted(key).map(|(_, claim)| claim);
        let readers: Vec<&Claim> = granted.filter(|c| c.mode == Mode::Shared).collect();
        for pair in readers.windows(2) {
            let Some([release, first, end, second]) = pair_behind(case, &writers, pair) else {
                continue;
            };
            match calm.spans(release, second) {
                true if second < end => together += 1,
                true => apart.push([release, first, end, second]),
                false => {}
            }
        }
    }
    (together, apart)
}

/// The writer's release, the first reader's grant, its end, and the second reader's grant.
fn pair_behind(case: &Case<'_>, writers: &[&Claim], pair: &[&Claim]) -> Option<[u64; 4]> {
    let (first, second) = (pair[0].granted()?, pair[1].granted()?);
    let end = pair[0].end.filter(|end| end.how == Ending::Released)?.at;
    // The latest writer that was asked for before both had the lock must have held and released it.
    let asked = writers.partition_point(|writer| writer.invoke < second);
    let near = &writers[asked.saturating_sub(WINDOW)..asked];
    let released = |writer: &&&Claim| {
        let end = writer.end.filter(|end| end.how == Ending::Released)?;
        Some(end.at).filter(|at| *at < first)
    };
    let release = near.iter().filter_map(|writer| released(&writer)).max()?;
    let waited = pair[0].invoke < release && pair[1].invoke < release;
    let place = |claim: &Claim| case.facts(claim.granted()?)?.place;
    let behind = |writer: &Claim| match (place(writer), place(pair[0]), place(pair[1])) {
        (Some(writer), Some(first), Some(second)) => writer > first.max(second),
        _ => false,
    };
    let others = near.iter().any(|writer| writer.wanted().end > release && !behind(writer));
    let lasted =
        case.run.history.get(end)?.time_ns.saturating_sub(case.run.history.get(first)?.time_ns);
    let info = &case.run.info;
    let fit = waited && !others && lasted >= (info.run.ttl_ns / 20).max(info.pick_up_ns());
    fit.then_some([release, first, end, second])
}

/// The number of writers before a pair that are looked at: more than a run has clients, else a pair
/// that a writer stands between might be missed.
const WINDOW: usize = 256;
