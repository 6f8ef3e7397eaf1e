//! A run in the simulator.

use base::{BackendError, Command, Run, Spread};
use sim::{Handle, RedisWorld, SimConfig, Simulated, Simulation, ZooKeeperWorld};
use std::time::Duration;
use stores::Store;
use stores::redis::script::Runner;
use stores::zookeeper::Client;
use workloads::LockSpec;
use workloads::client::{AnyLink, serve};

use crate::WorldSpec;
use crate::drive::{Recorder, Unwatched, drive};
use crate::setup::Setup;

/// A simulated world for a lock.
pub fn world(lock: &'static LockSpec, spec: &WorldSpec) -> Box<dyn Simulated> {
    world_of(lock, spec.store, config(spec))
}

/// What the simulator makes of a world that was asked for.
pub fn config(spec: &WorldSpec) -> SimConfig {
    let (least, mean) = (Duration::from_micros(100), Duration::from_micros(200));
    SimConfig {
        clients: spec.clients,
        servers: spec.servers,
        ttl: spec.ttl,
        call_timeout: spec.call_timeout,
        latency: Spread::Exponential {
            least: least + spec.link_delay,
            mean: mean + spec.link_delay / 20,
        },
        scripts: Runner::default(),
        seed: spec.seed,
        init: init(spec),
    }
}

/// The same, of a configuration that was changed.
pub fn world_of(lock: &'static LockSpec, store: Store, config: SimConfig) -> Box<dyn Simulated> {
    match store {
        Store::Redis => {
            let open = move |handle: Handle<dyn base::Link<stores::redis::Redis>>| {
                Box::pin(serve(lock, AnyLink::Redis(handle.link), handle.mailbox)) as _
            };
            Box::new(Simulation::new(RedisWorld::new(config.scripts), config, Box::new(open)))
        }
        Store::ZooKeeper => {
            let open = move |handle: Handle<dyn stores::zookeeper::Session>| {
                Box::pin(serve(lock, AnyLink::ZooKeeper(Client::new(handle.link)), handle.mailbox))
                    as _
            };
            Box::new(Simulation::new(ZooKeeperWorld, config, Box::new(open)))
        }
    }
}

/// What a simulated client is told first. It has its links already, so there are no addresses.
fn init(spec: &WorldSpec) -> Command {
    Command::Init {
        algo: spec.algo.clone(),
        process: 0,
        servers: Vec::new(),
        ttl: spec.ttl.as_nanos() as u64,
        call_timeout: spec.call_timeout.as_nanos() as u64,
        seed: spec.seed,
    }
}

/// Runs a setup in the simulator, in memory.
///
/// # Errors
/// When the simulated world breaks, which is a bug in it.
pub fn run(setup: &Setup) -> Result<Run, BackendError> {
    let mut backend = world(setup.lock, &setup.world());
    let mut recorder = Recorder::in_memory();
    let plan = setup.plan();
    drive(backend.as_mut(), &plan, setup.nemeses(), &mut recorder, &mut Unwatched)
        .map_err(|error| BackendError(error.to_string()))?;
    Ok(Run { info: setup.info_for("sim"), history: recorder.into_history() })
}

/// Runs a setup twice, which must give the same history both times: the check that nothing of the real
/// world has got into the simulated one.
///
/// # Errors
/// When the histories differ, with the place; or as [`run`].
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
