//! The choice of a seed for a run in the simulator that names none: the first of many that breaks a
//! promise.

#![expect(clippy::disallowed_methods, reason = "searches for so long")]

use base::units::counted;
use base::{Outcome, RunSpec};
use checkers::Judgement;
use nix::time::{ClockId, clock_gettime};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use workloads::TestedLock;

use crate::commands::Failure;
use crate::explore::{Search, SearchPart, Tally, search};
use crate::setup::Setup;
use crate::simulate;
use crate::threads::cores;

/// The greatest number of schedules that are tried.
const SCHEDULES: u64 = 200;

/// The time of each core for which schedules are tried; those that were begun are finished. A busy
/// machine takes longer for it, and finds as much.
const FOR: Duration = Duration::from_secs(1);

/// The longest time that this may take.
const AT_MOST: Duration = Duration::from_secs(20);

/// The longest phase of faults of which more than one schedule is tried.
const LONGEST: Duration = Duration::from_secs(300);

/// A seed to be shown, of those that were tried.
pub struct FoundSeed {
    /// The seed.
    pub seed: u64,
    /// The number of schedules that were tried, and how they ended, in one line.
    pub summary: String,
}

/// Searches schedules from a seed on for about a second. Returns the first that breaks a promise,
/// else the first that ended as most did; `None` for a run so long that a search would be felt.
///
/// # Errors
/// Fails when the run makes no sense, the simulated world broke, or somebody pressed Ctrl-C.
pub fn find_seed(
    lock: &TestedLock,
    run: &RunSpec,
    interrupted: &AtomicBool,
) -> Result<Option<FoundSeed>, Failure> {
    if run.time_limit() > LONGEST {
        return Ok(None);
    }
    let at_first = cpu_time();
    let worked = || cpu_time().saturating_sub(at_first);
    let (begun, stop) = (Instant::now(), AtomicBool::new(false));
    let seeds = run.seed..run.seed.saturating_add(SCHEDULES);
    let part = SearchPart { whole: seeds, of: 1, shard: 1 };
    let what = Search { lock, run, part, jobs: cores(), until_found: true, stop: &stop };
    let progress = |_| {
        let is_over = worked() >= FOR * cores() as u32 || begun.elapsed() >= AT_MOST;
        if is_over || interrupted.load(Ordering::Relaxed) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let tally = search(&what, &progress).map_err(Failure::could_not)?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::interrupted("interrupted; nothing was kept"));
    }
    let seed = match tally.first_violation {
        Some(seed) => seed,
        None => first_of(lock, run, &tally)?,
    };
    Ok(Some(FoundSeed { seed, summary: summarize(&tally) }))
}

/// The time that this process has run so far, on all cores.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Returns the first seed that ended as most did: held only if more held than could not tell.
fn first_of(lock: &TestedLock, run: &RunSpec, tally: &Tally) -> Result<u64, Failure> {
    let outcome =
        if tally.held > tally.inconclusive { Outcome::Held } else { Outcome::Inconclusive };
    for seed in tally.seeds.iter().cloned().flatten() {
        let setup = Setup::new(lock, RunSpec { seed, ..run.clone() })?;
        let made = simulate::run(&setup).map_err(Failure::could_not)?;
        if Judgement::of(&made).outcome == outcome {
            return Ok(seed);
        }
    }
    Ok(run.seed)
}

/// Summarizes what was tried: "200 schedules in the simulator (seeds 5 to 204): 200 held".
fn summarize(tally: &Tally) -> String {
    let tried = tally.seeds.iter().cloned().reduce(|a, b| a.start..b.end);
    let Range { start, end } = tried.unwrap_or(0..1);
    let seeds = match end - start {
        1 => format!("seed {start}"),
        _ => format!("seeds {start} to {}", end - 1),
    };
    let schedules = counted(tally.schedules(), "schedule", "schedules");
    let ends = [(tally.held, "held"), (tally.inconclusive, "inconclusive")];
    let ends = ends.into_iter().filter(|(number, _)| *number > 0);
    let ends = ends.map(|(number, end)| format!("{number} {end}"));
    let broken = tally.first_violation.map(|seed| format!("seed {seed} breaks a promise"));
    let ends: Vec<String> = ends.chain(broken).collect();
    format!("{schedules} in the simulator ({seeds}): {}", ends.join(", "))
}
