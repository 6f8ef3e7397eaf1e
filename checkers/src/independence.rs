//! `independence`: does one lock wait for another?
//!
//! **Decides** over runs with several keys, for each ordered pair of them. An acquire of one key
//! that has no rival (no other claim of this key is being asked for or held at its `invoke`, and no
//! other is granted before its answer) and that begins while an exclusive hold of *another* key has
//! some time to go must be granted during that hold. It is a *chance* if the foreign hold lasts a
//! tenth of the ttl or more from there on, and long enough to take a free lock: twice as long as
//! any acquire took that had no rival and met no foreign hold.
//! The anomaly is `waits for another key`, where at least three chances of one pair were missed,
//! and more than were taken.
//!
//! **Limits.** Single misses are put down to a slow machine. Judged in calm only, and over
//! exclusive acquires. Fewer than three chances are inconclusive; a run with one key does not
//! apply.
//!
//! **Source.** The blog post's class whose products share one directory: what has nothing to do
//! with each other queues up behind each other.

use crate::causes::by_recipe;
use crate::words::count;
use crate::{Case, Checker};
use base::{Mode, Outcome, Verdict};
use histories::holds::Claim;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The least number of chances that shows anything.
const MIN_CHANCES: u64 = 3;

/// The independence checker.
pub struct Independence;

impl Checker for Independence {
    fn name(&self) -> &'static str {
        "independence"
    }

    fn summary(&self) -> &'static str {
        "a lock that is free is granted, whoever holds another one"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        if case.claims.keys.len() < 2 {
            let why = "the run has one key";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        }
        let pairs = chances(case);
        let taken: u64 = pairs.values().map(|pair| pair.taken).sum();
        let missed: usize = pairs.values().map(|pair| pair.missed.len()).sum();
        let chances = taken + missed as u64;
        let seen = format!(
            "{} to be granted a free lock while another was held, {taken} taken",
            count(chances, "chance")
        );
        let waits = |pair: &&Pair| {
            let missed = pair.missed.len() as u64;
            missed >= MIN_CHANCES && missed > pair.taken
        };
        let broken: Vec<[u64; 4]> =
            pairs.values().filter(waits).flat_map(|pair| pair.missed.iter().copied()).collect();
        if let Some(first) = broken.first() {
            let reason = "nobody else asked for or held the lock that it waited for";
            let anomaly = by_recipe("waits for another key", broken.len() as u64, *first, reason);
            let anomalies = vec![anomaly];
            return Verdict { anomalies, ..Verdict::new(self.name(), Outcome::Violated, seen) };
        }
        let outcome = if chances < MIN_CHANCES { Outcome::Inconclusive } else { Outcome::Held };
        Verdict::new(self.name(), outcome, seen)
    }
}

/// The findings on two keys, of which one was held while the other was asked for.
#[derive(Debug, Default)]
struct Pair {
    taken: u64,
    /// The foreign grant, the acquire, the end of the foreign hold and the answer.
    missed: Vec<[u64; 4]>,
}

/// The chances of each pair: first the key that was held, then the one that was asked for.
fn chances(case: &Case<'_>) -> BTreeMap<(usize, usize), Pair> {
    let lone = lone(case);
    let enough_ns = enough_ns(case, &lone);
    let mut pairs: BTreeMap<(usize, usize), Pair> = BTreeMap::new();
    for Lone { claim, foreign } in lone {
        let Some((end, hold)) = foreign else { continue };
        let answer = claim.asking().end;
        let lasts_ns = case.time(end).saturating_sub(case.time(claim.invoke));
        if lasts_ns < enough_ns || !case.calm().spans(hold.invoke, answer.min(end)) {
            continue;
        }
        let pair = pairs.entry((hold.key, claim.key)).or_default();
        match claim.granted() {
            Some(ok) if ok < end => pair.taken += 1,
            _ if answer > end => {
                pair.missed.push([hold.granted().unwrap_or(0), claim.invoke, end, answer]);
            }
            _ => {}
        }
    }
    pairs
}

/// The time, in nanoseconds, in which a free lock is granted: twice as long as any acquire took
/// without a rival and a foreign hold, if there are some, else as the lock's pace allows; and never
/// less than a tenth of the ttl.
fn enough_ns(case: &Case<'_>, lone: &[Lone<'_>]) -> u64 {
    let took = |it: &Lone<'_>| {
        let (asked, ok) = (it.claim.invoke, it.claim.granted()?);
        let is_usual = it.foreign.is_none() && case.calm().spans(asked, ok);
        is_usual.then(|| case.time(ok) - case.time(asked))
    };
    let usual: Vec<u64> = lone.iter().filter_map(took).collect();
    let longest = usual.iter().max().filter(|_| usual.len() as u64 >= MIN_CHANCES);
    let pick_up_ns = case.run.info.pick_up_ns();
    let picked_up_ns = longest.map_or(pick_up_ns, |longest| pick_up_ns.min(longest * 2));
    picked_up_ns.max(case.run.info.run.ttl_ns / 10)
}

/// An acquire without a rival, and the exclusive hold of another key by another process that ended
/// last of those at its begin, with its end.
struct Lone<'a> {
    claim: &'a Claim,
    foreign: Option<(u64, &'a Claim)>,
}

/// The exclusive acquires without a rival, in the order in which they were asked for.
fn lone<'a>(case: &'a Case<'_>) -> Vec<Lone<'a>> {
    let claims = &case.claims.claims;
    let alone = alone(case);
    let answered = case.claims.answered.iter().map(|id| &claims[*id as usize]);
    let exclusive = |c: &&Claim| c.granted().is_some() && c.mode == Mode::Exclusive;
    let mut begun = answered.filter(exclusive).peekable();
    // The exclusive holds of the moment, by their ends, at most one a key: the one that ends last.
    let mut now: BTreeMap<(u64, usize), &Claim> = BTreeMap::new();
    let mut ends: Vec<Option<u64>> = vec![None; case.claims.keys.len()];
    let mut lone = Vec::new();
    for (id, claim) in claims.iter().enumerate() {
        while let Some(hold) = begun.next_if(|hold| hold.granted() < Some(claim.invoke)) {
            let end = hold.end.map_or(u64::MAX, |end| end.at);
            if ends[hold.key] < Some(end) {
                let shorter = ends[hold.key].replace(end);
                shorter.map(|shorter| now.remove(&(shorter, hold.key)));
                now.insert((end, hold.key), hold);
            }
        }
        // No later request meets them.
        while now.first_key_value().is_some_and(|((end, _), _)| *end <= claim.invoke) {
            now.pop_first();
        }
        if claim.mode == Mode::Exclusive && alone[id] {
            let is_foreign = |hold: &Claim| hold.key != claim.key && hold.process != claim.process;
            let foreign = now.iter().rev().find(|(_, hold)| is_foreign(hold));
            lone.push(Lone { claim, foreign: foreign.map(|((end, _), hold)| (*end, *hold)) });
        }
    }
    lone
}

/// Tells for each claim whether it had no rival: nobody wanted its key when it began, and nobody
/// else was granted it before its answer.
fn alone(case: &Case<'_>) -> Vec<bool> {
    let claims = &case.claims.claims;
    let keys = case.claims.keys.len();
    let grants: Vec<Vec<u64>> = (0..keys)
        .map(|key| case.granted(key).map(|(_, claim)| claim.asking().end).collect())
        .collect();
    // How long each key is wanted by the claims so far, to the answer of their release.
    let mut wanted: Vec<Option<u64>> = vec![None; keys];
    let alone = |claim: &Claim| {
        let until = claim.freed.map_or(claim.wanted().end, |(at, _)| at.max(claim.wanted().end));
        let before = wanted[claim.key];
        wanted[claim.key] = before.max(Some(until));
        let grants = &grants[claim.key];
        let first = grants.partition_point(|ok| *ok < claim.invoke);
        let overtaken = grants.get(first).is_some_and(|ok| *ok < claim.asking().end);
        before.is_none_or(|before| before < claim.invoke) && !overtaken
    };
    claims.iter().map(alone).collect()
}
