//! Servers that somebody else runs, as an argument.

use base::{NamedServer, RunSpec};
use clap::Args;

/// Servers that somebody else runs.
#[derive(Args)]
pub struct ServersArgs {
    /// Servers that somebody else runs, in the place of a backend: those of the topology by their
    /// names. Faults hit clients and their links only, and all keys have a name of the run in front
    /// and are removed at the end.
    #[arg(long, value_name = "NAME=HOST:PORT", value_delimiter = ',', conflicts_with = "backend")]
    pub servers: Vec<NamedServer>,
}

impl ServersArgs {
    /// Returns the run on these servers, if there are any.
    pub fn under(&self, run: RunSpec) -> RunSpec {
        RunSpec { servers: self.servers.clone(), ..run }
    }
}
