//! Random faults over many seeds: whatever happens, members with their data lose nothing that was
//! acknowledged, agree with each other, and serve again after everything is healed.

use crate::model_network::ModelNetwork;
use crate::zookeeper::{CreateMode, Reply, Request, Timing, ZooKeeper};
use base::{Data, Node, Rng};
use std::collections::BTreeSet;
use std::time::Duration;

type TestNetwork = ModelNetwork<ZooKeeper>;

const FAST: Timing = Timing { tick: Duration::from_millis(200), init_limit: 5, sync_limit: 3 };

/// The settings of the configuration file that ZooKeeper comes with.
const SHIPPED: Timing = Timing { tick: Duration::from_secs(2), init_limit: 10, sync_limit: 5 };

struct Chaos {
    timing: Timing,
    network: TestNetwork,
    rng: Rng,
    size: u32,
    down: Option<u32>,
    paused: Option<u32>,
    /// The requests to create a node: client, number and path of each.
    asked: Vec<(u32, u64, String)>,
}

impl Chaos {
    fn new(seed: u64, timing: Timing) -> Self {
        let mut rng = Rng::new(seed);
        let size = if rng.chance(0.3) { 5 } else { 3 };
        let mut network = TestNetwork::ensemble(size, timing, seed);
        (0..3).for_each(|_| {
            network.client(timing.tick * 10);
        });
        Self { timing, network, rng, size, down: None, paused: None, asked: Vec::new() }
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
        let time = self.rng.between(self.timing.tick / 40, self.timing.tick * 9 / 2);
        self.network.run(time);
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
            self.network.start(server, Data::Kept);
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
    let acknowledged: usize = (0..100).map(|seed| healed(seed, FAST)).sum();
    assert!(acknowledged > 2_000, "too few to show anything: {acknowledged}");
}

#[test]
fn with_long_ticks_too() {
    let acknowledged: usize = (0..100).map(|seed| healed(seed, SHIPPED)).sum();
    assert!(acknowledged > 2_000, "too few to show anything: {acknowledged}");
}

/// Runs random faults, heals them, and checks what is left; returns the number of acknowledged
/// writes.
fn healed(seed: u64, timing: Timing) -> usize {
    let mut chaos = Chaos::new(seed, timing);
    (0..40).for_each(|_| chaos.step());
    chaos.network.heal();
    chaos.restart();
    chaos.resume();
    let mut network = chaos.network;
    let all = |n: &TestNetwork| n.servers.iter().all(super::Server::is_serving);
    let led = |n: &TestNetwork| n.leader().is_some();
    // A leader that nobody follows gives up, and then the next one is followed.
    let elected = timing.init() + timing.tick * 5;
    assert!(network.run_until(elected, led), "seed {seed}: no leader");
    assert!(network.run_until(timing.init() * 2, all), "seed {seed}: not healed");
    network.run(timing.tick * 40);
    assert!(all(&network), "seed {seed}: not stable");
    let first = network.servers[0].database();
    assert!(network.servers.iter().all(|s| s.database() == first), "seed {seed}: differ");
    let mut czxids = BTreeSet::new();
    for (client, number, path) in chaos.asked {
        if let Some(Ok(Reply::Created { czxid, .. })) = network.done.get(&(client, number)) {
            assert!(czxids.insert(*czxid), "seed {seed}: {czxid} twice");
            assert!(first.tree.node(&path).is_some(), "seed {seed}: {path} is lost");
        }
    }
    czxids.len()
}
