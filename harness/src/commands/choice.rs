//! The choice of a backend, and what is said of it.

use base::Ability;
use stores::{StoreId, Topology, WorldSpec};
#[cfg(feature = "real")]
use testbed::{Lack, Readiness};

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
    /// Servers that somebody else runs.
    #[cfg(feature = "real")]
    Given,
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
            #[cfg(feature = "real")]
            Self::Given => "servers",
        }
    }

    /// Returns what a replayed fault goes by: only the simulator repeats a time exactly.
    pub fn aim(self) -> FaultTiming {
        if self == Self::Sim { FaultTiming::Time } else { FaultTiming::Trigger }
    }
}

/// A backend for a run. What a fault script cannot have is refused with its line.
pub fn choose_for(setup: &Setup, asked: BackendChoice) -> Result<Choice, Failure> {
    #[cfg(feature = "real")]
    check_bandwidths(setup)?;
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
    if world.toxiproxy.is_some() {
        check_toxiproxy(asked, world, needs)?;
    }
    let choice = match asked {
        _ if !world.given.is_empty() => Choice::Given,
        BackendChoice::Sim => return Ok(Choice::Sim),
        BackendChoice::Auto => return Ok(auto(world, needs)),
        BackendChoice::Docker => Choice::Docker,
        BackendChoice::Local => Choice::Local,
    };
    let Some(Lack { reason, fix }) = choice.lack(world.store, needs) else { return Ok(choice) };
    let or = fix.map(|fix| format!(", or {fix}")).unwrap_or_default();
    let line = format!("{reason}; the faults of this run need it: give --backend sim{or}");
    Err(Failure::arguments(line))
}

/// Checks that the links of a run can lead through Toxiproxy.
#[cfg(feature = "real")]
fn check_toxiproxy(
    asked: BackendChoice,
    world: &WorldSpec,
    needs: &[Ability],
) -> Result<(), Failure> {
    testbed::toxiproxy::is_built_in().map_err(Failure::could_not)?;
    let own = matches!(asked, BackendChoice::Docker | BackendChoice::Local);
    if world.given.is_empty() && !own {
        let line = "--links is for real servers that were asked for: give --backend local, \
                    --backend docker or --servers";
        return Err(Failure::arguments(line));
    }
    let lack = needs.iter().find_map(|ability| testbed::toxiproxy::can(*ability).err());
    lack.map_or(Ok(()), |Lack { reason, fix }| {
        let fix = fix.map(|fix| format!("; {fix}")).unwrap_or_default();
        Err(Failure::arguments(format!("{reason}{fix}")))
    })
}

/// Checks that Toxiproxy knows the bandwidths of a run whose links lead through it.
#[cfg(feature = "real")]
fn check_bandwidths(setup: &Setup) -> Result<(), Failure> {
    let odd = setup.bandwidths().into_iter().find(|rate| !testbed::toxiproxy::is_rate(*rate));
    match odd.filter(|_| setup.world().toxiproxy.is_some()) {
        None => Ok(()),
        Some(rate) => Err(Failure::arguments(format!(
            "Toxiproxy cannot limit a link to {rate} bytes a second: it counts in thousands of them; \
             give --fault-scale 1s to a nemesis, such a number in a script, or leave --links out"
        ))),
    }
}

/// Takes the first backend that can do these faults and that this machine is ready for.
#[cfg(feature = "real")]
fn auto(world: &WorldSpec, needs: &[Ability]) -> Choice {
    let (mut reasons, mut fixes) = (Vec::new(), Vec::new());
    for choice in [Choice::Docker, Choice::Local] {
        let lack = choice.lack(world.store, needs).or_else(|| {
            match choice.ready(world.store, world.topology) {
                Readiness::NotReady { reason, fix } => Some(Lack { reason, fix: Some(fix) }),
                Readiness::Ready => None,
            }
        });
        let Some(Lack { reason, fix }) = lack else {
            let name = choice.name();
            let why: String = reasons.iter().map(|reason| format!(": {reason}")).collect();
            hint(&format!("running on real servers ({name}){why}; the simulator is --backend sim"));
            return choice;
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
        fixes.extend(fix);
    }
    let fixes = match fixes.join(", or ") {
        none if none.is_empty() => none,
        some => format!("; for real servers: {some}"),
    };
    hint(&format!("running in the simulator: {}{fixes}", reasons.join(", and ")));
    Choice::Sim
}

#[cfg(feature = "real")]
impl Choice {
    /// The first lack of these abilities for a store, and rather one without a remedy.
    pub fn lack(self, store: StoreId, needs: &[Ability]) -> Option<Lack> {
        let lacks = needs.iter().filter_map(|ability| self.can(store, *ability).err());
        lacks.min_by_key(|lack| lack.fix.is_some())
    }

    fn can(self, store: StoreId, ability: Ability) -> Result<(), Lack> {
        match self {
            Self::Sim => Ok(()),
            Self::Docker => docker_can(store, ability),
            Self::Local => testbed::can::<local::LocalServers>(store, ability),
            Self::Given => testbed::can::<testbed::GivenServers>(store, ability),
        }
    }

    /// Tells a person whether it has an ability for a store.
    fn told(self, store: StoreId, ability: Ability) -> Result<(), Option<String>> {
        self.can(store, ability).map_err(|Lack { reason, fix }| {
            fix.map(|fix| format!("{}: {reason}: {fix}", self.name()))
        })
    }

    pub fn ready(self, store: StoreId, topology: &Topology) -> Readiness {
        match self {
            // Whether they are there is seen when they are used.
            Self::Sim | Self::Given => Readiness::Ready,
            Self::Docker => docker_ready(),
            Self::Local => local::ready(store, topology),
        }
    }
}

#[cfg(feature = "docker")]
fn docker_can(store: StoreId, ability: Ability) -> Result<(), Lack> {
    testbed::can::<docker::DockerServers>(store, ability)
}

/// The same as processes can: that there are no containers is said of all of them at once.
#[cfg(all(feature = "real", not(feature = "docker")))]
fn docker_can(store: StoreId, ability: Ability) -> Result<(), Lack> {
    testbed::can::<local::LocalServers>(store, ability)
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

/// The readiness of a backend for a topology.
pub type Ready = Result<(), NotReady>;

/// The reason why servers cannot be started at once, and the remedy.
#[derive(Clone)]
pub struct NotReady {
    pub reason: String,
    pub fix: String,
    /// Both, in one line.
    pub line: String,
}

/// Asks a backend for its readiness for a topology.
pub type ReadyQuestion = Box<dyn Fn(StoreId, &Topology) -> Ready>;

/// A backend of real servers, with the question whether it is ready for a topology.
pub struct RealBackendEntry {
    pub name: &'static str,
    pub ready: ReadyQuestion,
    /// Tells whether it has an ability for a store; if not, in one line how to get it, if there is a
    /// way.
    pub can: fn(StoreId, Ability) -> Result<(), Option<String>>,
}

/// The backends of real servers of this build. The Docker daemon is asked once.
#[cfg(feature = "real")]
pub fn real_backends() -> Vec<RealBackendEntry> {
    let told = |backend: Choice, readiness: &Readiness| match readiness {
        Readiness::Ready => Ok(()),
        Readiness::NotReady { reason, fix } => {
            let line = format!("{}: {reason}: {fix}", backend.name());
            Err(NotReady { reason: reason.clone(), fix: fix.clone(), line })
        }
    };
    let docker = told(Choice::Docker, &docker_ready());
    vec![
        RealBackendEntry {
            name: Choice::Docker.name(),
            ready: Box::new(move |_, _| docker.clone()),
            can: |store, ability| Choice::Docker.told(store, ability),
        },
        RealBackendEntry {
            name: Choice::Local.name(),
            ready: Box::new(move |store, on| told(Choice::Local, &local::ready(store, on))),
            can: |store, ability| Choice::Local.told(store, ability),
        },
    ]
}

/// Checks that links of a run can lead through Toxiproxy in this build.
#[cfg(feature = "real")]
pub fn toxiproxy() -> Result<(), String> {
    testbed::toxiproxy::is_built_in().map_err(|why| why.to_string())
}

/// Checks that links of a run can lead through Toxiproxy in this build: there are none.
#[cfg(not(feature = "real"))]
pub fn toxiproxy() -> Result<(), String> {
    Err(super::NO_REAL.into())
}

/// The backends of real servers of this build: none.
#[cfg(not(feature = "real"))]
pub fn real_backends() -> Vec<RealBackendEntry> {
    Vec::new()
}

#[cfg(not(feature = "real"))]
pub fn choose(
    asked: BackendChoice,
    world: &WorldSpec,
    _needs: &[Ability],
) -> Result<Choice, Failure> {
    match asked {
        _ if !world.given.is_empty() || world.toxiproxy.is_some() => {
            Err(Failure::could_not(super::NO_REAL))
        }
        BackendChoice::Sim => Ok(Choice::Sim),
        BackendChoice::Docker | BackendChoice::Local => Err(Failure::could_not(super::NO_REAL)),
        BackendChoice::Auto => {
            hint(&format!("running in the simulator: {}", super::NO_REAL));
            Ok(Choice::Sim)
        }
    }
}
