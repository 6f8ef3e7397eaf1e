//! The mistakes in what was asked for.

use base::ServersNeeded;
use stores::zookeeper::TimingError;

use super::given::GivenError;
use super::program::ProgramError;
use crate::fault_script::ScriptError;
use crate::nearest::Unlisted;

/// A mistake in what was asked for. Each says what to give instead, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// A name is not in its list.
    #[error(transparent)]
    Unlisted(#[from] Unlisted),
    /// The fault script has a mistake, or is not for this run.
    #[error(transparent)]
    Script(#[from] Box<ScriptError>),
    /// The run cannot use servers that somebody else runs.
    #[error(transparent)]
    Given(#[from] GivenError),
    /// The run cannot have a program of somebody else for its clients.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The lock does not run on the topology.
    #[error("{lock} does not run on {asked}: give {}", .known.join(" or "))]
    Topology {
        /// The name of the lock.
        lock: String,
        /// The name of the topology.
        asked: String,
        /// The topologies on which it runs.
        known: Vec<&'static str>,
    },
    /// The lock does not promise what the task needs.
    #[error("the task {task} needs {needs}, and {lock} is none: give {remedy}")]
    Task {
        /// The name of the task.
        task: &'static str,
        /// The kind of lock that it needs.
        needs: &'static str,
        /// The name of the lock.
        lock: String,
        /// The remedy.
        remedy: String,
    },
    /// A property is demanded of a lock that cannot be judged by it.
    #[error("{property} cannot be demanded of {lock}: {why}; leave --demand {property} out")]
    Demand {
        /// The name of the property.
        property: &'static str,
        /// The name of the lock.
        lock: String,
        /// The reason, as a clause.
        why: &'static str,
    },
    /// The nemesis fills servers that never evict.
    #[error("the nemesis {nemesis} does nothing to {lock}: {why}; give --algo {}", .able.join(" or "))]
    Eviction {
        /// The name of the nemesis.
        nemesis: &'static str,
        /// The name of the lock.
        lock: String,
        /// The reason why its servers never evict.
        why: &'static str,
        /// The locks whose servers do.
        able: Vec<&'static str>,
    },
    /// The nemesis waits for holders where nobody holds the lock for any time.
    #[error(
        "the nemesis {nemesis} waits for a client that holds the lock, and those of the task {task} \
         release it at once: give --task contend, or a nemesis such as crash-server"
    )]
    NoHolds {
        /// The name of the nemesis.
        nemesis: &'static str,
        /// The name of the task.
        task: &'static str,
    },
    /// The nemesis has a replica promoted where there is none.
    #[error(
        "the nemesis {nemesis} does nothing to {lock} on {topology}, which has no primary to \
         replace{}",
        match .able.as_slice() { [] => String::new(), able => format!("; give --on {}", able.join(" or ")) }
    )]
    Primary {
        /// The name of the nemesis.
        nemesis: &'static str,
        /// The name of the lock.
        lock: String,
        /// The name of the topology.
        topology: &'static str,
        /// The topologies on which the lock meets it.
        able: Vec<&'static str>,
    },
    /// The nemesis has too few servers to act on.
    #[error(
        "the nemesis {nemesis} needs {} servers{}, and {lock} on {on} has fewer: give {}",
        .needed.least,
        if .needed.peers { " that talk to each other" } else { "" },
        match .able.as_slice() {
            [] => "--nemesis partition".to_owned(),
            able => format!("--on {}", able.join(" or ")),
        }
    )]
    Servers {
        /// The name of the nemesis.
        nemesis: &'static str,
        /// The servers that it needs.
        needed: ServersNeeded,
        /// The name of the lock.
        lock: String,
        /// The name of the topology.
        on: &'static str,
        /// The topologies on which the lock meets it.
        able: Vec<&'static str>,
    },
    /// A number is too small or too large.
    #[error("{flag} {given} is out of range: give {low} to {high}")]
    OutOfRange {
        /// The flag that sets the number.
        flag: &'static str,
        /// The number that was given.
        given: String,
        /// The least number.
        low: String,
        /// The greatest number.
        high: String,
    },
    /// Only a world without time has a ttl that never runs out.
    #[error("--ttl unlimited needs --exhaustive: give 100ms to 10m")]
    Unlimited,
    /// No ensemble of ZooKeeper accepts the settings.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The store has no settings of its servers.
    #[error(
        "--tick and --sync-limit are settings of ZooKeeper, and {lock} is on {store}: leave them \
         out"
    )]
    Untimed {
        /// The name of the lock.
        lock: String,
        /// The name of its store.
        store: &'static str,
    },
}

impl SetupError {
    /// A number beyond its limits.
    pub(super) fn out_of_range(
        flag: &'static str,
        given: impl ToString,
        low: impl ToString,
        high: impl ToString,
    ) -> Self {
        let (given, low, high) = (given.to_string(), low.to_string(), high.to_string());
        Self::OutOfRange { flag, given, low, high }
    }
}
