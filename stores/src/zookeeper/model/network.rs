//! An ensemble and its clients in virtual time, for tests.

use crate::model_network::ModelNetwork;
use crate::zookeeper::{SessionState, Signal, Timing, WatchEvent, WatchId, ZooKeeper};
use crate::{Cluster, Group, Shape, Store, Topology};
use std::time::Duration;

/// A server without others.
static STANDALONE: Topology = Topology {
    name: "zookeeper",
    summary: "one ZooKeeper server",
    shape: Shape::One,
    groups: &[Group { role: "member", count: 1, peers: true }],
};

impl ModelNetwork<ZooKeeper> {
    /// An ensemble of one, three or five members.
    pub fn ensemble(size: u32, timing: Timing, seed: u64) -> Self {
        let topology = match size {
            1 => &STANDALONE,
            3 => &ZooKeeper::TOPOLOGIES[0],
            _ => &ZooKeeper::TOPOLOGIES[1],
        };
        let cluster = Cluster::new(topology, timing.tick * 10, timing);
        let mut network = Self::new(&cluster, Duration::ZERO, seed);
        network.latency = Duration::from_millis(1);
        network
    }

    /// A client that has connected.
    pub fn connected(&mut self, session_timeout: Duration) -> u32 {
        let id = self.client(session_timeout);
        let up = |n: &Self| n.state(id) == SessionState::Connected;
        assert!(self.run_until(Duration::from_secs(10), up), "client {id} never connected");
        id
    }

    /// The last state of a client's session that the client has heard of, and the session.
    fn last_state(&self, client: u32) -> Option<(SessionState, i64)> {
        self.signals.iter().rev().find_map(|(_, id, signal)| match signal {
            Signal::State { state, session } if *id == client => Some((*state, *session)),
            _ => None,
        })
    }

    /// The state of a client's session.
    pub fn state(&self, client: u32) -> SessionState {
        self.last_state(client).map_or(SessionState::Disconnected, |(state, _)| state)
    }

    /// The number of a client's session.
    pub fn session(&self, client: u32) -> Option<i64> {
        self.last_state(client).map(|(_, session)| session)
    }

    /// The event of a client's watch, if it has fired.
    pub fn fired(&self, client: u32, watch: WatchId) -> Option<WatchEvent> {
        self.signals.iter().find_map(|(_, id, signal)| match signal {
            Signal::Fired { watch: fired, event } if (*id, *fired) == (client, watch) => {
                Some(*event)
            }
            _ => None,
        })
    }

    /// The server that leads.
    pub fn leader(&self) -> Option<u32> {
        let leads = |id: &usize| self.servers[*id].is_leader() && self.up[*id];
        (0..self.servers.len()).find(leads).map(|id| id as u32)
    }
}
