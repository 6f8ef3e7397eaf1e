//! The choice of a backend, and what is said of it.

use base::Ability;
use stores::WorldSpec;
#[cfg(feature = "real")]
use testbed::Readiness;

use super::Failure;
use crate::cli::BackendChoice;
use crate::manner::hint;
use crate::plan::FaultTiming;
use crate::setup::Setup;

/// The backend that was chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Sim,
    #[cfg(feature = "real")]
    Docker,
    #[cfg(feature = "real")]
    Local,
}

impl Choice {
    /// Returns its name, as `--backend` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            #[cfg(feature = "real")]
            Self::Docker => "docker",
            #[cfg(feature = "real")]
            Self::Local => "local",
        }
    }

    /// Returns what a replayed fault goes by: only the simulator repeats a time exactly.
    pub fn aim(self) -> FaultTiming {
        if self == Self::Sim { FaultTiming::Time } else { FaultTiming::Trigger }
    }
}

/// A backend for a run. What a fault script cannot have is refused with its line.
pub fn choose_for(setup: &Setup, asked: BackendChoice) -> Result<Choice, Failure> {
    let choose = |needs: &[Ability]| choose(asked, &setup.world(), needs);
    choose(&setup.needs()).map_err(|failure| {
        if choose(&[]).is_err() {
            return failure;
        }
        let refusal = |ability| choose(&[ability]).err().map(|why| why.to_string());
        setup.refused(refusal).map_or(failure, Failure::from)
    })
}

/// A backend for this world and faults that take this. Says in one line what `auto` took,
/// and how to get another.
#[cfg(feature = "real")]
pub fn choose(
    asked: BackendChoice,
    world: &WorldSpec,
    needs: &[Ability],
) -> Result<Choice, Failure> {
    let lacks = needs.iter().find(|ability| !testbed::can(**ability));
    match (asked, lacks) {
        (BackendChoice::Sim, _) => Ok(Choice::Sim),
        (BackendChoice::Auto, Some(ability)) => {
            hint(&format!("running in the simulator: real servers cannot {ability}"));
            Ok(Choice::Sim)
        }
        (BackendChoice::Docker | BackendChoice::Local, Some(ability)) => Err(Failure::arguments(
            format!("real servers cannot {ability}, which these faults take: give --backend sim"),
        )),
        (BackendChoice::Docker, None) => Ok(Choice::Docker),
        (BackendChoice::Local, None) => Ok(Choice::Local),
        (BackendChoice::Auto, None) => Ok(auto(world)),
    }
}

/// Takes the first backend that this machine is ready for.
#[cfg(feature = "real")]
fn auto(world: &WorldSpec) -> Choice {
    let (mut reasons, mut fixes) = (Vec::new(), Vec::new());
    for (choice, readiness) in [
        (Choice::Docker, docker_ready()),
        (Choice::Local, local::ready(world.store, world.topology)),
    ] {
        let Readiness::NotReady { reason, fix } = readiness else {
            let name = choice.name();
            let why: String = reasons.iter().map(|reason| format!(": {reason}")).collect();
            hint(&format!("running on real servers ({name}){why}; the simulator is --backend sim"));
            return choice;
        };
        reasons.push(reason);
        fixes.push(fix);
    }
    let (reasons, fixes) = (reasons.join(", and "), fixes.join(", or "));
    hint(&format!("running in the simulator: {reasons}; for real servers: {fixes}"));
    Choice::Sim
}

#[cfg(feature = "docker")]
fn docker_ready() -> Readiness {
    docker::ready()
}

#[cfg(all(feature = "real", not(feature = "docker")))]
fn docker_ready() -> Readiness {
    Readiness::not(&base::BackendError(NO_DOCKER.into()))
}

/// The error where Docker is asked for and this build cannot talk to it.
#[cfg(all(feature = "real", not(feature = "docker")))]
pub const NO_DOCKER: &str =
    "this picklock was built without Docker; fix: build it with the cargo feature `docker`";

#[cfg(not(feature = "real"))]
pub fn choose(
    asked: BackendChoice,
    _world: &WorldSpec,
    _needs: &[Ability],
) -> Result<Choice, Failure> {
    match asked {
        BackendChoice::Sim => Ok(Choice::Sim),
        BackendChoice::Docker | BackendChoice::Local => Err(Failure::could_not(super::NO_REAL)),
        BackendChoice::Auto => {
            hint(&format!("running in the simulator: {}", super::NO_REAL));
            Ok(Choice::Sim)
        }
    }
}
