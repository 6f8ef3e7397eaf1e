//! A lock that a program of somebody else takes: it is opened by starting the program.

use base::{ClientCommand, Shape};
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
    pub command: ClientCommand,
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

    fn program(&self) -> Option<&ClientCommand> {
        Some(&self.command)
    }
}
