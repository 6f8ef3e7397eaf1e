//! The choice of a world for a run.

use base::{Ability, Lack, Readiness};
use std::fmt::Write;
use stores::WorldSpec;

use super::{RunWorld, SIMULATOR, given, not_built, real, toxiproxy};
use crate::output_style::hint;
use crate::setup::{Setup, SetupError};

/// The reason why no world can be had for a run. Each names the remedy, in one line.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// Something is asked for that the world does not do.
    #[error("{0}")]
    Refused(String),
    /// A fault script asks for it.
    #[error(transparent)]
    Script(#[from] SetupError),
    /// This build does not have the world.
    #[error("{0}")]
    Absent(String),
}

/// Chooses a world for a run; `None` asks for the best that this machine is ready for. What a fault
/// script cannot have is refused with its line.
///
/// # Errors
/// Fails when the world that was asked for cannot do what the run needs.
pub fn choose_for(
    setup: &Setup,
    asked: Option<&'static RunWorld>,
) -> Result<&'static RunWorld, ChoiceError> {
    check_bandwidths(setup)?;
    let choose = |needs: &[Ability]| choose(asked, &setup.world, needs);
    choose(&setup.needs()).map_err(|failure| {
        if choose(&[]).is_err() {
            return failure;
        }
        let refusal = |ability| choose(&[ability]).err().map(|why| why.to_string());
        setup.refused(refusal).map_or(failure, ChoiceError::from)
    })
}

/// Chooses a world for these servers and faults that need these abilities. Says in one line what
/// was taken where nothing was asked for, and how to get another.
///
/// # Errors
/// As for [`choose_for`].
pub fn choose(
    asked: Option<&'static RunWorld>,
    spec: &WorldSpec,
    needs: &[Ability],
) -> Result<&'static RunWorld, ChoiceError> {
    if spec.toxiproxy.is_some() {
        check_toxiproxy(asked, spec, needs)?;
    }
    if spec.client.is_some() {
        return choose_real(asked, spec, needs);
    }
    let world = match asked {
        _ if !spec.given.is_empty() => &given::WORLD,
        Some(world) => world,
        None => return Ok(best(spec, needs)),
    };
    check_world(world, spec, needs)
}

/// Chooses a world for clients that are a program of somebody else: the simulator cannot be one.
fn choose_real(
    asked: Option<&'static RunWorld>,
    spec: &WorldSpec,
    needs: &[Ability],
) -> Result<&'static RunWorld, ChoiceError> {
    let refuse = |why: &str| {
        let line = format!("a program runs on real servers only: {why}");
        Err(ChoiceError::Refused(line))
    };
    match asked {
        _ if !spec.given.is_empty() => check_world(&given::WORLD, spec, needs),
        Some(world) if world.is_real() => check_world(world, spec, needs),
        Some(_) => refuse("give --backend local or docker, or --servers"),
        None => choose_among(real(), spec, needs).or_else(|(reasons, fixes)| {
            refuse(&format!("{}; {}", reasons.join(", and "), fixes.join(", or ")))
        }),
    }
}

/// Checks that a world can do what a run needs.
fn check_world(
    world: &'static RunWorld,
    spec: &WorldSpec,
    needs: &[Ability],
) -> Result<&'static RunWorld, ChoiceError> {
    if !world.is_built {
        return Err(ChoiceError::Absent(not_built().to_string()));
    }
    let Some(Lack { reason, fix }) = world.lack(spec.store, needs) else { return Ok(world) };
    let line = match (fix, &spec.client) {
        (fix, None) => {
            let or = fix.map(|fix| format!(", or {fix}")).unwrap_or_default();
            format!("{reason}; the faults of this run need it: give --backend sim{or}")
        }
        (Some(fix), Some(_)) => format!("{reason}; this run needs it: give {fix}"),
        (None, Some(_)) => format!("{reason}; this run needs it"),
    };
    Err(ChoiceError::Refused(line))
}

/// Checks that the links of a run can lead through Toxiproxy.
fn check_toxiproxy(
    asked: Option<&RunWorld>,
    spec: &WorldSpec,
    needs: &[Ability],
) -> Result<(), ChoiceError> {
    toxiproxy::is_built_in().map_err(ChoiceError::Absent)?;
    if spec.given.is_empty() && !asked.is_some_and(RunWorld::is_real) {
        let line = "--links is for real servers that were asked for: give --backend local, \
                    --backend docker or --servers";
        return Err(ChoiceError::Refused(line.into()));
    }
    let lack = needs.iter().find_map(|ability| toxiproxy::can(*ability).err());
    lack.map_or(Ok(()), |Lack { reason, fix }| {
        let fix = fix.map(|fix| format!("; {fix}")).unwrap_or_default();
        Err(ChoiceError::Refused(format!("{reason}{fix}")))
    })
}

/// Checks that Toxiproxy knows the bandwidths of a run whose links lead through it.
fn check_bandwidths(setup: &Setup) -> Result<(), ChoiceError> {
    let odd = setup.bandwidths().into_iter().find(|rate| !toxiproxy::is_rate(*rate));
    match odd.filter(|_| setup.world.toxiproxy.is_some()) {
        None => Ok(()),
        Some(rate) => Err(ChoiceError::Refused(format!(
            "Toxiproxy cannot limit a link to {rate} bytes a second: it counts in thousands of them; \
             give --fault-scale 1s to a nemesis, such a number in a script, or leave --links out"
        ))),
    }
}

/// Takes the first world of real servers that can do these faults and that this machine is ready
/// for, else the simulator.
fn best(spec: &WorldSpec, needs: &[Ability]) -> &'static RunWorld {
    choose_among(real(), spec, needs).unwrap_or_else(|(reasons, fixes)| {
        let fixes = match fixes.join(", or ") {
            none if none.is_empty() => none,
            some => format!("; for real servers: {some}"),
        };
        hint(&format!("running in the simulator: {}{fixes}", reasons.join(", and ")));
        SIMULATOR
    })
}

/// Takes the first of these worlds that can do these faults and that this machine is ready for,
/// and says so; or returns the reasons why there is none, and the remedies.
fn choose_among(
    worlds: impl Iterator<Item = &'static RunWorld>,
    spec: &WorldSpec,
    needs: &[Ability],
) -> Result<&'static RunWorld, (Vec<String>, Vec<String>)> {
    let (mut reasons, mut fixes, mut passed_over) = (Vec::new(), Vec::new(), String::new());
    for world in worlds {
        let Some(Lack { reason, fix }) = obstacle(world, spec, needs) else {
            let name = world.name;
            let simulator = match spec.client {
                None => "; the simulator is --backend sim",
                Some(_) => "",
            };
            hint(&format!("running on real servers ({name}){passed_over}{simulator}"));
            return Ok(world);
        };
        write!(passed_over, "; {} was passed over: {reason}", world.name).expect("a text");
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
        fixes.extend(fix.filter(|fix| !fixes.contains(fix)));
    }
    Err((reasons, fixes))
}

/// Returns the reason why a run cannot be made at once in a world.
fn obstacle(world: &RunWorld, spec: &WorldSpec, needs: &[Ability]) -> Option<Lack> {
    if spec.client.is_some() && !world.is_real() {
        return Some(Lack { reason: "a program runs on real servers only".into(), fix: None });
    }
    world.lack(spec.store, needs).or_else(|| match (world.ready)(spec.store, spec.topology) {
        Readiness::Ready => None,
        Readiness::NotReady { reason, fix } => Some(Lack { reason, fix: Some(fix) }),
    })
}

/// Returns the first of these worlds in which a run can be made, where what is missing may be made
/// first.
///
/// # Errors
/// Fails with the reasons.
pub fn choose_of(worlds: &[&'static RunWorld], setup: &Setup) -> Result<&'static RunWorld, String> {
    let (spec, needs) = (&setup.world, setup.needs());
    let mut reasons = Vec::new();
    for world in worlds {
        let obstacle = match world.is_made {
            true if world.is_real() => world.lack(spec.store, &needs),
            _ => obstacle(world, spec, &needs),
        };
        match obstacle {
            None => return Ok(world),
            Some(Lack { reason, fix }) => {
                reasons.push(fix.map_or(reason.clone(), |fix| format!("{reason}: {fix}")));
            }
        }
    }
    Err(reasons.join("; "))
}
