//! `picklock clean`: removes what killed runs left behind.

use super::Failure;
use crate::Exit;
use crate::cli::CleanArgs;
#[cfg(feature = "real")]
use testbed::owner::Certainty;

#[cfg(feature = "real")]
pub fn run(args: CleanArgs) -> Result<Exit, Failure> {
    let certainty = if args.all { Certainty::NotSeen } else { Certainty::Ended };
    let cleaned = local::clean(certainty).map_err(Failure::could_not)?;
    let local::Cleaned { processes, folders } = cleaned;
    let mut removed = vec![counted(processes, "process", "processes")];
    removed.push(counted(folders, "folder", "folders"));
    removed.extend(of_docker(certainty));
    crate::output::say(&format!("removed {}\n", removed.join(", ")))?;
    Ok(Exit::Held)
}

/// Removes containers and networks, where there is an engine that could have some.
#[cfg(feature = "docker")]
fn of_docker(certainty: Certainty) -> Vec<String> {
    match docker::clean(certainty) {
        Ok(docker::Cleaned { containers, networks }) => {
            vec![
                counted(containers, "container", "containers"),
                counted(networks, "network", "networks"),
            ]
        }
        Err(error) => {
            crate::output::note(&format!("picklock: no containers were looked for: {error}"));
            Vec::new()
        }
    }
}

#[cfg(all(feature = "real", not(feature = "docker")))]
fn of_docker(_: Certainty) -> Vec<String> {
    Vec::new()
}

#[cfg(feature = "real")]
fn counted(number: usize, one: &str, many: &str) -> String {
    base::units::counted(number as u64, one, many)
}

#[cfg(not(feature = "real"))]
pub fn run(_: CleanArgs) -> Result<Exit, Failure> {
    Err(Failure::could_not(super::NO_REAL))
}
