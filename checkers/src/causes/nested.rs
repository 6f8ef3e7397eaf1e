//! Holds within holds: what the owner of a re-entrant lock has in the store it took with its outer
//! hold.

use super::loss::{self, LeftInStore};
use super::ownership::Ownership;
use super::span::{Trouble, Troubles};
use crate::evidence::Evidence;
use histories::holds::Claim;

/// Returns the claim by which a process took what it holds: the outermost hold around this one, if
/// that still had what it took when this one was granted.
pub(super) fn taken_by<'a>(
    evidence: &'a Evidence<'_>,
    ownership: &Ownership,
    claim: &'a Claim,
) -> &'a Claim {
    if !evidence.run.info.lock.promises.reentrant {
        return claim;
    }
    let is_around = |outer: &&Claim| {
        let hold = outer.definite();
        outer.process == claim.process
            && outer.key == claim.key
            && outer.invoke < claim.invoke
            && hold.is_some_and(|hold| hold.contains(&claim.invoke))
    };
    let before = evidence.claims.claims.partition_point(|other| other.invoke < claim.invoke);
    let outer = evidence.claims.claims[..before].iter().find(is_around);
    outer.filter(|outer| stood(evidence, ownership, outer, claim)).unwrap_or(claim)
}

/// Returns true if the inner hold was granted on what the outer one had taken: that still stood, or
/// its client had just been paused and could not know better yet.
fn stood(evidence: &Evidence<'_>, ownership: &Ownership, outer: &Claim, inner: &Claim) -> bool {
    let granted_ns = inner.granted().map_or(u64::MAX, |ok| evidence.time(ok));
    let lately = granted_ns.saturating_sub(evidence.run.info.run.ttl_ns / 4)..granted_ns;
    matches!(loss::of(evidence, ownership, outer, granted_ns, None), LeftInStore::Kept)
        || Troubles::of(evidence, inner.process, lately).had(Trouble::Paused)
}
