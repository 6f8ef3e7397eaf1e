//! `reentrancy`: can a holder take the lock again, and does the inner release keep the outer hold?
//!
//! **Decides** for a lock that promises `reentrant`, from acquires of a process that already holds
//! the same lock. Anomalies:
//!
//! * `self-deadlock`: the inner acquire was not granted while its own process held the lock,
//!   though nobody else did and no fault was near.
//! * `inner release freed the lock`: after a release of the inner hold and before that of the
//!   outer one, another process was granted the lock in a mode that excludes the outer hold.
//!
//! **Limits.** Depth is not bounded. Without a nested acquire it is inconclusive; for a lock that
//! makes no such promise the property does not apply, and its holder may well wait for itself.
//!
//! **Source.** Curator's InterProcessMutex, whose owner counts.

use crate::bypass::nested;
use crate::causes::{by_recipe, of_overlap};
use crate::words::count;
use crate::{Case, Checker};
use base::{Anomaly, Cause, Outcome, Removed, Verdict};
use histories::holds::{AcquireAnswer, Claim, Ending};

#[cfg(test)]
mod tests;

/// The reentrancy checker.
pub struct Reentrancy;

impl Checker for Reentrancy {
    fn name(&self) -> &'static str {
        "reentrancy"
    }

    fn summary(&self) -> &'static str {
        "a holder may take the lock again, and gives it back once for each time"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        if !case.run.info.lock.promises.reentrant {
            let why = "the lock does not promise that its holder may take it again";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        }
        let nested = nested(&case.claims.claims);
        if nested.is_empty() {
            let why = "no process asked for what it held";
            return Verdict::new(self.name(), Outcome::Inconclusive, why);
        }
        let inner = count(nested.len() as u64, "nested acquire");
        let anomalies: Vec<Anomaly> =
            refused(case, &nested).into_iter().chain(freed(case, &nested)).collect();
        if anomalies.is_empty() {
            return Verdict::new(
                self.name(),
                Outcome::Held,
                format!("{inner}, all granted at once"),
            );
        }
        let wrong: u64 = anomalies.iter().map(|anomaly| anomaly.count).sum();
        let summary = format!("{wrong} of {inner} went wrong");
        Verdict { anomalies, ..Verdict::new(self.name(), Outcome::Violated, summary) }
    }
}

fn refused(case: &Case<'_>, nested: &[(&Claim, &Claim)]) -> Option<Anomaly> {
    let calm = case.calm();
    let stuck = |(outer, inner): &&(&Claim, &Claim)| {
        let answer = inner.asking().end;
        let while_held =
            outer.definite().is_some_and(|hold| hold.contains(&answer.min(hold.end - 1)));
        let unanswered = inner.granted().is_none() && had_time(case, inner);
        unanswered && while_held && calm.spans(outer.invoke, answer)
    };
    let (outer, inner) = nested.iter().find(stuck)?;
    let seen = nested.iter().filter(stuck).count() as u64;
    let answer = Some(inner.asking().end).filter(|at| case.run.history.get(*at).is_some());
    let witness = [outer.granted()?, inner.invoke].into_iter().chain(answer);
    Some(by_recipe("self-deadlock", seen, witness, "it waited for its own hold"))
}

/// Returns true if an acquire was refused, or waited for long enough to be granted a lock that is
/// free: one that was asked for at the very end of a run tells nothing.
fn had_time(case: &Case<'_>, claim: &Claim) -> bool {
    let waited = case.run.history.end().saturating_sub(case.time(claim.invoke));
    claim.answer != AcquireAnswer::Open || waited > case.run.info.pick_up_ns()
}

/// The inner release, and another's grant before the outer one was released.
fn freed(case: &Case<'_>, nested: &[(&Claim, &Claim)]) -> Option<Anomaly> {
    let grants: Vec<Vec<&Claim>> = (0..case.claims.keys.len())
        .map(|key| case.granted(key).map(|(_, claim)| claim).collect())
        .collect();
    let stolen = |(outer, inner): &(&Claim, &Claim)| {
        let from = inner.end.filter(|end| end.how == Ending::Released)?.at;
        let until = outer.definite()?.end;
        let grants = &grants[outer.key];
        let first = grants.partition_point(|other| other.granted() < Some(from));
        let mut between = grants[first..].iter().take_while(|other| other.granted() < Some(until));
        let other = between
            .find(|other| other.process != outer.process && other.mode.excludes(outer.mode))?;
        if inner.removed == Some(Removed::Kept) {
            return None;
        }
        // An outer hold that was lost for another reason was not freed by the inner release. Only a
        // ledger knows that for certain.
        let cause = of_overlap(case, outer, other, other.granted()?);
        let by_recipe =
            case.ownership().is_none() || cause.only().is_none_or(|cause| cause == Cause::Recipe);
        by_recipe.then_some([outer.granted()?, inner.granted()?, from, other.granted()?])
    };
    let found: Vec<[u64; 4]> = nested.iter().filter_map(stolen).collect();
    let reason = "the outer hold had not been released";
    Some(by_recipe("inner release freed the lock", found.len() as u64, *found.first()?, reason))
}
