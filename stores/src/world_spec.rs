//! What a backend is asked to set up.

use crate::Store;
use std::path::PathBuf;
use std::time::Duration;

/// The world of one run.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// The store.
    pub store: Store,
    /// How many servers.
    pub servers: u32,
    /// How many clients, each in a seat of its own.
    pub clients: u32,
    /// The lock that the clients use.
    pub algo: String,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// How long a call to a server may take.
    pub call_timeout: Duration,
    /// How long each client-server link delays, each way.
    pub link_delay: Duration,
    /// Seeds everything that is drawn.
    pub seed: u64,
    /// Where logs go (`log/` of the run folder). `None`: nowhere.
    pub logs: Option<PathBuf>,
}
