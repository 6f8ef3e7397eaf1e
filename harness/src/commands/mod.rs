//! The subcommands, a file each.

pub mod check;
pub mod clean;
mod judge;
pub mod list;
pub mod test;

use crate::Exit;
use std::fmt;

/// Why a command could not do its work: one line, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    line: String,
}

impl Failure {
    /// The arguments make no sense.
    pub fn arguments(line: impl Into<String>) -> Self {
        Self { exit: Exit::BadArguments, line: line.into() }
    }

    /// It could not be done.
    pub fn could_not(line: impl Into<String>) -> Self {
        Self { exit: Exit::CouldNotRun, line: line.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::could_not(format!("{error:#}"))
    }
}

/// `picklock client`.
pub fn client() -> Result<Exit, Failure> {
    #[cfg(feature = "docker")]
    return Ok(crate::client::run()?);
    #[cfg(not(feature = "docker"))]
    Err(Failure::could_not(NO_DOCKER))
}

/// What is said where real servers are asked for and this build has none.
#[cfg(not(feature = "docker"))]
pub const NO_DOCKER: &str =
    "this picklock was built without real servers; build it with the cargo feature `docker`";
