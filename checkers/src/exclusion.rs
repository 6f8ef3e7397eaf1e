//! `exclusion`: did two clients believe that they held the lock at once?
//!
//! **Decides** mutual exclusion, from what clients believe alone: the definite holds of
//! [`holds`](histories::holds), by the [line sweep](histories::line_sweep), which is exact.
//! Anomalies are `double hold` (two exclusive holds overlap, or the holds of a semaphore have more
//! permits than there are) and `reader-writer overlap` (an exclusive and a shared one do). Each
//! counts the grants that were given while other holds forbade them.
//!
//! **Limits.** It says nothing about what came of an overlap: that is the vault's to say. It knows
//! exclusive and shared holds; a lock that is taken twice by one client is in two holds. A history
//! with fewer than two grants is inconclusive.
//!
//! **Source.** Jepsen's mutex model, decided by intervals instead of by search; the reason why
//! that is the same stands in [`line_sweep`](histories::line_sweep).

use crate::causes::{self, Occurrence, by_cause};
use crate::evidence::Evidence;
use crate::story::Story;
use crate::words::{count, process};
use crate::{Case, Checker};
use base::{Anomaly, Event, F, Kind, Outcome, Verdict, phrases};
use histories::holds::{Claim, Claims};
use histories::line_sweep::{Conflict, Overlap};
use std::collections::BTreeSet;

/// The mutual exclusion checker.
pub struct Exclusion;

impl Checker for Exclusion {
    fn name(&self) -> &'static str {
        "exclusion"
    }

    fn summary(&self) -> &'static str {
        "no two clients believe at once that they hold the lock, but for readers together"
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        let Evidence { claims, conflicts, .. } = &**case;
        if conflicts.is_empty() {
            return without_conflict(self.name(), claims);
        }
        let anomalies = [Overlap::DoubleHold, Overlap::ReaderWriter]
            .into_iter()
            .flat_map(|overlap| anomalies(case, overlap))
            .collect();
        let offending: BTreeSet<usize> = conflicts.iter().map(|c| c.second).collect();
        let all = count(claims.granted(), "grant");
        let why = match case.run.info.lock.promises.permits {
            1 => "another hold forbade it".into(),
            permits => format!("too few of {permits} permits were free"),
        };
        let summary = format!("{} of {all} were given while {why}", offending.len());
        Verdict { anomalies, ..Verdict::new(self.name(), Outcome::Violated, summary) }
    }

    fn explain(&self, case: &Case<'_>, anomaly: &Anomaly, story: &mut Story<'_>) {
        let [first, second, ..] = anomaly.witness[..] else { return };
        let at = *anomaly.witness.last().unwrap_or(&second);
        if !story.pay(case.claims.claims.len() as u64) {
            return;
        }
        let grants = (case.claims.granted_at(first), case.claims.granted_at(second));
        let upgraded = case.run.history.get(at).and_then(Event::client);
        match grants {
            (Some(_), Some(_)) if case.run.info.lock.promises.permits > 1 => {
                return tell_permits(story, case, at);
            }
            // An upgrade may be of the older grant.
            (Some(first), Some(second)) if upgraded == Some(first.process) => {
                tell_overlap(story, second, first, at);
            }
            (Some(first), Some(second)) => tell_overlap(story, first, second, at),
            _ => {}
        }
        if let (Some(first), Some(second)) = grants
            && let Some((taker, took_ns)) = causes::taker_of_overlap(case, (first, second), at)
        {
            tell_taker(story, case, taker, (took_ns, at));
        }
    }
}

fn without_conflict(name: &str, claims: &Claims) -> Verdict {
    let holders = claims.holders.len();
    let grants = count(claims.granted(), "grant");
    if claims.granted() < 2 {
        let why = format!("{grants}: at least two are needed to overlap");
        return Verdict::new(name, Outcome::Inconclusive, why);
    }
    let by = if holders == 1 { "1 process".into() } else { format!("{holders} processes") };
    Verdict::new(name, Outcome::Held, format!("{grants} to {by}, and no hold forbade another"))
}

/// The overlaps of a kind, by cause. Of each cause the clearest is reported: the one that lasted
/// longest.
fn anomalies(case: &Case<'_>, overlap: Overlap) -> Vec<Anomaly> {
    let name = match overlap {
        Overlap::DoubleHold => "double hold",
        Overlap::ReaderWriter => "reader-writer overlap",
    };
    let claims = &case.claims.claims;
    let occurrence = |conflict: &Conflict| {
        let (first, second) = (&claims[conflict.first], &claims[conflict.second]);
        let holders = causes::overlapping(case, (first, second), conflict.at);
        let ends = holders.iter().filter_map(|claim| claim.end).map(|end| end.at);
        let until = case.time(ends.min().unwrap_or(u64::MAX));
        let grants = last(&holders, WITNESSES).iter().filter_map(|claim| claim.granted());
        Occurrence {
            cause: causes::of_overlap(case, first, second, conflict.at),
            clarity: until.saturating_sub(case.time(conflict.at)),
            witness: grants.chain([conflict.at]).collect(),
        }
    };
    let seen = case.conflicts.iter().filter(|conflict| conflict.overlap == overlap);
    by_cause(case, name, "", seen.map(occurrence))
}

/// The most holders of a semaphore that witness a double hold.
const WITNESSES: usize = 16;

/// Returns the latest of some holders.
fn last<'a, 'b>(holders: &'b [&'a Claim], most: usize) -> &'b [&'a Claim] {
    &holders[holders.len().saturating_sub(most)..]
}

/// Tells of the grants of a semaphore of which an event was one too many, the faults that brought
/// them together, and what ended the first of these holds.
fn tell_permits(story: &mut Story<'_>, case: &Case<'_>, at: u64) {
    let Some(late) = case.claims.granted_at(at) else { return };
    let all = case.holders(late.key, at);
    let holders = last(&all, WITNESSES);
    let ends = || holders.iter().filter_map(|claim| Some((claim.end?, claim)));
    let until = ends().map(|(end, _)| end.at).min().unwrap_or(u64::MAX);
    let mut hit = false;
    for claim in holders {
        story.grant(claim);
        hit |= story.client_faults(claim, claim.invoke..at, until);
    }
    if let (true, Some(first)) = (story.concerns_servers(hit), holders.first()) {
        story.server_faults(first.invoke..at, at);
    }
    if let Some((end, claim)) = ends().min_by_key(|(end, _)| end.at) {
        story.end(claim, end);
    }
    let held = all.iter().map(|claim| u64::from(claim.permits)).sum();
    let of = case.run.info.lock.promises.permits;
    story.remark(format!("{} were held at once, of {of}", phrases::several(held)));
}

/// Tells of both grants, the faults that brought them together, and what ended the first hold.
fn tell_overlap(story: &mut Story<'_>, first: &Claim, second: &Claim, at: u64) {
    story.grant(first);
    story.grant(second);
    if second.granted() != Some(at) {
        let begins = story.kind(at) == Some(Kind::Invoke);
        let did = if begins { "began to downgrade its hold" } else { "upgraded its hold" };
        story.tell(at, process(second), did, "");
    }
    // A grant whose news came late (its client was paused or cut off while it asked) is the
    // second one, so the faults of both are of interest.
    let overlap = at;
    let until = first.end.map_or(u64::MAX, |end| end.at);
    let first_hit = story.client_faults(first, first.invoke..overlap, until);
    let second_hit = story.client_faults(second, second.invoke..overlap, overlap);
    if story.concerns_servers(first_hit || second_hit) {
        story.server_faults(first.invoke..overlap, overlap);
    }
    match first.end {
        Some(end) => story.end(first, end),
        None => story.remark(format!("{} never released", process(first))),
    }
}

/// Tells what somebody else did by which one of the two lost the lock at a time, before they met at
/// an event: it freed it, or took it for its own.
fn tell_taker(story: &mut Story<'_>, case: &Case<'_>, taker: &Claim, (took_ns, at): (u64, u64)) {
    let freeing = taker.freeing.filter(|begun| case.time(*begun) <= took_ns);
    match (freeing, taker.granted().filter(|ok| *ok < at)) {
        (Some(begun), _) => story.tell(
            begun,
            process(taker),
            phrases::clause(F::Release, Kind::Invoke),
            " (it removed the lock of another)",
        ),
        (None, Some(_)) => story.grant(taker),
        (None, None) => {
            let asked = phrases::clause(F::Acquire, Kind::Invoke);
            story.tell(taker.invoke, process(taker), asked, " (and removed the lock of another)");
        }
    }
    story.client_faults(taker, taker.invoke..at, at);
}

#[cfg(test)]
mod tests;
