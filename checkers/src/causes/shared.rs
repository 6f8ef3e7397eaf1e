//! One identity for two: a store that cannot tell the workers of a client apart, or the holds of a
//! worker, grants the lock to its owner again, and the first release frees it for both. So does an
//! acquire that is given up, and takes back what it finds under its own name.

use super::loss::{self, LeftInStore, Lost};
use super::ownership::Ownership;
use super::{Case, is_queued};
use crate::evidence::Evidence;
use base::{Cause, Change, HOLDS, Removed};
use histories::holds::Claim;
use std::collections::BTreeMap;

/// The claims that were held, or being freed, together with another one of the same client that
/// excludes them, though neither runs out by time: the store had no way to tell them apart.
#[derive(Debug, Default)]
pub(crate) struct SharedClaims {
    /// The event from which each of them was, by its `invoke`.
    claims: BTreeMap<u64, u64>,
}

impl SharedClaims {
    pub(crate) fn of(evidence: &Evidence<'_>, ownership: &Ownership) -> Self {
        let mut shared = Self::default();
        let mut granted: Vec<&Claim> =
            evidence.claims.claims.iter().filter(|claim| lives_on(evidence, claim)).collect();
        granted.sort_unstable_by_key(|claim| claim.granted());
        let mut owners: BTreeMap<(u32, usize), Vec<&Claim>> = BTreeMap::new();
        for claim in granted {
            owners.entry(owner(evidence, claim)).or_default().push(claim);
        }
        for claims in owners.values() {
            shared.note_those_let_in(evidence, ownership, claims);
        }
        for claim in evidence.claims.claims.iter().filter(|claim| claim.granted().is_none()) {
            let claims = owners.get(&owner(evidence, claim)).map_or(&[][..], Vec::as_slice);
            if let Some(owner) = taken_back(evidence, ownership, claims, claim) {
                shared.note(owner, claim.invoke);
            }
        }
        shared
    }

    /// Notes the claims of one client and key, by their grants, that were let in beside another of
    /// them.
    fn note_those_let_in(
        &mut self,
        evidence: &Evidence<'_>,
        ownership: &Ownership,
        claims: &[&Claim],
    ) {
        let mut live: Vec<&Claim> = Vec::new();
        for claim in claims {
            let Some(hold) = claim.definite() else { continue };
            live.retain(|other| stands_until(other).is_some_and(|until| until > hold.start));
            let rivals = |other: &&&Claim| is_rival(evidence, other, claim);
            let shares = |it: &&&Claim| is_let_in(evidence, ownership, it, claim, hold.start);
            for other in live.iter().filter(rivals).filter(shares) {
                self.note(other, hold.start);
                self.note(claim, hold.start);
            }
            live.push(claim);
        }
    }

    fn note(&mut self, claim: &Claim, since: u64) {
        self.claims.entry(claim.invoke).or_insert(since);
    }

    /// Returns true if a claim was held so before an event.
    pub(super) fn has(&self, claim: &Claim, before: u64) -> bool {
        self.claims.get(&claim.invoke).is_some_and(|since| *since <= before)
    }
}

/// The event up to which the store may still have what a claim took: the answer to its release.
/// Whoever is let in before that may lose the lock to it.
fn stands_until(claim: &Claim) -> Option<u64> {
    let freed = claim.freed.map(|(answer, _)| answer);
    freed.or_else(|| claim.definite().map(|hold| hold.end))
}

/// Returns true if a claim was granted for as long as its client lives.
fn lives_on(evidence: &Evidence<'_>, claim: &Claim) -> bool {
    let facts = claim.granted().map(|ok| evidence.facts(ok));
    facts.is_some_and(|facts| facts.is_none_or(|facts| facts.expires_ns.is_none()))
}

/// Returns true if nothing had taken the lock from its owner by the event at which it was granted
/// again, and the second grant put nothing of its own into the store. (One without a place in a
/// queue was given by nobody.)
fn is_let_in(
    evidence: &Evidence<'_>,
    ownership: &Ownership,
    owner: &Claim,
    again: &Claim,
    at: u64,
) -> bool {
    if !is_queued(evidence, again) || has_own_place(evidence, owner, again) {
        return false;
    }
    let at_ns = evidence.time(at);
    let loss = |claim| loss::of(evidence, ownership, claim, at_ns, None);
    matches!((loss(owner), loss(again)), (LeftInStore::Kept, LeftInStore::Never))
}

/// Returns the claim that lost what it had taken to another one of its client that was given up.
/// `granted` are those of the client, by their grants.
fn taken_back<'a>(
    evidence: &Evidence<'_>,
    ownership: &Ownership,
    granted: &[&'a Claim],
    given_up: &Claim,
) -> Option<&'a Claim> {
    let asking = given_up.asking();
    let before = granted.partition_point(|claim| claim.granted() < Some(asking.end));
    // No more of them can stand at once.
    let latest = granted[..before].iter().rev().take(HOLDS * evidence.run.info.workers as usize);
    let mut rivals = latest.filter(|claim| is_rival(evidence, claim, given_up));
    let robbed = rivals.find(|claim| {
        let Some(hold) = claim.definite() else { return false };
        let during = evidence.time(asking.start.max(hold.start))..evidence.time(hold.end);
        ownership.took_back(evidence, claim, during)
    });
    robbed.copied()
}

/// Returns true if the store cannot tell a claim from that of another worker which took what it
/// had: the release of the other compared a mark, for all that is known, and that was the same.
pub(super) fn is_twin(
    case: &Case<'_>,
    ownership: &Ownership,
    claim: &Claim,
    taker: &Claim,
) -> bool {
    let client = |claim: &Claim| case.run.info.client_of(claim.process);
    // A client that was started again has another process, and the same workers.
    let worker = |claim: &Claim| case.run.info.worker_of(claim.process);
    worker(taker) != worker(claim)
        && client(taker) == client(claim)
        && (taker.freeing.is_some() && taker.removed != Some(Removed::Any)
            || case.shared(ownership).has(taker, taker.freeing.unwrap_or(u64::MAX)))
}

/// Returns the reason why a client lost what it had, and believed on until a time: its own loss, or
/// that of whoever freed it, may be the work of another worker of the same client.
pub(super) fn why(
    case: &Case<'_>,
    ownership: &Ownership,
    claim: &Claim,
    lost: &Lost,
    until_ns: u64,
) -> Option<Cause> {
    let taker = |lost: &Lost| match lost.how {
        Change::Deleted(by) | Change::Written(by) => ownership.busy_with(case, by, lost.at_ns),
        _ => None,
    };
    let is_by_twin = |claim, lost: &Lost| {
        taker(lost).is_some_and(|taker| is_twin(case, ownership, claim, taker))
    };
    let had_twin = |thief| match loss::of(case, ownership, thief, lost.at_ns, None) {
        LeftInStore::Lost(lost) => is_by_twin(thief, &lost),
        LeftInStore::Kept | LeftInStore::Never => case.shared(ownership).has(thief, u64::MAX),
    };
    if is_by_twin(claim, lost) {
        return Some(Cause::SharedIdentity);
    }
    let cause = loss::why(case, ownership, claim, lost, until_ns)?;
    let is_indirect = cause == Cause::ForeignRelease && taker(lost).is_some_and(had_twin);
    Some(if is_indirect { Cause::SharedIdentity } else { cause })
}

fn owner(evidence: &Evidence<'_>, claim: &Claim) -> (u32, usize) {
    (evidence.run.info.client_of(claim.process), claim.key)
}

/// Returns true if two claims have places of their own in a queue, by which they can be
/// distinguished even if they are of one client.
fn has_own_place(evidence: &Evidence<'_>, one: &Claim, other: &Claim) -> bool {
    let place = |claim: &Claim| claim.granted().and_then(|ok| evidence.facts(ok)?.place);
    place(one).zip(place(other)).is_some_and(|(one, other)| one != other)
}

fn is_rival(evidence: &Evidence<'_>, one: &Claim, other: &Claim) -> bool {
    let again = evidence.run.info.lock.promises.reentrant && one.process == other.process;
    one.mode.excludes(other.mode) && !again
}
