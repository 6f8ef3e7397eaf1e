//! The configuration of a simulated world.

use base::{Node, Spread};
use std::collections::BTreeMap;
use std::time::Duration;
use stores::Cluster;

/// The parts, times and seed of a simulated world.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// The number of clients.
    pub clients: u32,
    /// The servers that are simulated.
    pub cluster: Cluster,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The longest time a call may take.
    pub call_timeout: Duration,
    /// The delay of a packet between a client and a server, each way.
    pub latency: Spread,
    /// The links, from one node to another, that have a delay of their own.
    pub links: BTreeMap<(Node, Node), Spread>,
    /// The seed of everything random.
    pub seed: u64,
    /// The first command to each client.
    pub init: base::Command,
}
