//! Servers that somebody else runs, and how real servers are started at all.

use base::{Backend, BackendError, ProgramCommand, Readiness};
use stores::WorldSpec;
use testbed::{GivenServers, RealBackend, Servers, built_in_client};

use crate::setup::Setup;
use crate::worlds::{Cleaned, RunWorld, Start};
use drive::plan::FaultTiming;

/// The world in the list. Whether the servers are there is seen when they are used.
pub const WORLD: RunWorld = RunWorld {
    name: "servers",
    summary: "Servers that somebody else runs",
    timing: FaultTiming::Trigger,
    is_chosen: false,
    is_made: false,
    is_built: true,
    can: testbed::can::<GivenServers>,
    ready: |_, _| Readiness::Ready,
    tried: |_, _| Readiness::Ready,
    prepare: |_| Ok(()),
    start: start::<GivenServers>,
    clean: |_| Ok(Cleaned::default()),
};

/// Starts real servers, with clients that are processes.
pub fn start<S: Servers>(
    setup: &Setup,
    means: Start<'_>,
) -> Result<Box<dyn Backend>, BackendError> {
    let world = WorldSpec { logs: means.logs, ..setup.world.clone() };
    let client = match means.client {
        Some((program, args)) => ProgramCommand::new(program, args),
        None => built_in_client()?,
    };
    Ok(Box::new(RealBackend::<S>::start_with(&world, client, means.progress)?))
}
