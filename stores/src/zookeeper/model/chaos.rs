//! Random faults over many seeds: whatever happens, members with their data lose nothing that was
//! acknowledged, agree with each other, and serve again after everything is healed.

use super::network::Network;
use crate::zookeeper::{CreateMode, Reply, Request, Timing};
use base::{Data, Node, Rng};
use std::collections::BTreeSet;
use std::time::Duration;

const TIMING: Timing = Timing { tick: Duration::from_millis(200), init_limit: 5, sync_limit: 3 };

struct Chaos {
    network: Network,
    rng: Rng,
    size: u32,
    down: Option<u32>,
    paused: Option<u32>,
    /// The requests to create a node: client, number and path of each.
    asked: Vec<(u32, u64, String)>,
}

impl Chaos {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let size = if rng.chance(0.3) { 5 } else { 3 };
        let mut network = Network::new(size, TIMING, seed);
        (0..3).for_each(|_| {
            network.client(Duration::from_secs(2));
        });
        Self { network, rng, size, down: None, paused: None, asked: Vec::new() }
    }

    fn server(&mut self) -> u32 {
        self.rng.below(u64::from(self.size)) as u32
    }

    fn step(&mut self) {
        for client in 0..3 {
            let path = format!("/{}", self.asked.len());
            let mode = CreateMode::Persistent;
            let create = Request::Create { path: path.clone(), data: Vec::new(), mode };
            let number = self.network.submit(client, create);
            self.asked.push((client, number, path));
        }
        match self.rng.below(8) {
            0 => self.crash(),
            1 => self.restart(),
            2 => self.pause(),
            3 => self.resume(),
            4 => {
                let server = self.server();
                self.network.isolate(server);
            }
            5 => {
                let (a, b) = (Node::Server(self.server()), Node::Server(self.server()));
                self.network.cut_one_way(a, b);
            }
            6 => self.network.heal(),
            _ => {}
        }
        let time = self.rng.between(Duration::from_millis(5), Duration::from_millis(900));
        self.network.run_for(time);
    }

    fn crash(&mut self) {
        let server = self.server();
        if self.down.is_none() && self.paused != Some(server) {
            self.network.crash(server);
            self.down = Some(server);
        }
    }

    fn restart(&mut self) {
        if let Some(server) = self.down.take() {
            self.network.restart(server, Data::Kept);
        }
    }

    fn pause(&mut self) {
        let server = self.server();
        if self.paused.is_none() && self.down != Some(server) {
            self.network.pause(Node::Server(server));
            self.paused = Some(server);
        }
    }

    fn resume(&mut self) {
        if let Some(server) = self.paused.take() {
            self.network.resume(Node::Server(server));
        }
    }
}

#[test]
fn members_with_their_data_lose_nothing_that_was_acknowledged() {
    let mut acknowledged = 0;
    for seed in 0..100 {
        let mut chaos = Chaos::new(seed);
        (0..40).for_each(|_| chaos.step());
        chaos.network.heal();
        chaos.restart();
        chaos.resume();
        let mut network = chaos.network;
        let all = |n: &Network| n.servers.iter().all(super::Server::is_serving);
        assert!(network.run_until(Duration::from_secs(10), all), "seed {seed}: not healed");
        network.run_for(Duration::from_secs(8));
        assert!(all(&network), "seed {seed}: not stable");
        let first = network.servers[0].database();
        assert!(network.servers.iter().all(|s| s.database() == first), "seed {seed}: differ");
        let mut czxids = BTreeSet::new();
        for (client, number, path) in chaos.asked {
            if let Some(Ok(Reply::Created { czxid, .. })) = network.done.get(&(client, number)) {
                acknowledged += 1;
                assert!(czxids.insert(*czxid), "seed {seed}: {czxid} twice");
                assert!(first.tree.node(&path).is_some(), "seed {seed}: {path} is lost");
            }
        }
    }
    assert!(acknowledged > 2_000, "too few to show anything: {acknowledged}");
}
