//! The configuration of a simulated world.

use base::{Node, Spread};
use std::collections::BTreeMap;
use std::time::Duration;
use stores::zookeeper::Timing;

/// The parts, times and seed of a simulated world.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// The number of seats for clients.
    pub clients: u32,
    /// The number of servers.
    pub servers: u32,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The settings of a ZooKeeper ensemble.
    pub timing: Timing,
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
