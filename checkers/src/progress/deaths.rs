//! How long a lock is kept from the living by a holder that has died.

use crate::Case;
use crate::bypass::excludes;
use crate::holds::{Claim, Ending};
use base::Measure;

/// The longest time from the death of a holder to the next grant that its hold excluded, counted from
/// when somebody asked for it; in nanoseconds.
pub(super) fn slowest(case: &Case<'_>) -> Option<u64> {
    let claims = &case.claims.claims;
    let died = claims.iter().filter(|c| c.end.is_some_and(|end| end.how == Ending::Death));
    died.filter_map(|dead| after(case, dead)).max()
}

pub(super) fn measures(case: &Case<'_>) -> Vec<Measure> {
    let Some(slowest) = slowest(case) else { return Vec::new() };
    let mut measures = vec![Measure::new("slowest grant after a holder's death", "ns", slowest)];
    if case.run.info.promises.recovers.is_some() {
        let bound = case.run.info.due_ns();
        measures.push(Measure::new("its bound", "ns", bound));
    }
    measures
}

fn after(case: &Case<'_>, dead: &Claim) -> Option<u64> {
    let died = dead.end?.at;
    let rival = |claim: &&Claim| {
        claim.key == dead.key && excludes(claim.mode, dead.mode) && claim.granted() > Some(died)
    };
    let next = case.claims.grants().filter(rival).min_by_key(|claim| claim.granted())?;
    let time = |at: u64| case.run.history.get(at).map_or(0, |event| event.time);
    let asked = case.claims.claims.iter().filter(|claim| {
        claim.key == dead.key && excludes(claim.mode, dead.mode) && claim.asking().end > died
    });
    let first = asked.map(|claim| time(claim.invoke)).min()?;
    Some(time(next.granted()?).saturating_sub(time(died).max(first)))
}
