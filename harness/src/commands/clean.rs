//! `picklock clean`: removes what killed runs left behind.

use base::units::counted;

use super::Failure;
use crate::Exit;
use crate::cli::CleanArgs;
use crate::output::{note, say};
use crate::worlds::{self, Cleaned};

pub fn run(args: CleanArgs) -> Result<Exit, Failure> {
    let (mut parts, mut exit) = (Vec::new(), Exit::Held);
    // What is quick comes first.
    let mut worlds: Vec<_> = worlds::real().collect();
    worlds.sort_by_key(|world| world.is_made);
    for world in worlds {
        let Cleaned { removed, failures, notes } =
            (world.clean)(args.all).map_err(Failure::could_not)?;
        parts.extend(removed.iter().map(|(count, one, many)| counted(*count as u64, one, many)));
        failures.iter().chain(&notes).for_each(|line| note(&format!("picklock: {line}")));
        if !failures.is_empty() {
            exit = Exit::CouldNotRun;
        }
    }
    if parts.is_empty() {
        return Err(Failure::could_not("this build starts no real servers, and leaves nothing"));
    }
    say(&format!("removed {}\n", parts.join(", ")))?;
    Ok(exit)
}
