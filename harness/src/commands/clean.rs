//! `picklock clean`: removes what killed runs left behind.

use super::Failure;
use crate::Exit;

#[cfg(feature = "docker")]
pub fn run() -> Result<Exit, Failure> {
    let cleaned = docker::clean().map_err(Failure::could_not)?;
    let docker::Cleaned { containers, networks } = cleaned;
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    crate::output::say(&format!(
        "removed {containers} container{}, {networks} network{}\n",
        plural(containers),
        plural(networks)
    ))?;
    Ok(Exit::Held)
}

#[cfg(not(feature = "docker"))]
pub fn run() -> Result<Exit, Failure> {
    Err(Failure::could_not(super::NO_DOCKER))
}
