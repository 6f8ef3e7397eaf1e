//! Runs in the simulator, in memory.

use base::{BackendError, Run};
use sim::ChoiceLog;
use std::rc::Rc;
use workloads::TestedLock;

use crate::links;
use crate::run::{self, Means};
use crate::schedule::Schedule;
use crate::setup::Setup;
use crate::worlds::SIMULATOR;
use drive::Unwatched;
use drive::plan::{FaultTiming, Played};

/// Runs a setup in the simulator, in memory.
///
/// # Errors
/// Fails when the simulated world breaks, which is a bug in it.
pub fn run(setup: &Setup) -> Result<Run, BackendError> {
    play(setup, None).map(|(run, _)| run)
}

/// Runs a setup and records its schedule.
///
/// # Errors
/// Fails when the simulated world breaks, which is a bug in it.
pub fn record(setup: &Setup) -> Result<(Run, Schedule), BackendError> {
    let choices = Rc::new(ChoiceLog::record());
    let (run, played) = play(setup, Some(choices.clone()))?;
    let link = links::usual_delay(setup.world.link_delay);
    Ok((run, Schedule::of(setup, played, choices.taken(link))))
}

/// Runs a recorded schedule of this lock.
///
/// # Errors
/// Fails when the schedule makes no sense or the simulated world breaks.
pub fn replay(lock: &TestedLock, schedule: &Schedule) -> Result<Run, BackendError> {
    replay_played(lock, schedule).map(|(run, _)| run)
}

/// Runs a recorded schedule of this lock; returns as well what was decided on the way.
///
/// # Errors
/// Fails when the schedule makes no sense or the simulated world breaks.
pub fn replay_played(
    lock: &TestedLock,
    schedule: &Schedule,
) -> Result<(Run, Played), BackendError> {
    let setup = schedule.setup(lock, FaultTiming::Time);
    let setup = setup.map_err(|error| BackendError(error.to_string()))?;
    play(&setup, Some(Rc::new(ChoiceLog::replay(schedule.chance.clone()))))
}

fn play(setup: &Setup, choices: Option<Rc<ChoiceLog>>) -> Result<(Run, Played), BackendError> {
    let mut watcher = Unwatched;
    let means = Means { choices, ..Means::in_memory(&mut watcher) };
    run::run(setup, SIMULATOR, means)?.whole()
}

/// Runs a setup twice, which must give the same history both times: the check that nothing of the
/// real world has got into the simulated one.
///
/// # Errors
/// Fails when the histories differ, with the place; or as `run`.
pub fn run_twice(setup: &Setup) -> Result<Run, BackendError> {
    let (first, second) = (run(setup)?, run(setup)?);
    let (a, b) = (first.history.events(), second.history.events());
    if a == b {
        return Ok(first);
    }
    let place = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let seed = first.info.run.seed;
    Err(BackendError(format!(
        "the same seed, {seed}, gave two histories; they differ at event {place}"
    )))
}
