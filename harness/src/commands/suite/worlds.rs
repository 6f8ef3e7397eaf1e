//! The worlds in which an entry of a suite is run.

use base::{BackendError, Mono, Run};
use std::sync::atomic::{AtomicBool, Ordering};

use super::kept::KeptWorlds;
use crate::cli::SuiteBackend;
use crate::drive::Watcher;
#[cfg(feature = "docker")]
use crate::manner::hint;
use crate::setup::Setup;
use crate::simulate;
use crate::suite::SuiteEntry;

#[cfg(feature = "real")]
use {
    super::super::choice::Choice,
    super::kept::Shelf,
    crate::drive::{DriveError, Recorder, drive},
    base::Backend,
    testbed::{Readiness, Servers},
};

/// A world for an entry.
pub enum EntryWorld {
    Simulator,
    #[cfg(feature = "real")]
    Local,
    #[cfg(feature = "docker")]
    Docker,
    /// The world that was asked for cannot have it.
    Impossible {
        backend: &'static str,
        reason: String,
    },
}

impl EntryWorld {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Simulator => "sim",
            #[cfg(feature = "real")]
            Self::Local => "local",
            #[cfg(feature = "docker")]
            Self::Docker => "docker",
            Self::Impossible { backend, .. } => backend,
        }
    }

    pub const fn is_real(&self) -> bool {
        !matches!(self, Self::Simulator)
    }
}

/// The worlds of an entry, of those that were asked for.
pub fn of_entry(entry: &SuiteEntry, asked: SuiteBackend) -> Vec<EntryWorld> {
    let sim = matches!(asked, SuiteBackend::Sim | SuiteBackend::Both);
    let sim = sim.then_some(EntryWorld::Simulator);
    let real = (asked != SuiteBackend::Sim && entry.real > 0).then(|| real(entry, asked));
    sim.into_iter().chain(real).collect()
}

/// The world of real servers of an entry: the first that was asked for and can have it.
#[cfg(feature = "real")]
fn real(entry: &SuiteEntry, asked: SuiteBackend) -> EntryWorld {
    let choices: &[Choice] = match asked {
        SuiteBackend::Docker => &[Choice::Docker],
        SuiteBackend::Both => &[Choice::Local, Choice::Docker],
        SuiteBackend::Sim | SuiteBackend::Local => &[Choice::Local],
    };
    let setup = match entry.on_servers(0) {
        Ok(setup) => setup,
        Err(error) => return impossible(choices[0], error.to_string()),
    };
    let (world, needs) = (setup.world(), setup.needs());
    let mut reasons = Vec::new();
    for choice in choices {
        let lack = choice.lack(world.store, &needs).map(|lack| lack.reason);
        let lack = lack.or_else(|| match choice.ready(world.store, world.topology) {
            // Its image is made when it is missing.
            _ if *choice == Choice::Docker => None,
            Readiness::Ready => None,
            Readiness::NotReady { reason, fix } => Some(format!("{reason}: {fix}")),
        });
        match lack {
            None => return world_of(*choice),
            Some(reason) => reasons.push(reason),
        }
    }
    impossible(choices[0], reasons.join("; "))
}

#[cfg(feature = "real")]
fn impossible(choice: Choice, reason: String) -> EntryWorld {
    EntryWorld::Impossible { backend: choice.name(), reason }
}

#[cfg(feature = "real")]
fn world_of(choice: Choice) -> EntryWorld {
    match choice {
        Choice::Sim => EntryWorld::Simulator,
        Choice::Local => EntryWorld::Local,
        Choice::Given => impossible(choice, "a suite starts its servers itself".into()),
        #[cfg(feature = "docker")]
        Choice::Docker => EntryWorld::Docker,
        #[cfg(not(feature = "docker"))]
        Choice::Docker => impossible(choice, super::super::choice::NO_DOCKER.into()),
    }
}

/// Makes what the worlds need beforehand: an image is to be made once, and not by each of them.
pub fn prepare<'a>(mut worlds: impl Iterator<Item = &'a EntryWorld>) -> Result<(), BackendError> {
    #[cfg(feature = "docker")]
    if worlds.any(|world| matches!(world, EntryWorld::Docker)) {
        return docker::ensure_image(&|line| hint(line));
    }
    #[cfg(not(feature = "docker"))]
    worlds.by_ref().for_each(drop);
    Ok(())
}

#[cfg(not(feature = "real"))]
fn real(_: &SuiteEntry, _: SuiteBackend) -> EntryWorld {
    EntryWorld::Impossible { backend: "local", reason: super::super::NO_REAL.into() }
}

/// Makes one run in a world, on servers that were kept, if there are any for it.
pub fn run(
    setup: &Setup,
    world: &EntryWorld,
    #[cfg_attr(not(feature = "real"), expect(unused_variables, reason = "there are no servers"))]
    kept: &mut KeptWorlds,
    stop: &AtomicBool,
) -> Result<Run, BackendError> {
    match world {
        EntryWorld::Simulator if stop.load(Ordering::Relaxed) => {
            Err(BackendError("interrupted".into()))
        }
        EntryWorld::Simulator => simulate::run(setup),
        #[cfg(feature = "real")]
        EntryWorld::Local => on_servers(setup, &mut kept.local, stop),
        #[cfg(feature = "docker")]
        EntryWorld::Docker => on_servers(setup, &mut kept.docker, stop),
        EntryWorld::Impossible { reason, .. } => Err(BackendError(reason.clone())),
    }
}

#[cfg(feature = "real")]
fn on_servers<S: Servers>(
    setup: &Setup,
    kept: &mut Shelf<S>,
    stop: &AtomicBool,
) -> Result<Run, BackendError> {
    let mut backend = kept.backend(&setup.world())?;
    let info = setup.info_for(backend.name());
    let mut recorder = Recorder::in_memory();
    let mut watcher = UntilStopped(stop);
    let driven = drive(&mut backend, &setup.plan(), setup.nemeses(), &mut recorder, &mut watcher);
    kept.take_back(backend, driven.is_ok())?;
    match driven {
        Ok(()) | Err(DriveError::Interference(_)) => {
            Ok(Run { info, history: recorder.into_history(), ledger: None })
        }
        Err(error) => Err(BackendError(error.to_string())),
    }
}

/// Ends a run when the suite is to end.
#[cfg_attr(not(feature = "real"), expect(dead_code, reason = "only real runs take long"))]
struct UntilStopped<'a>(&'a AtomicBool);

impl Watcher for UntilStopped<'_> {
    fn goes_on(&mut self, _: Mono, _: usize) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}
