//! The causes of a run without a ledger: what the recipe knows of its grants, and the faults.

use super::is_queued;
use super::loss::{self, Lost};
use super::span::{Trouble, had};
use crate::Case;
use crate::bypass::excludes;
use crate::holds::{Claim, Ending};
use base::{Cause, Change, Kind, Removed};

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
    let granted = |claim: &Claim| claim.granted().map_or(0, |ok| case.time(ok));
    let (first_ns, second_ns) = (granted(first), granted(second));
    // The news of the second grant may have come late: then it is that one that has run out.
    lost(case, first, until_ns)
        .or_else(|| lost(case, second, until_ns))
        .or_else(|| freed_by_another(case, first, first_ns.min(second_ns)..until_ns))
        .or_else(|| {
            let faults = !case.outages.iter().all(crate::faults::Outage::had_none);
            (!faults).then_some(Cause::Recipe)
        })
}

/// The cause for which a client no longer had the lock at a time.
pub(super) fn of_loss(case: &Case<'_>, claim: &Claim, until_ns: u64) -> Option<Cause> {
    let expires = claim.granted().and_then(|ok| case.facts(ok)?.expires);
    let begun = claim.end.map(|end| case.time(end.at));
    if expires.zip(begun).is_some_and(|(expires, begun)| (begun..until_ns).contains(&expires)) {
        return Some(Cause::RanOutWhileReleasing);
    }
    lost(case, claim, until_ns).or_else(|| {
        let faults = !case.outages.iter().all(crate::faults::Outage::had_none);
        (!faults).then_some(Cause::Recipe)
    })
}

/// Why a claim had most likely lost what it took by a time.
fn lost(case: &Case<'_>, claim: &Claim, until_ns: u64) -> Option<Cause> {
    let ok = claim.granted()?;
    let granted_ns = case.time(ok);
    if had(case, Trouble::Wiped, claim.process, granted_ns..until_ns) {
        return Some(Cause::ServerForgets);
    }
    let facts = case.facts(ok);
    if let Some(expires) = facts.and_then(|facts| facts.expires) {
        let made_ns = facts.and_then(|facts| facts.asked).unwrap_or(granted_ns);
        let lost = Lost { at_ns: expires, made_ns, server: 0, how: Change::Expired, spoilt: None };
        return (expires <= until_ns).then(|| loss::why_expired(case, claim, &lost, until_ns));
    }
    loss::why_session_ended(case, claim, until_ns, until_ns)
}

/// Another's release in this time that removed whatever stood there.
fn freed_by_another(case: &Case<'_>, owner: &Claim, during: std::ops::Range<u64>) -> Option<Cause> {
    let frees = |claim: &&Claim| {
        let Some((at, kind)) = claim.freed else { return false };
        let released = claim.end.is_some_and(|end| end.how == Ending::Released);
        let blind = case.facts(at).and_then(|facts| facts.removed) == Some(Removed::Any);
        let doubt = kind != Kind::Ok;
        released
            && (blind || doubt)
            && claim.process != owner.process
            && claim.key == owner.key
            && excludes(claim.mode, owner.mode)
            && during.contains(&case.time(at))
    };
    case.claims.grants().find(frees).map(|claim| match claim.freed {
        Some((_, Kind::Ok)) => Cause::ForeignRelease,
        _ => Cause::LateRequest,
    })
}
