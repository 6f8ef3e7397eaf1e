//! What a simulated world is made of.

use base::{Node, Spread};
use std::collections::BTreeMap;
use std::time::Duration;
use stores::redis::script::Runner;
use stores::zookeeper::Timing;

/// What a simulated world is made of.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// How many seats for clients.
    pub clients: u32,
    /// How many servers.
    pub servers: u32,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The settings of a ZooKeeper ensemble.
    pub timing: Timing,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// How long a packet is on its way between a client and a server, each way.
    pub latency: Spread,
    /// The links, from one node to another, of which that is not true, and what is.
    pub links: BTreeMap<(Node, Node), Spread>,
    /// Who runs the scripts of Redis.
    pub scripts: Runner,
    /// Seeds everything.
    pub seed: u64,
    /// What each client is told first.
    pub init: base::Command,
}
