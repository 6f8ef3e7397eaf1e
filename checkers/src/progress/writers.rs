//! Writers that are shut out: readers are granted the lock again and again, and no writer is,
//! though nobody has it.

use super::due_from;
use crate::Case;
use crate::intervals::covered;
use crate::phase::QuietPhase;
use base::Mode;
use histories::holds::Claim;

/// The first writer of a lock that no writer is granted in the quiet phase, if the lock is free
/// while one asks for it: in one interval as long as it takes to pick it up, or for as long as
/// its bound, in total. A reader counts as one that has it from its first request on.
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
    let had = ours().filter(|claim| !writes(claim) || claim.granted().is_some()).map(has);
    let waits = ours().filter(writes).map(|claim| (claim.invoke, claim.asking().end));
    let waits = within(case, &phase, waits);
    let free = gaps(within(case, &phase, had), &phase);
    // Nobody may be gone for so long that it kept the lock in this gap.
    let gone_ns = phase.quiet.time.saturating_add(case.run.info.recovery_ns());
    let waited = |(from, until): (u64, u64)| {
        let part = |(begin, end): &(u64, u64)| (*begin.max(&from), *end.min(&until));
        covered(waits.iter().map(part).filter(|(begin, end)| begin < end).collect())
    };
    let at_once = |(from, until): &(u64, u64)| waited((gone_ns.max(*from), *until));
    let longest_ns = free.iter().map(at_once).max().unwrap_or(0);
    let free_ns: u64 = free.iter().copied().map(waited).sum();
    let asks = |claim: &Claim| writes(&claim) && phase.meets(&claim.asking());
    let first = case.asked(key).find(|(_, claim)| asks(claim)).map(|(id, _)| id);
    let info = &case.run.info;
    let picked_up_ns = info.pick_up_ns().max(info.run.ttl_ns / 2);
    first.filter(|_| longest_ns >= picked_up_ns || free_ns >= info.due_ns())
}

/// Intervals between events as times in a phase, in nanoseconds.
fn within(
    case: &Case<'_>,
    phase: &QuietPhase,
    intervals: impl Iterator<Item = (u64, u64)>,
) -> Vec<(u64, u64)> {
    let time = |at: u64| case.run.history.get(at).map_or(phase.stop.time, |event| event.time_ns);
    let within = |at: u64| time(at).clamp(phase.quiet.time, phase.stop.time);
    intervals.map(|(begin, end)| (within(begin), within(end))).collect()
}

/// The times of a phase that none of these intervals covers.
fn gaps(mut intervals: Vec<(u64, u64)>, phase: &QuietPhase) -> Vec<(u64, u64)> {
    intervals.push((phase.stop.time, phase.stop.time));
    intervals.sort_unstable();
    let (mut gaps, mut until) = (Vec::new(), phase.quiet.time);
    for (begin, end) in intervals {
        if begin > until {
            gaps.push((until, begin));
        }
        until = until.max(end);
    }
    gaps
}
