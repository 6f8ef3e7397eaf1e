//! `independence`: does one lock wait for another?
//!
//! **Decides** over runs with several keys, for each ordered pair of them, hold by hold of the
//! first. It is a *chance* for the second if another process is granted that one meanwhile, which
//! takes it, or if one asks for it to the end of the hold, though it was free for a tenth of the
//! ttl or more, and long enough to be granted: twice as long as any free lock of the run was asked
//! for while no other was held. The anomaly is `waits for another key`, where at least three
//! chances of one pair were missed, and more than were taken.
//!
//! **Limits.** Single misses are put down to a slow machine. Judged in calm only, and over
//! exclusive acquires. Fewer than three chances are inconclusive; a run with one key does not
//! apply.
//!
//! **Source.** The blog post's class whose products share one directory: what has nothing to do
//! with each other queues up behind each other.

use crate::causes::by_recipe;
use crate::stretches::Stretches;
use crate::words::count;
use crate::{Case, Checker};
use base::{Mode, Outcome, Verdict};
use histories::holds::Claim;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

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
            let reason = "nobody held the lock that it waited for";
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
    let all = LockUse::of(case);
    let enough_ns = all.enough_ns(case);
    let mut pairs: BTreeMap<(usize, usize), Pair> = BTreeMap::new();
    for hold in &all.holds {
        let Some(Range { start, end }) = hold.definite() else { continue };
        let taken = all.taken_beside(hold);
        for key in &taken {
            pairs.entry((hold.key, *key)).or_default().taken += 1;
        }
        let mut missed: BTreeMap<usize, [u64; 4]> = BTreeMap::new();
        for claim in all.waiting_at(end).filter(|claim| is_foreign(hold, claim)) {
            let free = all.free_since(claim.key, start).max(start).max(claim.invoke);
            let lasts_ns = case.time(end).saturating_sub(case.time(free));
            let is_chance = free < end && lasts_ns >= enough_ns && case.calm().spans(free, end);
            if is_chance && !taken.contains(&claim.key) {
                let witness = [start, claim.invoke, end, claim.asking().end];
                missed.entry(claim.key).or_insert(witness);
            }
        }
        for (key, witness) in missed {
            pairs.entry((hold.key, key)).or_default().missed.push(witness);
        }
    }
    pairs
}

/// Returns true if a claim is of another lock and by another process.
fn is_foreign(hold: &Claim, claim: &Claim) -> bool {
    claim.key != hold.key && claim.process != hold.process
}

/// The use of all locks of a run.
struct LockUse<'a> {
    /// The exclusive holds that ended, and the stretches for which they lasted.
    holds: Vec<&'a Claim>,
    held: Stretches,
    /// The exclusive claims, and the stretches for which they asked.
    claims: Vec<&'a Claim>,
    asking: Stretches,
    /// The grants in the order of their answers.
    granted: Vec<&'a Claim>,
    /// The grants of each key in that order, with the place of the event up to which those so far
    /// may hold it: the answer to their releases.
    of_keys: Vec<Vec<(&'a Claim, u64)>>,
}

impl<'a> LockUse<'a> {
    fn of(case: &'a Case<'_>) -> Self {
        let claims = case.claims.claims.iter().filter(|claim| claim.mode == Mode::Exclusive);
        let claims: Vec<&Claim> = claims.collect();
        let answered = case.claims.answered.iter().map(|id| &case.claims.claims[*id as usize]);
        let granted: Vec<&Claim> = answered.filter(|claim| claim.granted().is_some()).collect();
        let ended = |claim: &&&Claim| claim.mode == Mode::Exclusive && claim.end.is_some();
        let holds: Vec<&Claim> = granted.iter().filter(ended).copied().collect();
        let stretch = |claim: &&Claim| claim.definite().map(|hold| (hold.start, hold.end));
        let mut of_keys = vec![Vec::new(); case.claims.keys.len()];
        for claim in &granted {
            let until = claim.freed.map_or(u64::MAX, |(at, _)| at);
            let ours: &mut Vec<(&Claim, u64)> = &mut of_keys[claim.key];
            let before = ours.last().map_or(0, |(_, until)| *until);
            ours.push((claim, until.max(before)));
        }
        Self {
            held: Stretches::of(holds.iter().filter_map(stretch)),
            holds,
            asking: Stretches::of(claims.iter().map(|it| (it.invoke, it.asking().end))),
            claims,
            granted,
            of_keys,
        }
    }

    /// The keys that other processes were granted during a hold of another one.
    fn taken_beside(&self, hold: &Claim) -> BTreeSet<usize> {
        let Some(during) = hold.definite() else { return BTreeSet::new() };
        let from = self.granted.partition_point(|claim| claim.granted() <= Some(during.start));
        let meanwhile = self.granted[from..].iter();
        let meanwhile = meanwhile.take_while(|claim| claim.granted() < Some(during.end));
        meanwhile.filter(|claim| is_foreign(hold, claim)).map(|claim| claim.key).collect()
    }

    /// The exclusive claims that ask for their locks at an event.
    fn waiting_at(&self, at: u64) -> impl Iterator<Item = &'a Claim> {
        self.asking.meeting(at, at).map(|id| self.claims[id])
    }

    /// The place of the event since which a key is free that was last granted before another.
    fn free_since(&self, key: usize, at: u64) -> u64 {
        let ours = &self.of_keys[key];
        let before = ours.partition_point(|(claim, _)| claim.granted() <= Some(at));
        before.checked_sub(1).map_or(0, |last| ours[last].1)
    }

    /// The time, in nanoseconds, in which a free lock is granted: twice as long as it ever took
    /// while no other was held, if that was seen, else as the lock's pace allows; and never less
    /// than a tenth of the ttl.
    fn enough_ns(&self, case: &Case<'_>) -> u64 {
        let took = |(before, next): (u64, &Claim)| {
            let (free, ok) = (before.max(next.invoke), next.granted()?);
            let mut beside = self.held.meeting(free, ok).map(|id| self.holds[id]);
            let is_usual = free < ok
                && case.calm().spans(free, ok)
                && !beside.any(|hold| is_foreign(next, hold));
            is_usual.then(|| case.time(ok) - case.time(free))
        };
        let of_key = |ours: &Vec<(&'a Claim, u64)>| {
            let before = std::iter::once(0).chain(ours.iter().map(|(_, until)| *until));
            before.zip(ours.iter().map(|(claim, _)| *claim)).filter_map(took).collect::<Vec<_>>()
        };
        let usual: Vec<u64> = self.of_keys.iter().flat_map(of_key).collect();
        let longest = usual.iter().max().filter(|_| usual.len() as u64 >= MIN_CHANCES);
        let pick_up_ns = case.run.info.pick_up_ns();
        let picked_up_ns = longest.map_or(pick_up_ns, |longest| pick_up_ns.min(longest * 2));
        picked_up_ns.max(case.run.info.run.ttl_ns / 10)
    }
}
