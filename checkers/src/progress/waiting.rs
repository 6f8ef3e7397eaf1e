//! Those who wait for ever, and those who hold without knowing it.

use super::due;
use crate::Case;
use crate::bypass::{Bypass, bearable, bypasses, woken};
use crate::calm::Calm;
use crate::holds::Answer;
use crate::words::decided;
use base::Anomaly;

/// Acquires that slept while others came later and were served.
pub(super) fn lost_wake_ups(case: &Case<'_>) -> Option<Anomaly> {
    case.run.info.promises.wakes?;
    let history = &case.run.history;
    let calm = Calm::of(case, due(case.run));
    let slept = |bypass: &Bypass| {
        let claim = &case.claims.claims[bypass.claim];
        let until = history.get(claim.asking().end).map_or(history.end(), |event| event.time);
        let since = history.get(bypass.first).map_or(until, |event| event.time);
        bypass.count > bearable(case)
            && until.saturating_sub(since) >= due(case.run)
            && calm.spans(claim.invoke, claim.asking().end)
    };
    let all = bypasses(case);
    let slept: Vec<&Bypass> = all.iter().filter(|bypass| slept(bypass)).collect();
    let woken = woken(case, &slept);
    let lost = slept.iter().zip(woken).filter(|(_, woken)| !woken).map(|(bypass, _)| *bypass);
    let first = lost.clone().next()?;
    let claim = &case.claims.claims[first.claim];
    let answer = Some(claim.asking().end).filter(|at| history.get(*at).is_some());
    let reason = format!(
        "process {} slept on while the lock was granted at least {} times to those who asked later",
        claim.process, first.count
    );
    let witness = [claim.invoke, first.first].into_iter().chain(answer);
    Some(decided("lost wake-up", lost.count() as u64, witness, reason))
}

/// Acquires that were told "no" while the lock stood in their client's name.
pub(super) fn phantom_holders(case: &Case<'_>) -> Option<Anomaly> {
    let told = case.claims.claims.iter().filter_map(|claim| match claim.answer {
        Answer::Failed(at) => Some([claim.invoke, at]),
        _ => None,
    });
    let held = |at: u64| case.facts(at).and_then(|facts| facts.held) == Some(true);
    let phantoms = told.filter(|[_, at]| held(*at));
    let first = phantoms.clone().next()?;
    let reason = "and the store counts it as the holder all the same";
    Some(decided("phantom holder", phantoms.count() as u64, first, reason))
}
