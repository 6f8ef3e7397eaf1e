//! Checks that a run can use servers that somebody else runs: client-side faults only, and keys of
//! its own.

use base::RunSpec;
use workloads::TestedLock;

use super::topology;

/// A mistake in asking for servers that somebody else runs. Each says what to give instead, in one
/// line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GivenError {
    /// The names are not those of the topology, each once.
    #[error("--servers has to name the servers of {topology}, each once: {}", .wanted.join(","))]
    Names {
        /// The name of the topology.
        topology: &'static str,
        /// The form of each server that is wanted.
        wanted: Vec<String>,
    },
    /// A lock on such servers cannot keep to keys of its own.
    #[error("--servers cannot be of {topology}: {why}; give --backend local instead")]
    Store {
        /// The name of the topology.
        topology: &'static str,
        /// The reason, as a clause.
        why: &'static str,
    },
    /// The nemesis hits servers.
    #[error(
        "the nemesis {nemesis} hits servers, and those of --servers belong to somebody else; give one \
         that hits clients and their links ({}), or --backend local", .able.join(", ")
    )]
    Nemesis {
        /// The name of the nemesis.
        nemesis: String,
        /// The nemeses that hit clients only.
        able: Vec<&'static str>,
    },
}

/// Checks it, if there are such servers.
///
/// # Errors
/// One line that names the mistake and its fix.
pub fn check(lock: &TestedLock, run: &RunSpec) -> Result<(), GivenError> {
    if run.servers.is_empty() {
        return Ok(());
    }
    check_names(lock, run)?;
    let topology = topology(lock, run);
    lock.store()
        .can_be_given(topology)
        .map_err(|why| GivenError::Store { topology: topology.name, why })?;
    if run.script.is_none() { check_nemeses(&run.nemesis) } else { Ok(()) }
}

fn check_names(lock: &TestedLock, run: &RunSpec) -> Result<(), GivenError> {
    let topology = topology(lock, run);
    let mut named: Vec<&str> = run.servers.iter().map(|server| &*server.name).collect();
    let nodes = topology.nodes();
    let mut wanted: Vec<&str> = nodes.iter().map(|node| &*node.name).collect();
    named.sort_unstable();
    wanted.sort_unstable();
    if named == wanted {
        return Ok(());
    }
    let wanted = nodes.iter().map(|node| format!("{}=host:port", node.name)).collect();
    Err(GivenError::Names { topology: topology.name, wanted })
}

fn check_nemeses(names: &str) -> Result<(), GivenError> {
    let is_able = |name: &&str| nemesis::OF_CLIENTS.iter().any(|able| able.name == *name);
    match names.split(',').find(|name| !is_able(name)) {
        None => Ok(()),
        Some(name) => {
            let able = nemesis::OF_CLIENTS.iter().map(|able| able.name).collect();
            Err(GivenError::Nemesis { nemesis: name.into(), able })
        }
    }
}

/// The addresses of the servers, by number.
pub fn addresses(lock: &TestedLock, run: &RunSpec) -> Vec<String> {
    let nodes = topology(lock, run).nodes();
    let of = |name: &str| run.servers.iter().find(|server| server.name == name);
    nodes.iter().filter_map(|node| of(&node.name)).map(|server| server.address.clone()).collect()
}
