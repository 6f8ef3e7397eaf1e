//! Writers that are shut out: readers are granted the lock again and again, and no writer is,
//! though nobody has it.

use super::due_from;
use crate::Case;
use crate::phase::QuietPhase;
use crate::stretches::covered;
use base::Mode;
use histories::holds::Claim;

/// The first writer of a lock that no writer is granted in the quiet phase, if the lock is free for
/// as long as its bound while one asks for it. A reader counts as one that has it from its first
/// request on.
pub(super) fn shut_out(case: &Case<'_>, phase: &QuietPhase, key: usize) -> Option<usize> {
    let promises = case.run.info.lock.promises;
    let ours = || case.asked(key).map(|(_, claim)| claim);
    let phase = due_from(case, phase, key);
    let is_granted = |claim: &Claim| claim.granted().is_some_and(|ok| phase.has(ok));
    let writes = |claim: &&Claim| claim.mode == Mode::Exclusive;
    if !promises.shared || ours().filter(writes).any(is_granted) {
        return None;
    }
    let has = |claim: &Claim| {
        let freed = claim.freed.map(|(at, _)| at).or(claim.end.map(|end| end.at));
        let over = if claim.granted().is_some() { freed } else { Some(claim.asking().end) };
        (claim.invoke, over.unwrap_or(u64::MAX))
    };
    let had = || ours().filter(|claim| !writes(claim) || claim.granted().is_some()).map(has);
    let waits = ours().filter(writes).map(|claim| (claim.invoke, claim.asking().end));
    let free_ns = within(case, &phase, had().chain(waits)) - within(case, &phase, had());
    let asks = |claim: &Claim| writes(&claim) && phase.meets(&claim.asking());
    let first = case.asked(key).find(|(_, claim)| asks(claim)).map(|(id, _)| id);
    first.filter(|_| free_ns >= case.run.info.due_ns())
}

/// The time in a phase that stretches between events cover together, in nanoseconds.
fn within(case: &Case<'_>, phase: &QuietPhase, stretches: impl Iterator<Item = (u64, u64)>) -> u64 {
    let time = |at: u64| case.run.history.get(at).map_or(phase.stop.time, |event| event.time_ns);
    let within = |at: u64| time(at).clamp(phase.quiet.time, phase.stop.time);
    covered(stretches.map(|(begin, end)| (within(begin), within(end))).collect())
}
