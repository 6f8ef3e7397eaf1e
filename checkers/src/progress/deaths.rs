//! The time for which a holder that has died keeps a lock from the living.

use crate::Case;
use crate::intervals::Intervals;
use base::Measure;
use histories::holds::{Claim, Ending};
use std::collections::BTreeMap;

/// The longest time from the death of a holder to the next grant that its hold excluded, counted
/// from when somebody asked for it; in nanoseconds.
pub(super) fn slowest(case: &Case<'_>) -> Option<u64> {
    let mut dead: BTreeMap<usize, Vec<&Claim>> = BTreeMap::new();
    for claim in case.claims.grants() {
        if claim.end.is_some_and(|end| end.how == Ending::Death) {
            dead.entry(claim.key).or_default().push(claim);
        }
    }
    let slowest = |(key, dead): (usize, Vec<&Claim>)| {
        let rivals = KeyClaims::of(case, key);
        dead.into_iter().filter_map(|dead| rivals.after(case, dead)).max()
    };
    dead.into_iter().filter_map(slowest).max()
}

pub(super) fn measures(case: &Case<'_>, slowest: Option<u64>) -> Vec<Measure> {
    let Some(slowest) = slowest else { return Vec::new() };
    let mut measures = vec![Measure::new("slowest grant after a holder's death", "ns", slowest)];
    if case.run.info.lock.promises.recovers.is_some() {
        let bound = case.run.info.due_ns();
        measures.push(Measure::new("its bound", "ns", bound));
    }
    measures
}

/// The claims of one key.
struct KeyClaims<'a> {
    asked: Vec<&'a Claim>,
    asking: Intervals,
    granted: Vec<&'a Claim>,
}

impl<'a> KeyClaims<'a> {
    fn of(case: &'a Case<'_>, key: usize) -> Self {
        let asked: Vec<&Claim> = case.asked(key).map(|(_, claim)| claim).collect();
        let asking = asked.iter().map(|claim| (claim.invoke, claim.asking().end));
        let granted = case.granted(key).map(|(_, claim)| claim).collect();
        Self { asking: Intervals::of(asking), asked, granted }
    }

    fn after(&self, case: &Case<'_>, dead: &Claim) -> Option<u64> {
        let died = dead.end?.at;
        let rival = |claim: &&&Claim| claim.mode.excludes(dead.mode);
        let later = self.granted.partition_point(|claim| claim.granted() <= Some(died));
        let next = self.granted[later..].iter().find(rival)?;
        let mut asked = self.asking.meeting(died + 1, u64::MAX).map(|id| &self.asked[id]);
        let first = asked.find(rival)?;
        let time = |at: u64| case.run.history.get(at).map_or(0, |event| event.time_ns);
        Some(time(next.granted()?).saturating_sub(time(died).max(time(first.invoke))))
    }
}
