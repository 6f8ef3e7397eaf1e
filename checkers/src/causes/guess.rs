//! The causes of a run without a ledger: what the recipe knows of its grants, and the faults.

use super::loss::{self, Lost};
use super::recovery::{is_timed_by_clients, recovered, recovered_by_others, taken_by_wrong_clock};
use super::releases::{freed_by_another, freed_by_another_client, is_kept, releaser};
use super::span::{Trouble, clock_off, had};
use super::{is_queued, nested};
use crate::Case;
use crate::faults::FaultSpan;
use base::{Cause, Change};
use histories::holds::Claim;
use histories::sweep::{Conflict, HoldChange};
use std::collections::BTreeMap;

/// The cause for which two claims were held at once at a time.
pub(super) fn of_overlap(
    case: &Case<'_>,
    first: &Claim,
    second: &Claim,
    until_ns: u64,
) -> Option<Cause> {
    if !is_queued(case, first) || !is_queued(case, second) {
        return Some(Cause::NothingTaken);
    }
    if is_kept(case, first) && is_kept(case, second) {
        return Some(Cause::Recipe);
    }
    // The news of the second grant may have come late: then it is that one that has run out.
    let lost = lost(case, first, until_ns).or_else(|| lost(case, second, until_ns));
    // Places in a queue are each one's own: no release removes another's, and who still has his was let
    // in by the recipe.
    if case.run.info.promises.fifo {
        return lost.or(Some(Cause::Recipe));
    }
    let recovered = recovered(case, first, second);
    lost.or(recovered.filter(|cause| *cause == Cause::ClientClock))
        .or_else(|| freed_by_another(case, first, since_either(case, first, second)..until_ns))
        .or(recovered)
        .or_else(|| recovered_by_others(case, first, until_ns))
        .or_else(|| {
            let by_server = !is_timed_by_clients(case, first.key)
                && missed_a_renewal(case, first, until_ns, Trouble::ServerClock);
            by_server.then_some(Cause::ServerClock)
        })
        .or_else(|| without_faults(case))
        .or_else(|| {
            let freed = |it| freed_by_another(case, it, asked_ns(case, it)..until_ns);
            [first, second].into_iter().find_map(freed)
        })
}

/// Returns the cause of whatever goes wrong in a run in which no fault had an effect.
fn without_faults(case: &Case<'_>) -> Option<Cause> {
    case.fault_spans.iter().all(FaultSpan::had_none).then_some(Cause::Recipe)
}

/// Returns the earliest time at which the first request of the try that was granted may have been sent, if no
/// fault held it up. From there on a release may have reached the server after it; but most of those have
/// made room for this very grant.
fn asked_ns(case: &Case<'_>, claim: &Claim) -> u64 {
    let Some(ok) = claim.granted() else { return u64::MAX };
    let asked_ns = case.facts(ok).and_then(|facts| facts.asked_ns).unwrap_or(case.time(ok));
    asked_ns.min(case.time(ok).saturating_sub(try_ns(case))).max(case.time(claim.invoke))
}

/// Returns the longest time that a try takes while no fault holds it up, in nanoseconds.
fn try_ns(case: &Case<'_>) -> u64 {
    let info = &case.run.info;
    info.slowest_message_ns.saturating_mul(2 * u64::from(info.promises.pace.round_trips))
}

/// Returns the time of the earlier of two grants.
fn since_either(case: &Case<'_>, first: &Claim, second: &Claim) -> u64 {
    let granted = [first, second].into_iter().filter_map(Claim::granted);
    granted.min().map_or(0, |ok| case.time(ok))
}

/// The cause for which a client no longer had the lock at a time.
pub(super) fn of_loss(case: &Case<'_>, claim: &Claim, until_ns: u64) -> Option<Cause> {
    if !is_queued(case, claim) {
        return Some(Cause::NothingTaken);
    }
    let begun_ns = claim.end.map_or(u64::MAX, |end| case.time(end.at));
    if let Some(lost) = expired(case, claim)
        && (begun_ns..until_ns).contains(&lost.at_ns)
    {
        return Some(loss::why_released_late(case, claim, &lost, until_ns));
    }
    let granted_ns = claim.granted().map_or(until_ns, |ok| case.time(ok));
    lost(case, claim, until_ns)
        .or_else(|| taken_by_wrong_clock(case, claim, granted_ns..until_ns))
        .or_else(|| freed_by_another(case, claim, granted_ns..until_ns))
        .or_else(|| recovered_by_others(case, claim, until_ns))
        .or_else(|| without_faults(case))
        .or_else(|| freed_by_another(case, claim, asked_ns(case, claim)..until_ns))
}

/// Returns the most likely reason why a claim had lost what it took by a time.
pub(super) fn lost(case: &Case<'_>, claim: &Claim, until_ns: u64) -> Option<Cause> {
    let ok = claim.granted()?;
    if is_kept(case, claim) {
        return None;
    }
    let granted_ns = case.time(ok);
    // A primary that was replaced serves on for a while after the fault.
    let since_ns = granted_ns.saturating_sub(case.run.info.failover_ns.saturating_mul(2));
    if had(case, Trouble::Wiped, claim.process, since_ns..until_ns) {
        return Some(Cause::ServerForgets);
    }
    if had(case, Trouble::Evicted, claim.process, granted_ns..until_ns) {
        return Some(Cause::Evicted);
    }
    match expired(case, claim) {
        Some(lost) if lost.at_ns > until_ns => {
            ran_fast(case, claim, &lost, until_ns).then_some(Cause::ServerClock)
        }
        Some(lost) => Some(loss::why_expired(case, claim, &lost, until_ns)),
        // What nothing ends of itself has no session either.
        None => {
            case.run.info.promises.recovers?;
            match case.run.info.ensemble {
                Some(_) if !may_have_ended(case, claim, until_ns) => None,
                Some(_) => loss::why_session_ended(case, claim, until_ns, until_ns),
                None if is_timed_by_clients(case, claim.key) => {
                    loss::why_session_ended(case, claim, until_ns, until_ns)
                }
                None => loss::why_not_renewed(case, claim, until_ns, until_ns),
            }
        }
    }
}

/// Returns true if the session of a claim may have ended by a time: the servers had heard of its client when
/// it asked, and give it a whole session from then on.
fn may_have_ended(case: &Case<'_>, claim: &Claim, until_ns: u64) -> bool {
    let heard_ns = last_answer(case, claim, until_ns).map_or(0, |at| case.time(at));
    let asked_ns = heard_ns.saturating_sub(try_ns(case)).max(asked_ns(case, claim));
    let trying = asked_ns..case.time(claim.asking().end).max(heard_ns);
    let had = |trouble, during| had(case, trouble, claim.process, during);
    let held_up = had(Trouble::Paused, trying.clone()) || had(Trouble::CutOff, trying);
    let heard_ns = if held_up { case.time(claim.invoke) } else { asked_ns };
    until_ns >= heard_ns.saturating_add(case.run.info.ttl_ns)
        || had(Trouble::ServerClock, heard_ns..until_ns)
}

/// Returns the last event before a time at which a claim's client heard that it got the lock, or that its mode
/// was changed.
fn last_answer(case: &Case<'_>, claim: &Claim, until_ns: u64) -> Option<u64> {
    let (changes, claims) = (&case.claims.changes, &case.claims.claims);
    let since = changes.partition_point(|change| Some(change.at) < claim.granted());
    let before = changes[since..].iter().take_while(|change| case.time(change.at) < until_ns);
    let ours = |change: &&HoldChange| claims[change.hold as usize].invoke == claim.invoke;
    before.filter(ours).filter(|change| change.to.is_some()).map(|change| change.at).last()
}

/// Returns true if something but its own client may have taken from a claim what it took, by a time.
pub(super) fn may_be_lost(case: &Case<'_>, claim: &Claim, at_ns: u64) -> bool {
    let since_ns = claim.granted().map_or(at_ns, |ok| case.time(ok));
    // All that a client of an ensemble has lives and ends with its one session.
    if case.run.info.ensemble.is_some() {
        return had(case, Trouble::Wiped, claim.process, since_ns..at_ns);
    }
    let clocks = [Trouble::ServerClock, Trouble::ClientClock];
    lost(case, claim, at_ns).is_some()
        || freed_by_another_client(case, claim, at_ns)
        || clocks.into_iter().any(|clock| missed_a_renewal(case, claim, at_ns, clock))
}

/// Returns true if a lock that lives on as long as its client renews it may have run out by a time, because
/// of this clock.
fn missed_a_renewal(case: &Case<'_>, claim: &Claim, at_ns: u64, clock: Trouble) -> bool {
    let Some(ok) = claim.granted() else { return false };
    let lives_on = case.facts(ok).is_none_or(|facts| facts.expires_ns.is_none());
    // It may have missed the renewal before the grant was heard of.
    let since_ns = case.time(ok).saturating_sub(case.run.info.ttl_ns);
    lives_on
        && case.run.info.promises.recovers.is_some()
        && had(case, clock, claim.process, since_ns..at_ns)
}

/// Returns true if a server's clock was off by so much that it may have ended a claim by a time, of
/// which its recipe believes that it had some time left.
fn ran_fast(case: &Case<'_>, claim: &Claim, lost: &Lost, until_ns: u64) -> bool {
    let left_ns = lost.at_ns.saturating_sub(until_ns);
    let off = clock_off(case, Trouble::ServerClock, claim.process, lost.made_ns..until_ns);
    off.is_some_and(|off| off >= left_ns) && !is_timed_by_clients(case, claim.key)
}

/// The loss of a claim by time, as its recipe knows it.
fn expired(case: &Case<'_>, claim: &Claim) -> Option<Lost> {
    let ok = claim.granted()?;
    let facts = case.facts(ok)?;
    let made_ns = facts.asked_ns.unwrap_or(case.time(ok));
    let how = Change::Expired;
    Some(Lost { at_ns: facts.expires_ns?, made_ns, how, spoilt: None, spare: true })
}

/// Returns the claims whose release made room for a second holder, each with the claim that it freed.
pub(crate) fn releases_behind_overlaps<'a>(case: &'a Case<'_>) -> Vec<(&'a Claim, &'a Claim)> {
    let claims = &case.claims.claims;
    let release = |conflict: &Conflict| {
        let ids = [conflict.first, conflict.second];
        let [first, second] = ids.map(|id| nested::taken_by(case, &claims[id]));
        let until_ns = case.time(conflict.at);
        // Whose grant was heard of later may have been granted it first.
        let owners = [
            (first, since_either(case, first, second)),
            (first, asked_ns(case, first)),
            (second, asked_ns(case, second)),
        ];
        let freed = |(owner, since_ns)| Some((releaser(case, owner, since_ns..until_ns)?, owner));
        let (by, robbed) = owners.into_iter().find_map(freed)?;
        let cause = of_overlap(case, first, second, until_ns)?;
        (cause == Cause::ForeignRelease).then_some(((by.invoke, robbed.invoke), (by, robbed)))
    };
    // One release may have brought several holders together.
    let found: BTreeMap<_, _> = case.conflicts.iter().filter_map(release).collect();
    found.into_values().collect()
}
