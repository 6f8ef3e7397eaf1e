//! Locks that clients take from others by the time that stands in them, for runs without a ledger.

use super::span::{Trouble, clock_off};
use crate::Case;
use crate::faults::FaultSpan;
use base::{Cause, Family};
use histories::holds::{Claim, Ending};
use std::ops::Range;

/// Returns the cause for which the second of two claims took the first for one that had run out: the clock
/// by which either of them told the time, or the recipe.
pub(super) fn recovered(case: &Case<'_>, first: &Claim, second: &Claim) -> Option<Cause> {
    if !has_recovered(case, second) {
        return None;
    }
    Some(match went_by_wrong_clock(case, first) || went_by_wrong_clock(case, second) {
        true => Cause::ClientClock,
        false => Cause::Recovery,
    })
}

/// Returns the cause for which a claim was lost to a second recoverer: a client that saw the same abandoned
/// lock as the first one, and removed what stood there by then. It need not have got the lock itself.
pub(super) fn recovered_by_others(case: &Case<'_>, owner: &Claim, until_ns: u64) -> Option<Cause> {
    let during = case.time(owner.invoke)..until_ns;
    let claims = case.claims.claims.iter();
    let mut recoverers = claims.filter(|it| it.key == owner.key && has_recovered(case, it));
    let is_near = |it: &&Claim| meets(case, it, &during);
    match recoverers.clone().find(is_near) {
        Some(recoverer) => recovered(case, owner, recoverer),
        // Nobody but a recoverer can have made room for the next.
        None => {
            recoverers.next()?;
            let by_wrong_clock = || asks_by_wrong_clock(case, owner.key, during.clone());
            if went_by_wrong_clock(case, owner) || by_wrong_clock() {
                Some(Cause::ClientClock)
            } else {
                follows_a_death(case, owner).then_some(Cause::Recovery)
            }
        }
    }
}

/// Returns true if a client asked for a lock in a span of time and went by a wrong clock: it may have
/// taken the lock for one that had run out, and made room for another.
fn asks_by_wrong_clock(case: &Case<'_>, key: usize, during: Range<u64>) -> bool {
    let mut asked = case.asked(key).map(|(_, claim)| claim);
    asked.any(|it| meets(case, it, &during) && went_by_wrong_clock(case, it))
}

/// Returns true if a claim was asked for in a span of time.
fn meets(case: &Case<'_>, claim: &Claim, during: &Range<u64>) -> bool {
    let asking = claim.asking();
    case.time(asking.start) < during.end && case.time(asking.end) >= during.start
}

/// Returns true if the last holder before a claim died with the lock.
fn follows_a_death(case: &Case<'_>, claim: &Claim) -> bool {
    let earlier = case.claims.claims.iter().filter(|it| it.key == claim.key);
    let earlier = earlier.filter(|it| it.granted().is_some() && it.granted() < claim.granted());
    let last = earlier.max_by_key(|it| it.granted());
    last.is_some_and(|it| it.end.is_some_and(|end| end.how == Ending::Death))
}

/// Returns true if a claim took the place of an older one, by its recipe.
fn has_recovered(case: &Case<'_>, claim: &Claim) -> bool {
    claim.granted().and_then(|ok| case.facts(ok)).is_some_and(|facts| facts.recovered)
}

/// Returns true if the clock of a client was wrong while it tried: it may have written a time that was past for
/// others, or taken theirs for past.
fn went_by_wrong_clock(case: &Case<'_>, claim: &Claim) -> bool {
    let tried = case.time(claim.invoke)..case.time(claim.asking().end);
    clock_off(case, Trouble::ClientClock, claim.process, tried).is_some()
}

/// Finds a client that was granted another's lock in a span of time and went by a wrong clock, unless the owner
/// did so itself.
pub(super) fn taken_by_wrong_clock(
    case: &Case<'_>,
    owner: &Claim,
    during: Range<u64>,
) -> Option<Cause> {
    let is_of_client =
        |span: &FaultSpan| span.fault.family() == Family::Clock && span.fault.is_of_clients();
    // Most runs have no such fault, and then nobody looks through all claims.
    if !case.fault_spans.iter().any(is_of_client) {
        return None;
    }
    let is_taker = |claim: &&Claim| {
        claim.key == owner.key
            && claim.process != owner.process
            && claim.granted().is_some_and(|ok| during.contains(&case.time(ok)))
            && has_recovered(case, claim)
    };
    let mut takers = case.claims.claims.iter().filter(is_taker);
    let wrong = went_by_wrong_clock(case, owner) || takers.any(|it| went_by_wrong_clock(case, it));
    wrong.then_some(Cause::ClientClock)
}

/// Returns true if it is clients who decide by their own clocks that a lock has run out, as those do that recover
/// it: the server's clock is no matter then.
pub(super) fn is_timed_by_clients(case: &Case<'_>, key: usize) -> bool {
    case.claims.claims.iter().any(|claim| claim.key == key && has_recovered(case, claim))
}
