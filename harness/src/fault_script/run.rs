//! The run that a fault script is for.

use base::ServerInfo;
use std::time::Duration;

/// The run that a script is for, as far as the script has to know it.
#[derive(Clone, Debug)]
pub struct ScriptedRun<'a> {
    /// The number of clients.
    pub clients: u32,
    /// The servers, by number.
    pub servers: &'a [ServerInfo],
    /// True if the servers talk to each other.
    pub peers: bool,
    /// True if the lock takes a majority of servers that know nothing of each other.
    pub several: bool,
    /// The lock's time to live.
    pub ttl: Duration,
    /// The time during which faults are injected.
    pub time_limit: Duration,
    /// The reason why the servers never evict anything, if so.
    pub junk: Result<(), &'static str>,
    /// The commands that clients can send to the servers.
    pub commands: Vec<&'static str>,
}
