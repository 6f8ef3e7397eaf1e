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
    let exit = remove_of_docker(certainty, &mut removed);
    crate::output::say(&format!("removed {}\n", removed.join(", ")))?;
    Ok(exit)
}

/// Removes containers and networks, where there is an engine that could have some.
#[cfg(feature = "docker")]
fn remove_of_docker(certainty: Certainty, removed: &mut Vec<String>) -> Exit {
    use crate::output::note;
    match docker::clean(certainty) {
        Ok(docker::Cleaned { containers, networks, failures }) => {
            removed.push(counted(containers, "container", "containers"));
            removed.push(counted(networks, "network", "networks"));
            failures.iter().for_each(|failure| note(&format!("picklock: {failure}")));
            if failures.is_empty() { Exit::Held } else { Exit::CouldNotRun }
        }
        Err(error) => {
            note(&format!("picklock: no containers were looked for: {error}"));
            Exit::Held
        }
    }
}

#[cfg(all(feature = "real", not(feature = "docker")))]
fn remove_of_docker(_: Certainty, _: &mut [String]) -> Exit {
    Exit::Held
}

#[cfg(feature = "real")]
fn counted(number: usize, one: &str, many: &str) -> String {
    base::units::counted(number as u64, one, many)
}

#[cfg(not(feature = "real"))]
pub fn run(_: CleanArgs) -> Result<Exit, Failure> {
    Err(Failure::could_not(super::NO_REAL))
}
