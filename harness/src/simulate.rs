//! A run in the simulator.

use base::{BackendError, ClockSetting, Command, Init, Run};
use sim::{ChoiceLog, OpenClient, SimConfig, Simulated};
use std::any::Any;
use std::rc::Rc;
use stores::{Store, Visit, WorldSpec};
use workloads::LockSpec;
use workloads::client::serve;

use crate::drive::{Recorder, Unwatched, drive};
use crate::links;
use crate::plan::{FaultTiming, Played};
use crate::schedule::Schedule;
use crate::setup::Setup;

/// A simulated world for a lock. A choice log records what chance decides in it, or decides itself.
pub fn world(
    lock: &'static LockSpec,
    spec: &WorldSpec,
    choice_log: Option<Rc<ChoiceLog>>,
) -> Box<dyn Simulated> {
    world_of(lock, config(spec), choice_log)
}

/// Returns the simulator's configuration of a world.
pub fn config(spec: &WorldSpec) -> SimConfig {
    SimConfig {
        clients: spec.clients,
        cluster: spec.cluster(),
        ttl: spec.ttl,
        call_timeout: spec.call_timeout,
        latency: links::usual(spec),
        links: links::own(spec),
        seed: spec.seed,
        init: init(spec),
    }
}

/// The same, of a configuration that was changed.
pub fn world_of(
    lock: &'static LockSpec,
    config: SimConfig,
    choice_log: Option<Rc<ChoiceLog>>,
) -> Box<dyn Simulated> {
    let store = lock.store();
    sim::simulation(store, config, choice_log, store.visit(Erased(lock)))
}

/// Returns the function that opens the task of a client of this lock, on the lock's store.
pub(crate) fn opens<S: Store>(lock: &'static LockSpec) -> OpenClient<S> {
    Box::new(move |handle| Box::pin(serve::<S>(lock, handle.link, handle.mailbox)))
}

/// Asks for that function whatever the store is.
struct Erased(&'static LockSpec);

impl Visit for Erased {
    type Out = Box<dyn Any>;

    fn visit<S: Store>(self) -> Self::Out {
        Box::new(opens::<S>(self.0))
    }
}

/// Returns the first command to a simulated client. It has its links already, so there are no
/// addresses.
fn init(spec: &WorldSpec) -> Command {
    Command::Init(Box::new(Init {
        allotment: String::new(),
        algo: spec.algo.clone(),
        process: 0,
        servers: Vec::new(),
        topology: spec.topology.name.into(),
        ttl_ns: spec.ttl.as_nanos() as u64,
        call_timeout_ns: spec.call_timeout.as_nanos() as u64,
        seed: spec.seed,
        clock: ClockSetting::RIGHT,
        drifted_ns: 0,
        names_calls: spec.names_calls,
        workers: spec.workers,
    }))
}

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
    let choice_log = Rc::new(ChoiceLog::record());
    let (run, played) = play(setup, Some(choice_log.clone()))?;
    let link = links::usual_delay(setup.world().link_delay);
    Ok((run, Schedule::of(setup, played, choice_log.taken(link))))
}

/// Runs a recorded schedule.
///
/// # Errors
/// Fails when the schedule makes no sense or the simulated world breaks.
pub fn replay(schedule: &Schedule) -> Result<Run, BackendError> {
    replay_played(schedule).map(|(run, _)| run)
}

/// Runs a recorded schedule; says as well what was decided on the way.
///
/// # Errors
/// Fails when the schedule makes no sense or the simulated world breaks.
pub fn replay_played(schedule: &Schedule) -> Result<(Run, Played), BackendError> {
    let setup = schedule.setup(FaultTiming::Time);
    let setup = setup.map_err(|error| BackendError(error.to_string()))?;
    play(&setup, Some(Rc::new(ChoiceLog::replay(schedule.chance.clone()))))
}

fn play(setup: &Setup, choice_log: Option<Rc<ChoiceLog>>) -> Result<(Run, Played), BackendError> {
    let mut backend = world(setup.lock, &setup.world(), choice_log);
    let mut recorder = Recorder::in_memory();
    let plan = setup.plan();
    drive(backend.as_mut(), &plan, setup.nemeses(), &mut recorder, &mut Unwatched)
        .map_err(|error| BackendError(error.to_string()))?;
    let played = recorder.take_played();
    let (info, ledger) = (setup.info_for("sim"), backend.ledger());
    Ok((Run { info, history: recorder.into_history(), ledger }, played))
}

/// Runs a setup twice, which must give the same history both times: the check that nothing of the
/// real world has got into the simulated one.
///
/// # Errors
/// Fails when the histories differ, with the place; or as [`run`].
pub fn run_twice(setup: &Setup) -> Result<Run, BackendError> {
    let (first, second) = (run(setup)?, run(setup)?);
    let (a, b) = (first.history.events(), second.history.events());
    if a == b {
        return Ok(first);
    }
    let place = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let seed = first.info.seed;
    Err(BackendError(format!(
        "the same seed, {seed}, gave two histories; they differ at event {place}"
    )))
}
