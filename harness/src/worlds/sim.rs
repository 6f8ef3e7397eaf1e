//! The simulator: virtual time, and the models of the stores as servers.

use base::{Command, Init, Readiness};
use sim::{ChoiceLog, OpenClient, SimConfig, Simulated};
use std::any::Any;
use std::rc::Rc;
use stores::{Store, Visit, WorldSpec};
use workloads::TestedLock;
use workloads::client::serve;

use super::{Cleaned, RunWorld};
use crate::links;
use drive::plan::FaultTiming;

/// The simulator in the list of worlds.
pub const WORLD: RunWorld = RunWorld {
    name: "sim",
    summary: "The simulator: virtual time, replayed exactly by its seed",
    timing: FaultTiming::Time,
    is_chosen: true,
    is_made: false,
    is_built: true,
    can: |_, _| Ok(()),
    ready: |_, _| Readiness::Ready,
    tried: |_, _| Readiness::Ready,
    prepare: |_| Ok(()),
    start: |setup, means| Ok(world(&setup.lock, config(&setup.world), means.choices)),
    clean: |_| Ok(Cleaned::default()),
};

/// Makes a simulated world for a lock. A choice log records what chance decides in it, or decides
/// itself.
pub fn world(
    lock: &TestedLock,
    config: SimConfig,
    choices: Option<Rc<ChoiceLog>>,
) -> Box<dyn Simulated> {
    let store = lock.store();
    sim::simulation(store, config, choices, store.visit(Erased(lock)))
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

/// Returns the function that opens the task of a client of this lock, on the lock's store.
pub fn opens<S: Store>(lock: &TestedLock) -> OpenClient<S> {
    let lock = lock.clone();
    Box::new(move |handle| Box::pin(serve::<S>(lock.clone(), handle.link, handle.mailbox)))
}

/// Asks for that function whatever the store is.
struct Erased<'a>(&'a TestedLock);

impl Visit for Erased<'_> {
    type Out = Box<dyn Any>;

    fn visit<S: Store>(self) -> Self::Out {
        Box::new(opens::<S>(self.0))
    }
}

/// Returns the first command to a simulated client. It has its links already, so there are no
/// addresses.
fn init(spec: &WorldSpec) -> Command {
    Command::Init(Box::new(Init {
        algo: spec.algo.clone(),
        topology: spec.topology.name.into(),
        ttl_ns: spec.ttl.as_nanos() as u64,
        call_timeout_ns: spec.call_timeout.as_nanos() as u64,
        seed: spec.seed,
        names_calls: spec.names_calls,
        workers: spec.workers,
        ..Init::default()
    }))
}
