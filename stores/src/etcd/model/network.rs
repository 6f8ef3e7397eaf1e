//! A cluster in virtual time, for tests and for comparisons with real ones.

use crate::etcd::{Etcd, Packet, Refusal, Reply, Request, Signal};
use crate::model_network::ModelNetwork;
use crate::zookeeper::Timing;
use crate::{Cluster, Store};
use base::Mono;
use std::time::Duration;

/// The answer to a request; `None` until it comes.
pub type ModelAnswer = Option<Result<Reply, Refusal>>;

impl ModelNetwork<Etcd> {
    /// Starts three members, and lets them elect a leader.
    pub fn etcd(seed: u64) -> Self {
        let cluster = Cluster::new(&Etcd::TOPOLOGIES[0], Etcd::TTL, Timing::of(Etcd::TTL));
        let mut network = Self::new(&cluster, Duration::from_secs(5), seed);
        for (tick, member) in network.ticks.iter_mut().zip(0..) {
            *tick = Some(Mono::from_nanos(1 + 7_000_000 * member));
        }
        network.run(Duration::from_secs(3));
        network
    }

    /// Asks a member, and waits for the answer for so long.
    pub fn ask_for(&mut self, server: u32, request: Request, limit: Duration) -> ModelAnswer {
        let asked = self.send(server, |id| Packet::Request { id, request });
        self.run_until(limit, |it| it.answer(asked).is_some());
        self.answer(asked)
    }

    /// Asks a member, and waits for the answer for as long as it takes one that can answer.
    pub fn ask(&mut self, server: u32, request: Request) -> ModelAnswer {
        self.ask_for(server, request, Duration::from_millis(200))
    }

    fn answer(&self, asked: u64) -> ModelAnswer {
        self.replies.iter().rev().find_map(|(_, packet)| match packet {
            Packet::Reply { id, result } if *id == asked => Some(result.clone()),
            _ => None,
        })
    }

    /// The signals of watches, each with the member that it came from.
    pub fn watch_signals(&self) -> Vec<(u32, Signal)> {
        let signal = |(server, packet): &(u32, Packet)| match packet {
            Packet::Signal(signal) => Some((*server, *signal)),
            _ => None,
        };
        self.replies.iter().filter_map(signal).collect()
    }

    /// The member that leads, of those that can be reached.
    pub fn leader(&self) -> Option<u32> {
        let members = 0..self.servers.len() as u32;
        members
            .filter(|member| self.is_reachable(*member))
            .find(|member| self.servers[*member as usize].is_leader())
    }
}
