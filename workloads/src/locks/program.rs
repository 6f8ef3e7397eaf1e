//! A lock that a program of somebody else takes: it is opened by starting the program.

use base::{ProgramCommand, Shape};
use std::sync::Arc;
use std::time::Duration;
use stores::{StoreId, Topology};

use super::Opens;

/// The program that takes a lock, and the servers for which it was written.
#[derive(Clone, Debug)]
pub struct ProgramLock {
    /// The topology on which it usually runs.
    pub topology: &'static Topology,
    /// The store of these servers.
    pub store: StoreId,
    /// The command that starts it.
    pub command: ProgramCommand,
    /// The command that starts its server. `None`: picklock knows how.
    pub server: Option<ProgramCommand>,
    /// The longest time that it takes until it can be asked for the lock.
    pub start_up: Duration,
}

impl Opens for ProgramLock {
    fn store(&self) -> StoreId {
        self.store
    }

    fn shape(&self) -> Shape {
        self.topology.shape
    }

    fn own_ttl(&self) -> Option<Duration> {
        None
    }

    fn shared(&self) -> Arc<dyn Opens> {
        Arc::new(self.clone())
    }

    fn program(&self) -> Option<&ProgramCommand> {
        Some(&self.command)
    }

    fn start_up(&self) -> Duration {
        self.start_up
    }

    fn server(&self) -> Option<&ProgramCommand> {
        self.server.as_ref()
    }
}
