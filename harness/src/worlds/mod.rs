//! The worlds in which runs are made: the simulator, and real servers in containers, as processes,
//! or as somebody else runs them.

mod choice;
#[cfg_attr(not(feature = "docker"), path = "no_docker.rs")]
mod docker;
#[cfg_attr(not(feature = "real"), path = "no_real.rs")]
mod real;
pub mod sim;

use base::{Ability, Backend, BackendError, Lack, Readiness};
use std::path::PathBuf;
use std::rc::Rc;
use stores::{StoreId, Topology};

use crate::setup::Setup;
use ::sim::ChoiceLog;
pub use choice::{ChoiceError, choose, choose_for, choose_of};
use drive::plan::FaultTiming;
pub use real::toxiproxy;
use real::{given, local};

/// A world: what it can do, whether this machine is ready for it, and how it is started.
pub struct RunWorld {
    /// The name, as `--backend` takes it.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// The rule by which replayed faults find their time in it: only the simulator repeats a time
    /// exactly.
    pub timing: FaultTiming,
    /// True if `--backend` takes its name; the others have a flag of their own.
    pub is_chosen: bool,
    /// True if what it needs is made when it is missing (`prepare`).
    pub is_made: bool,
    /// True if this build has it.
    pub is_built: bool,
    /// Checks that it has an ability for a store.
    pub can: fn(StoreId, Ability) -> Result<(), Lack>,
    /// Returns whether servers of a topology can be started at once.
    pub ready: fn(StoreId, &Topology) -> Readiness,
    /// Returns the same once it has started each of the programs that servers are started from.
    pub tried: fn(StoreId, &Topology) -> Readiness,
    /// Makes what its servers need beforehand, with a line of progress now and then.
    pub prepare: fn(OnProgress<'_>) -> Result<(), BackendError>,
    /// Starts it.
    pub start: StartWorld,
    /// Removes what killed runs left behind; with `true` also what belongs to a run that cannot be
    /// seen from here and may live.
    pub clean: fn(bool) -> Result<Cleaned, BackendError>,
}

/// Takes a line of progress.
pub type OnProgress<'a> = &'a dyn Fn(&str);

/// Starts a world for a run.
pub type StartWorld = fn(&Setup, Start<'_>) -> Result<Box<dyn Backend>, BackendError>;

/// The means of a world that is started.
pub struct Start<'a> {
    /// Records the random decisions of the simulator, or makes them.
    pub choices: Option<Rc<ChoiceLog>>,
    /// The folder for logs. `None`: no logs are kept.
    pub logs: Option<PathBuf>,
    /// The program of the clients on real servers: its path and its arguments. `None`: this binary.
    pub client: Option<(PathBuf, Vec<String>)>,
    /// Shows a line of progress.
    pub progress: OnProgress<'a>,
}

/// The things that were removed, each kind with its number, and what could not be.
#[derive(Default)]
pub struct Cleaned {
    /// The kinds, in words, and the number of things of each.
    pub removed: Vec<(usize, &'static str, &'static str)>,
    /// The things that could not be removed, in a line each.
    pub failures: Vec<String>,
    /// Notes, in a line each: what was not looked for, and what is left to others.
    pub notes: Vec<String>,
}

/// All worlds, in the order in which they are listed.
pub const WORLDS: &[&RunWorld] = &[&sim::WORLD, &docker::WORLD, &local::WORLD, &given::WORLD];

/// The simulator.
pub const SIMULATOR: &RunWorld = &sim::WORLD;

/// Real servers as processes of this machine.
pub const LOCAL: &RunWorld = &local::WORLD;

impl RunWorld {
    /// A world of which this build has no more than the name.
    #[allow(dead_code, reason = "a build that has all worlds has no use for it")]
    const fn absent(name: &'static str, summary: &'static str, is_chosen: bool) -> Self {
        Self {
            name,
            summary,
            timing: FaultTiming::Trigger,
            is_chosen,
            is_made: false,
            is_built: false,
            can: |_, _| Err(Lack { reason: NOT_BUILT.into(), fix: Some(BUILD_IT.into()) }),
            ready: |_, _| Readiness::NotReady { reason: NOT_BUILT.into(), fix: BUILD_IT.into() },
            tried: |_, _| Readiness::NotReady { reason: NOT_BUILT.into(), fix: BUILD_IT.into() },
            prepare: |_| Err(not_built()),
            start: |_, _| Err(not_built()),
            clean: |_| Ok(Cleaned::default()),
        }
    }

    /// Returns true if its servers are real.
    pub fn is_real(&self) -> bool {
        self.name != SIMULATOR.name
    }

    /// Returns the first lack of these abilities for a store, and rather one without a remedy.
    pub fn lack(&self, store: StoreId, needs: &[Ability]) -> Option<Lack> {
        let lacks = needs.iter().filter_map(|ability| (self.can)(store, *ability).err());
        lacks.min_by_key(|lack| lack.fix.is_some())
    }
}

/// The reason why a world that is not in this build cannot be had, and the remedy.
const NOT_BUILT: &str = "this picklock was built without these servers";
const BUILD_IT: &str = "build it with the cargo feature `docker`";

/// Returns the error where a world is asked for that this build does not have.
fn not_built() -> BackendError {
    BackendError(format!("{NOT_BUILT}; {BUILD_IT}"))
}

/// Returns the worlds of real servers that picklock starts itself.
pub fn real() -> impl Iterator<Item = &'static RunWorld> {
    WORLDS.iter().copied().filter(|world| world.is_real() && world.is_chosen)
}

/// Returns the world of this name, of those that `--backend` takes.
pub fn named(name: &str) -> Option<&'static RunWorld> {
    WORLDS.iter().copied().find(|world| world.is_chosen && world.name == name)
}
