//! Who is overtaken while he waits: the acquires during which others that began later were granted
//! the lock, in a mode that excludes theirs.

use crate::Case;
use crate::holds::{Answer, Claims};
use base::{F, Mode};

/// An acquire that was overtaken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bypass {
    /// Whose, as an index into the claims.
    pub(crate) claim: usize,
    /// How often; counted up to four times what is [`bearable`].
    pub(crate) count: u64,
    /// The first grant that overtook it.
    pub(crate) first: u64,
}

/// In a queue an acquire can be overtaken by those who ask at the same moment. More than four
/// grants a client are no coincidence.
pub(crate) fn bearable(case: &Case<'_>) -> u64 {
    u64::from(case.run.info.clients.max(1)) * 4
}

/// Every acquire that was overtaken, in the order of the answers.
pub(crate) fn bypasses(case: &Case<'_>) -> Vec<Bypass> {
    let bound = bearable(case) * 4;
    let claims = &case.claims.claims;
    let mut found = Vec::new();
    // The acquires that are open: few at a time.
    let mut waiting: Vec<Bypass> = Vec::new();
    let mut begun = 0;
    for id in answers(&case.claims) {
        let at = claims[id].asking().end;
        while claims.get(begun).is_some_and(|claim| claim.invoke < at) {
            waiting.push(Bypass { claim: begun, count: 0, first: 0 });
            begun += 1;
        }
        let place = waiting.iter().position(|bypass| bypass.claim == id);
        let answered = place.map(|place| waiting.swap_remove(place));
        found.extend(answered.filter(|bypass| bypass.count > 0));
        let claim = &claims[id];
        if claim.granted().is_none() {
            continue;
        }
        for bypass in waiting.iter_mut().filter(|bypass| bypass.claim < id && bypass.count < bound)
        {
            let other = &claims[bypass.claim];
            if other.key == claim.key && excludes(other.mode, claim.mode) {
                bypass.first = if bypass.count == 0 { at } else { bypass.first };
                bypass.count += 1;
            }
        }
    }
    found
}

/// All acquires in the order of their answers; those that never were answered come last.
fn answers(claims: &Claims) -> impl Iterator<Item = usize> {
    let all = claims.claims.iter().enumerate();
    let open = all.filter(|(_, claim)| claim.answer == Answer::Open).map(|(id, _)| id);
    claims.answered.iter().map(|id| *id as usize).chain(open)
}

/// Whether two modes cannot be held together.
pub(crate) fn excludes(a: Mode, b: Mode) -> bool {
    a == Mode::Exclusive || b == Mode::Exclusive
}

/// Which of these acquires the store woke after they were first overtaken.
pub(crate) fn woken(case: &Case<'_>, bypasses: &[&Bypass]) -> Vec<bool> {
    let mut woken = vec![false; bypasses.len()];
    if bypasses.is_empty() {
        return woken;
    }
    let claims: Vec<_> = bypasses.iter().map(|b| &case.claims.claims[b.claim]).collect();
    for event in case.run.history.events().iter().filter(|event| event.f == F::Notified) {
        for (place, bypass) in bypasses.iter().enumerate() {
            let since = bypass.first..claims[place].asking().end;
            woken[place] |=
                event.client() == Some(claims[place].process) && since.contains(&event.index);
        }
    }
    woken
}
