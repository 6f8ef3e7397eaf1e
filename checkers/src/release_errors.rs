//! `release-errors`: does a client that holds the lock succeed in freeing it?
//!
//! **Decides** over the releases that had no reason to fail: the client still held the lock (no
//! `lost`, and it had not run out by the time that its recipe states), no fault was near, nobody
//! else had been granted the lock meanwhile, and nobody else's release was under way that removes
//! whatever stands there, nor had removed it by the ledger (that is a `foreign release`, and
//! another checker's). Anomalies are `failed release` (it was answered `fail`) and `release freed
//! nothing` (the store replied that it removed nothing, or by the ledger what its client had taken
//! ran out later, and only then was somebody granted the lock who waited). Under a fault, too, a
//! release that was answered `fail` is a `denied release` if it removed, by the ledger, what its
//! client had taken.
//!
//! **Limits.** A failed release of a lock that the client no longer had is right, and so is one
//! under a fault; both stand in the summary. Inconclusive when no release was without such a
//! reason.
//!
//! **Source.** A release script that does not compile, a deletion of another key than the one
//! that was set: the lock is then freed by its ttl alone, and nothing else shows it.

use crate::causes::{self, Occurrence, by_cause};
use crate::words::count;
use crate::{Case, Checker};
use base::{Cause, Kind, Outcome, Removed, Verdict};
use histories::holds::{Claim, Ending};
use std::cell::LazyCell;

#[cfg(test)]
mod tests;

/// The release errors checker.
pub struct ReleaseErrors;

impl Checker for ReleaseErrors {
    fn name(&self) -> &'static str {
        "release-errors"
    }

    fn summary(&self) -> &'static str {
        "a client that holds the lock can free it"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        let loose = LazyCell::new(|| BlindReleases::of(case));
        let (mut sound, mut failed, mut idle, mut excused) = (0, Vec::new(), Vec::new(), 0);
        let mut denied = Vec::new();
        // Which worker of a client removed something is no more than inferred.
        let is_known = case.run.info.workers == 1;
        for (claim, overtaken) in with_overtaken(case) {
            let (Some(ok), Some((at, kind))) = (claim.granted(), claim.freed) else { continue };
            let nothing = match claim.removed {
                Some(removed) => removed == Removed::Nothing,
                None => kind == Kind::Ok && causes::is_left_to_run_out(case, claim, at),
            };
            // Asked of the few that failed only.
            let held = || {
                !overtaken
                    && alive(case, claim, at)
                    && case.calm().spans(claim.invoke, at)
                    && !loose.meets(claim.key, begun(case, ok), time(case, at))
            };
            if kind == Kind::Fail
                && let Some(cause) = causes::of_denied_release(case, claim, at)
            {
                denied.push(Occurrence::new(cause, [ok, at]));
                continue;
            }
            match kind {
                Kind::Info | Kind::Invoke => {}
                Kind::Ok if !nothing => sound += 1,
                _ if !held() => excused += 1,
                Kind::Fail | Kind::Ok => {
                    // What nothing had happened to by then was not lost.
                    let cause = match kind == Kind::Ok && claim.removed.is_none() {
                        true => Cause::Recipe.into(),
                        false => causes::of_loss(case, claim, at),
                    };
                    let occurrence = Occurrence::new(cause, [ok, at]);
                    match kind {
                        // The lock may have been given and taken before the client heard of either.
                        _ if is_known && occurrence.cause == Cause::ForeignRelease.into() => {
                            excused += 1;
                        }
                        Kind::Fail => failed.push(occurrence),
                        _ => idle.push(occurrence),
                    }
                }
            }
        }
        let reason = "its hold had not run out, no fault was near and nobody else had the lock";
        let wrong = (failed.len() + idle.len() + denied.len()) as u64;
        let mut anomalies = by_cause(case, "failed release", reason, failed);
        anomalies.extend(by_cause(case, "release freed nothing", reason, idle));
        let reason = "it had removed what its client had taken";
        anomalies.extend(by_cause(case, "denied release", reason, denied));
        let excuse = match excused {
            0 => String::new(),
            n => format!("; {n} failed with a reason"),
        };
        if wrong > 0 {
            let all = count(wrong + sound, "release");
            let summary = format!("{wrong} of {all} failed without a reason{excuse}");
            return Verdict { anomalies, ..Verdict::new(self.name(), Outcome::Violated, summary) };
        }
        if sound == 0 {
            let why = format!("no release that had to succeed{excuse}");
            return Verdict::new(self.name(), Outcome::Inconclusive, why);
        }
        let summary = format!("{} succeeded{excuse}", count(sound, "release"));
        Verdict::new(self.name(), Outcome::Held, summary)
    }
}

/// The releases of each key that may remove what is not their client's: nobody looks whose it is,
/// or nobody knows what became of them. The times of begin and answer, by the begin; the answer is
/// the latest so far.
struct BlindReleases(Vec<Vec<(u64, u64)>>);

impl BlindReleases {
    fn of(case: &Case<'_>) -> Self {
        let mut keys = vec![Vec::new(); case.claims.keys.len()];
        for claim in &case.claims.claims {
            let (Some(begin), Some((at, kind))) = (claim.freeing, claim.freed) else { continue };
            let unknown = matches!(kind, Kind::Info | Kind::Invoke);
            if unknown || (kind == Kind::Ok && claim.removed == Some(Removed::Any)) {
                keys[claim.key].push((time(case, begin), time(case, at)));
            }
        }
        for releases in &mut keys {
            releases.sort_unstable();
            let mut latest = 0;
            for (_, answer) in releases {
                latest = latest.max(*answer);
                *answer = latest;
            }
        }
        Self(keys)
    }

    /// Returns true if one of them was under way at some time between these.
    fn meets(&self, key: usize, from: u64, to: u64) -> bool {
        let begun = self.0[key].partition_point(|(begin, _)| *begin < to);
        begun.checked_sub(1).is_some_and(|last| self.0[key][last].1 > from)
    }
}

/// The earliest time at which the store may have given the lock: when the request that was granted
/// was sent, if the recipe says so.
fn begun(case: &Case<'_>, ok: u64) -> u64 {
    case.facts(ok).and_then(|facts| facts.asked_ns).unwrap_or_else(|| time(case, ok))
}

fn time(case: &Case<'_>, at: u64) -> u64 {
    case.run.history.get(at).map_or(u64::MAX, |event| event.time_ns)
}

/// Returns true if the client could still count on its hold when its release was answered.
fn alive(case: &Case<'_>, claim: &Claim, answered: u64) -> bool {
    let released = claim.end.is_some_and(|end| end.how == Ending::Released);
    let expires = claim.granted().and_then(|ok| case.facts(ok)?.expires_ns);
    released && expires.is_none_or(|expires| time(case, answered) < expires)
}

/// Every claim, and whether its hold is part of an overlap: then the lock may have been taken from
/// it, and its release has a reason to fail.
fn with_overtaken<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (&'a Claim, bool)> {
    let mut overtaken = vec![false; case.claims.claims.len()];
    for conflict in &case.conflicts {
        overtaken[conflict.first] = true;
        overtaken[conflict.second] = true;
    }
    case.claims.claims.iter().zip(overtaken)
}
