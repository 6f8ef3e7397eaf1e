//! Clients that wait for ever, and those that hold the lock without knowing it.

use crate::Case;
use crate::bypass::Bypass;
use crate::causes::{self, Occurrence, by_cause};
use base::{Anomaly, Cause, Causes};
use histories::holds::{AcquireAnswer, Claim};

/// An acquire that slept on and should have been woken.
#[derive(Debug)]
pub(super) struct Slept {
    /// The lock that it asked for, as an index into the claims' keys.
    pub(super) key: usize,
    pub(super) cause: Causes,
    pub(super) witness: Vec<u64>,
    pub(super) reason: String,
}

/// Acquires that slept while others came later and were served.
pub(super) fn slept(case: &Case<'_>) -> Vec<Slept> {
    if case.run.info.lock.promises.wakes.is_none() {
        return Vec::new();
    }
    let history = &case.run.history;
    let long = |bypass: &Bypass| {
        let claim = &case.claims.claims[bypass.claim];
        let until = history.get(claim.asking().end).map_or(history.end(), |event| event.time_ns);
        let since = history.get(bypass.first).map_or(until, |event| event.time_ns);
        until.saturating_sub(since) >= case.run.info.due_ns()
            && case.calm().spans(claim.invoke, claim.asking().end)
    };
    let lost =
        case.bypasses().long.iter().filter(|bypass| long(bypass) && !case.woken_since(bypass));
    lost.map(|bypass| overtaken(case, bypass)).collect()
}

fn overtaken(case: &Case<'_>, bypass: &Bypass) -> Slept {
    let claim = &case.claims.claims[bypass.claim];
    let answer = Some(claim.asking().end).filter(|at| case.run.history.get(*at).is_some());
    let reason = format!(
        "process {} slept on while the lock was granted at least {} times to those who asked later",
        claim.process, bypass.count
    );
    let witness = [claim.invoke, bypass.first].into_iter().chain(answer).collect();
    Slept { key: claim.key, cause: Cause::Recipe.into(), witness, reason }
}

/// Returns the event at which a claim was refused while the lock stood in its client's name.
pub(super) fn is_phantom(case: &Case<'_>, claim: &Claim) -> Option<u64> {
    let AcquireAnswer::Failed(at) = claim.answer else { return None };
    let held = case.facts(at).and_then(|facts| facts.held);
    held.unwrap_or_else(|| causes::left_standing(case, claim, at)).then_some(at)
}

/// Acquires that were refused while the lock stood in their client's name.
pub(super) fn phantom_holders(case: &Case<'_>) -> Vec<Anomaly> {
    let phantom = |claim: &Claim| {
        let at = is_phantom(case, claim)?;
        Some(Occurrence::new(causes::of_phantom(case, claim), [claim.invoke, at]))
    };
    let reason = "and the store counts it as the holder all the same";
    let mut phantoms: Vec<Occurrence> = case.claims.claims.iter().filter_map(phantom).collect();
    // A recipe that does so without a fault does so under one as well.
    if phantoms.iter().any(|phantom| phantom.cause == Cause::Recipe.into()) {
        phantoms.iter_mut().for_each(|phantom| phantom.cause = Cause::Recipe.into());
    }
    by_cause(case, "phantom holder", reason, phantoms)
}
