//! Permits that are gone: a semaphore grants some of its permits again and again, and never all of
//! them, though somebody waits for one that nobody has.

use super::due_from;
use crate::Case;
use crate::phase::QuietPhase;
use histories::holds::Claim;
use std::collections::BTreeMap;

/// The first to wait for permits of a semaphore of which some are gone in the quiet phase: so many
/// are free as any of those who wait asks for, for as long as its bound, in total, and never are
/// all of them held. Those that are left are in use for half of that time, so that holds that are
/// too short to meet prove nothing.
pub(super) fn gone(case: &Case<'_>, phase: &QuietPhase, key: usize) -> Option<usize> {
    let permits = u64::from(case.run.info.lock.promises.permits);
    let phase = &due_from(case, phase, key);
    let Use { most, open_ns, open_in_use_ns } = measure(case, phase, key, permits);
    let short = most < permits && open_ns >= case.run.info.due_ns();
    let waits = |(_, claim): &(usize, &Claim)| phase.meets(&claim.asking());
    let first = || case.asked(key).find(waits).map(|(id, _)| id);
    (short && open_in_use_ns * 2 >= open_ns).then(first).flatten()
}

/// Says how many permits were held at once in a phase, at most.
pub(super) fn most_held(case: &Case<'_>, phase: &QuietPhase, key: usize) -> String {
    let permits = case.run.info.lock.promises.permits;
    let Use { most, .. } = measure(case, &due_from(case, phase, key), key, permits.into());
    format!("no more than {most} of {permits} permits")
}

/// The use of a semaphore in a phase.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// The most permits that were held at once.
    most: u64,
    /// The time in which enough were free for any of those who waited, in nanoseconds.
    open_ns: u64,
    /// The part of it in which some were held, in nanoseconds.
    open_in_use_ns: u64,
}

fn measure(case: &Case<'_>, phase: &QuietPhase, key: usize, permits: u64) -> Use {
    let (mut used, mut held, mut since) = (Use::default(), 0, phase.quiet.time);
    // The number of acquires that wait for so many permits.
    let mut waiting: BTreeMap<u64, i64> = BTreeMap::new();
    for (at_ns, change) in changes(case, phase, key) {
        let asked = waiting.last_key_value().map(|(asked, _)| *asked);
        if asked.is_some_and(|asked| held + asked <= permits) {
            used.open_ns += at_ns - since;
            used.open_in_use_ns += if held > 0 { at_ns - since } else { 0 };
        }
        since = at_ns;
        match change {
            UseChange::Given(back) => held -= back,
            UseChange::Taken(taken) => held += taken,
            UseChange::Waits(asked, more) => *waiting.entry(asked).or_default() += more,
        }
        waiting.retain(|_, count| *count != 0);
        used.most = used.most.max(held);
    }
    used
}

/// A change of the use of a semaphore. Permits that change hands at one moment are given back
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UseChange {
    /// So many permits are given back.
    Given(u64),
    /// So many are taken.
    Taken(u64),
    /// So many more acquires wait for so many permits.
    Waits(u64, i64),
}

/// The changes in a phase by their times, in nanoseconds.
fn changes(case: &Case<'_>, phase: &QuietPhase, key: usize) -> Vec<(u64, UseChange)> {
    let time = |at: u64| case.run.history.get(at).map_or(phase.stop.time, |event| event.time_ns);
    let within = |at: u64| time(at).clamp(phase.quiet.time, phase.stop.time);
    let of = |(_, claim): (usize, &Claim)| {
        let (permits, asking) = (u64::from(claim.permits), claim.asking());
        let held = claim.definite().map(|hold| (within(hold.start), within(hold.end)));
        let held = held.filter(|(from, until)| from < until);
        let held = held.map(|(from, until)| {
            [(from, UseChange::Taken(permits)), (until, UseChange::Given(permits))]
        });
        let begins = (within(asking.start), UseChange::Waits(permits, 1));
        let ends = (within(asking.end), UseChange::Waits(permits, -1));
        held.into_iter().flatten().chain([begins, ends])
    };
    let mut changes: Vec<(u64, UseChange)> = case.asked(key).flat_map(of).collect();
    changes.sort_unstable();
    changes
}
