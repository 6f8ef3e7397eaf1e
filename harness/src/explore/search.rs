//! Runs the seeds of a search on several threads, each run in a world of its own, and adds them up
//! in the order of their seeds: the result does not depend on how many threads there were.

use base::{BackendError, Outcome, RunInfo, RunSpec};
use checkers::Judgement;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use workloads::TestedLock;

use super::{SearchPart, Tally};
use crate::setup::{Setup, SetupError};
use crate::simulate;
use crate::threads::side_by_side;

/// The parameters of a search.
pub struct Search<'a> {
    /// The lock under test.
    pub lock: &'a TestedLock,
    /// The run of every seed but for the seed itself.
    pub run: &'a RunSpec,
    /// The seeds to search.
    pub part: SearchPart,
    /// The number of threads.
    pub jobs: usize,
    /// True to stop at the first seed that breaks a promise.
    pub until_found: bool,
    /// The flag that stops the search when it is set.
    pub stop: &'a AtomicBool,
}

/// The reason why a search ended early.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The options make no sense.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The simulated world broke.
    #[error("seed {seed}: {error}")]
    Run {
        /// The seed of the run.
        seed: u64,
        /// The error of the world.
        error: BackendError,
    },
}

/// Searches. `progress` is called, from any thread, with the number of schedules done since.
///
/// # Errors
/// One line when the simulated world broke, which is a bug in it.
pub fn search(search: &Search<'_>, progress: &(dyn Fn(u64) + Sync)) -> Result<Tally, SearchError> {
    let seeds = search.part.seeds();
    let setup = Setup::new(search.lock, search.run.clone())?;
    let shared = SharedSearch {
        next: AtomicU64::new(seeds.start),
        broken: AtomicBool::new(false),
        collected: Mutex::new(Collected {
            tally: Tally::new(&setup, search.part.clone()),
            next: seeds.start,
            early: BTreeMap::new(),
            error: None,
        }),
    };
    side_by_side(search.jobs, || shared.work(search, seeds.end, progress));
    let collected = shared.collected.into_inner().unwrap_or_else(|e| e.into_inner());
    match collected.error {
        Some(error) => Err(error),
        None => Ok(collected.tally),
    }
}

struct SharedSearch {
    /// The next seed that nobody has taken. Who took one finishes it, so that what was searched
    /// is always a whole range.
    next: AtomicU64,
    /// True once no more seeds are to be taken.
    broken: AtomicBool,
    collected: Mutex<Collected>,
}

/// Results come from the threads out of order, and are added in order.
struct Collected {
    tally: Tally,
    next: u64,
    early: BTreeMap<u64, (RunInfo, Judgement)>,
    error: Option<SearchError>,
}

impl SharedSearch {
    fn work(&self, search: &Search<'_>, end: u64, progress: &(dyn Fn(u64) + Sync)) {
        let stopped = || self.broken.load(Ordering::Relaxed) || search.stop.load(Ordering::Relaxed);
        while !stopped() {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            let outcome = run(search, seed);
            self.collect(search, seed, outcome);
            progress(1);
        }
    }

    fn collect(
        &self,
        search: &Search<'_>,
        seed: u64,
        outcome: Result<(RunInfo, Judgement), SearchError>,
    ) {
        let mut collected = self.collected.lock().unwrap_or_else(|e| e.into_inner());
        match outcome {
            Ok(judged) => collected.early.insert(seed, judged),
            Err(error) => {
                self.broken.store(true, Ordering::Relaxed);
                collected.error.get_or_insert(error);
                return;
            }
        };
        loop {
            // What was begun after the first violation is left out.
            if search.until_found && collected.tally.first_violation.is_some() {
                return;
            }
            let next = collected.next;
            let Some((info, judgement)) = collected.early.remove(&next) else { return };
            collected.tally.add(next, &info, &judgement);
            collected.next += 1;
            if search.until_found && judgement.outcome == Outcome::Violated {
                self.broken.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Runs and judges one seed.
fn run(search: &Search<'_>, seed: u64) -> Result<(RunInfo, Judgement), SearchError> {
    let setup = Setup::new(search.lock, RunSpec { seed, ..search.run.clone() })?;
    let run = simulate::run(&setup).map_err(|error| SearchError::Run { seed, error })?;
    let judgement = Judgement::of(&run);
    Ok((run.info, judgement))
}
