//! Overtaken acquires: those during which others that began later were granted the lock, in a mode
//! that excludes theirs.

use crate::Case;
use crate::reentrancy::nested;
use base::Mode;
use histories::holds::{AcquireAnswer, Claims};
use std::collections::BTreeSet;

/// An acquire that was overtaken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bypass {
    /// The overtaken claim, as an index into the claims.
    pub(crate) claim: usize,
    /// The number of times it was overtaken; counted up to four times what is [`bearable`].
    pub(crate) count: u64,
    /// The first grant that overtook it.
    pub(crate) first: u64,
}

/// Returns the number of times that an acquire may be overtaken. In a queue it can be overtaken by
/// those who ask at the same moment. More than four grants per client are not a coincidence.
pub(crate) fn bearable(case: &Case<'_>) -> u64 {
    u64::from(case.run.info.all_workers().max(1)) * 4
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
pub(crate) fn bypasses(case: &Case<'_>) -> Bypasses {
    let (bearable, bound) = (bearable(case), bearable(case) * 4);
    let claims = &case.claims.claims;
    let mut found = Bypasses::default();
    // The acquires of each key that are open: few at a time.
    let mut waiting: Vec<Vec<Waiter>> = vec![Vec::new(); case.claims.keys.len()];
    let mut begun = 0;
    let again = again(case);
    for id in answers(&case.claims) {
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
                && excludes(waiter.mode, claim.mode)
        };
        for Waiter { bypass, .. } in waiting.iter_mut().filter(overtaken) {
            bypass.first = if bypass.count == 0 { at } else { bypass.first };
            bypass.count += 1;
        }
    }
    found
}

/// The requests of those that held the lock already, which overtake nobody.
fn again(case: &Case<'_>) -> BTreeSet<u64> {
    match case.run.info.promises.reentrant {
        true => nested(case).into_iter().map(|(_, inner)| inner.invoke).collect(),
        false => BTreeSet::new(),
    }
}

/// All acquires in the order of their answers; those that never were answered come last.
fn answers(claims: &Claims) -> impl Iterator<Item = usize> {
    let all = claims.claims.iter().enumerate();
    let open = all.filter(|(_, claim)| claim.answer == AcquireAnswer::Open).map(|(id, _)| id);
    claims.answered.iter().map(|id| *id as usize).chain(open)
}

/// Returns true if two modes cannot be held together.
pub(crate) fn excludes(a: Mode, b: Mode) -> bool {
    a == Mode::Exclusive || b == Mode::Exclusive
}

/// Returns true if the store woke an acquire after it was first overtaken.
pub(crate) fn woken(case: &Case<'_>, bypass: &Bypass) -> bool {
    let claim = &case.claims.claims[bypass.claim];
    case.woken(claim.process, bypass.first..claim.asking().end)
}
