//! Overtaken acquires: those during which others that began later were granted the lock, in a mode
//! that excludes theirs.

use base::{Mode, RunInfo};
use histories::holds::{AcquireAnswer, Claim, Claims};
use std::collections::{BTreeMap, BTreeSet};

/// An acquire that was overtaken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bypass {
    /// The overtaken claim, as an index into the claims.
    pub(crate) claim: usize,
    /// The number of times it was overtaken, counted up to sixteen a worker, or to what is
    /// promised.
    pub(crate) count: u64,
    /// The first grant that overtook it.
    pub(crate) first: u64,
}

/// Returns the number of times that an acquire may be overtaken. In a queue it can be overtaken by
/// those who ask at the same moment. More than four grants per client are not a coincidence.
pub(crate) fn bearable(info: &RunInfo) -> u64 {
    share(info) * 4
}

/// Returns the number of fair shares after which an acquire starves: what the lock promises; else
/// four in a queue, where everybody has a place, and sixteen in a lottery.
pub(crate) fn patience(info: &RunInfo) -> u64 {
    let promises = &info.lock.promises;
    u64::from(promises.patience.unwrap_or(if promises.fifo { 4 } else { 16 }))
}

/// Returns the number of grants that make one fair share: one for each worker.
pub(crate) fn share(info: &RunInfo) -> u64 {
    u64::from(info.all_workers().max(1))
}

/// The acquires of a run that were overtaken, and how often.
#[derive(Debug, Default)]
pub(crate) struct Bypasses {
    /// The greatest number of times.
    pub(crate) most: u64,
    /// The acquires that were overtaken more often than is [`bearable`], in the order of the
    /// answers.
    pub(crate) long: Vec<Bypass>,
}

/// An acquire that is open.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    bypass: Bypass,
    mode: Mode,
}

/// Looks at every acquire, in the order of the answers.
pub(crate) fn bypasses(info: &RunInfo, all: &Claims) -> Bypasses {
    let (bearable, bound) = (bearable(info), share(info) * patience(info).max(16));
    let claims = &all.claims;
    let mut found = Bypasses::default();
    // The acquires of each key that are open: few at a time.
    let mut waiting: Vec<Vec<Waiter>> = vec![Vec::new(); all.keys.len()];
    let mut begun = 0;
    let again = again(info, claims);
    for id in answers(all) {
        let claim = &claims[id];
        let at = claim.asking().end;
        while let Some(next) = claims.get(begun).filter(|claim| claim.invoke < at) {
            let bypass = Bypass { claim: begun, count: 0, first: 0 };
            waiting[next.key].push(Waiter { bypass, mode: next.mode });
            begun += 1;
        }
        let waiting = &mut waiting[claim.key];
        let place = waiting.iter().position(|waiter| waiter.bypass.claim == id);
        if let Some(Waiter { bypass, .. }) = place.map(|place| waiting.swap_remove(place)) {
            found.most = found.most.max(bypass.count);
            found.long.extend((bypass.count > bearable).then_some(bypass));
        }
        if claim.granted().is_none() || again.contains(&claim.invoke) {
            continue;
        }
        let overtaken = |waiter: &&mut Waiter| {
            waiter.bypass.claim < id
                && waiter.bypass.count < bound
                && waiter.mode.excludes(claim.mode)
        };
        for Waiter { bypass, .. } in waiting.iter_mut().filter(overtaken) {
            bypass.first = if bypass.count == 0 { at } else { bypass.first };
            bypass.count += 1;
        }
    }
    found
}

/// The requests of those that held the lock already, which overtake nobody.
fn again(info: &RunInfo, claims: &[Claim]) -> BTreeSet<u64> {
    match info.lock.promises.reentrant {
        true => nested(claims).into_iter().map(|(_, inner)| inner.invoke).collect(),
        false => BTreeSet::new(),
    }
}

/// All acquires in the order of their answers; those that never were answered come last.
fn answers(claims: &Claims) -> impl Iterator<Item = usize> {
    let all = claims.claims.iter().enumerate();
    let open = all.filter(|(_, claim)| claim.answer == AcquireAnswer::Open).map(|(id, _)| id);
    claims.answered.iter().map(|id| *id as usize).chain(open)
}

/// Each acquire of what its process held: the outer hold and the inner claim.
pub(crate) fn nested(claims: &[Claim]) -> Vec<(&Claim, &Claim)> {
    let mut latest: BTreeMap<(u32, usize), &Claim> = BTreeMap::new();
    let mut nested = Vec::new();
    for claim in claims {
        let owner = (claim.process, claim.key);
        let outer = latest.get(&owner).copied();
        let holds = |outer: &&Claim| outer.definite().is_some_and(|h| h.contains(&claim.invoke));
        match outer.filter(holds) {
            Some(outer) => nested.push((outer, claim)),
            None => {
                latest.insert(owner, claim);
            }
        }
    }
    nested
}
