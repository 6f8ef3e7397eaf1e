//! What a simulated world is made of.

use std::time::Duration;

/// What a simulated world is made of.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// How many seats for clients.
    pub clients: u32,
    /// How many servers.
    pub servers: u32,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// How long each client-server link delays, each way.
    pub link_delay: Duration,
    /// Seeds everything.
    pub seed: u64,
    /// What each client is told first.
    pub init: base::Command,
}
