//! `foreign-release`: did a release free what was somebody else's by then?
//!
//! **Decides** from the store's reply to a release, which states what was removed. `nothing` and
//! `own` free nobody else. Where the store removed whatever stood there (`any`: a bare `DEL`, a
//! mark that others have too), the release was foreign if another process had been given the lock
//! *later*, in a mode that excludes the first grant, and had its answer before the release began.
//! So it was if its process had never been granted the lock, and another held it all the while. The
//! anomaly is `foreign release`. Where there is a [ledger](base::Ledger) of the store, it shows the
//! same exactly: a release deleted what another had been granted the lock with.
//!
//! **Which grant is later.** The news of a grant may come late (its client was paused or cut off),
//! so the order of two `ok` proves nothing. A grant is certainly later when the request that took
//! it was sent after the other's `ok`: when its acquire began after it, or the recipe says so
//! (`asked`). Whatever is not certain is no anomaly.
//!
//! **Limits.** Without a ledger only a release that was answered counts. What one of unknown
//! outcome removed, or one that was on its way when another was granted the lock, is seen by what
//! it leads to (`exclusion`), not here. Where a primary may have been replaced, nobody knows which
//! of two a release went to, so that it is passed over. Inconclusive when no release says what it
//! removed.
//!
//! **Source.** Redis' documentation of `SET`, "the lock could be deleted by another client": the
//! reason for a unique value and a compare-and-delete.

use crate::causes::{self, Occurrence, by_cause};
use crate::words::count;
use crate::{Case, Checker};
use base::{Cause, Kind, Outcome, Removed, Verdict};
use histories::holds::{Claim, StrayRelease};

#[cfg(test)]
mod tests;

/// The foreign release checker.
pub struct ForeignRelease;

impl Checker for ForeignRelease {
    fn name(&self) -> &'static str {
        "foreign-release"
    }

    fn summary(&self) -> &'static str {
        "a release frees nobody's hold but its own"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        // Which worker of a client removed something is no more than inferred.
        if let Some(ownership) = case.ownership().filter(|_| case.run.info.workers == 1) {
            return verdict(case, count_released(case), causes::foreign_releases(case, ownership));
        }
        if case.run.info.lock.promises.permits > 1 {
            let why = "nothing tells the permits of a semaphore apart";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        }
        let known = case.claims.grants().filter(|claim| removed(claim).is_some()).count();
        let known = (known + strays(case).count()) as u64;
        if known == 0 {
            let why = "no release says what it removed";
            return Verdict::new(self.name(), Outcome::Inconclusive, why);
        }
        let mut foreign = Vec::new();
        for key in 0..case.claims.keys.len() {
            let mut grants = case.granted(key).map(|(_, claim)| claim);
            while let Some(claim) = grants.next() {
                if removed(claim) == Some(Removed::Any) {
                    foreign.extend(overtaken(case, claim, grants.clone()));
                }
            }
        }
        foreign.extend(strays(case).filter_map(|(stray, at)| robs(case, stray, at)));
        foreign.sort_unstable_by(|a, b| a.witness.cmp(&b.witness));
        verdict(case, known, foreign)
    }
}

/// Returns what a claim's release removed, by the store's reply to it.
fn removed(claim: &Claim) -> Option<Removed> {
    let (_, kind) = claim.freed?;
    claim.removed.filter(|_| kind == Kind::Ok)
}

/// The releases by processes without a grant of which a reply states what they removed, each with
/// the event of that reply.
fn strays<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (&'a StrayRelease, u64)> {
    let answered = |stray: &'a StrayRelease| {
        let (at, kind) = stray.freed?;
        stray.removed.filter(|_| kind == Kind::Ok).map(|_| (stray, at))
    };
    case.claims.strays.iter().filter_map(answered)
}

/// The grant that a release by a process without one removed: its client held the lock from before
/// the release until after its answer, and it had not run out by then.
fn robs(case: &Case<'_>, stray: &StrayRelease, at: u64) -> Option<Occurrence> {
    if stray.removed != Some(Removed::Any) {
        return None;
    }
    let stands = |claim: &&Claim| {
        let hold = claim.definite().unwrap_or(0..0);
        let ends = claim.granted().and_then(|ok| case.facts(ok)?.expires_ns);
        hold.start < stray.invoke
            && at < hold.end
            && ends.is_none_or(|ends_ns| case.time(at) < ends_ns)
    };
    let mut held = case.granted(stray.key).map(|(_, claim)| claim).filter(stands);
    let granted = held.next()?.granted()?;
    Some(Occurrence::new(Cause::Recipe, [granted, stray.invoke, at]))
}

fn count_released(case: &Case<'_>) -> u64 {
    let released = |claim: &&Claim| claim.freed.is_some_and(|(_, kind)| kind == Kind::Ok);
    case.claims.grants().filter(released).count() as u64
}

fn verdict(case: &Case<'_>, released: u64, foreign: Vec<Occurrence>) -> Verdict {
    let name = ForeignRelease.name();
    let releases = count(released, "release");
    if !foreign.is_empty() {
        let reason = "the release deleted the lock of another process";
        let summary = format!("{} of {releases} freed the lock of another process", foreign.len());
        let anomalies = by_cause(case, "foreign release", reason, foreign);
        return Verdict { anomalies, ..Verdict::new(name, Outcome::Violated, summary) };
    }
    if released == 0 {
        return Verdict::new(name, Outcome::Inconclusive, "nothing was released");
    }
    Verdict::new(
        name,
        Outcome::Held,
        format!("{releases}, and none freed the lock of another process"),
    )
}

/// The grant, the later one to another and the release, if there was a later one.
fn overtaken<'a>(
    case: &Case<'_>,
    claim: &Claim,
    after: impl Iterator<Item = &'a Claim>,
) -> Option<Occurrence> {
    let freeing = claim.freeing?;
    let mut before_release = after.take_while(|other| other.granted() < Some(freeing));
    let later = before_release.find(|other| is_later(case, claim, other))?;
    occurrence(case, claim, later)
}

/// Returns true if another's grant, which excludes the first one, is certainly later.
fn is_later(case: &Case<'_>, claim: &Claim, other: &Claim) -> bool {
    let Some(ok) = claim.granted() else { return false };
    let asked = other.granted().and_then(|at| case.facts(at)?.asked_ns);
    let certain = other.invoke > ok || asked.is_some_and(|asked| asked > case.time(ok));
    other.process != claim.process && claim.mode.excludes(other.mode) && certain
}

fn occurrence(case: &Case<'_>, claim: &Claim, robbed: &Claim) -> Option<Occurrence> {
    let (freed, _) = claim.freed?;
    let cause = causes::of_loss(case, claim, freed);
    // A primary that was replaced may have served the release, and the new one the other's grant.
    if cause.contains(Cause::ServerForgets) && case.run.info.failover_ns > 0 {
        return None;
    }
    Some(Occurrence::new(cause, [claim.granted()?, robbed.granted()?, freed]))
}
