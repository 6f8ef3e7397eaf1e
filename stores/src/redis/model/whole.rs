//! Whole topologies of models on a wire of their own, for tests and to be held against real servers.

use super::{Clocks, Out, Packet, Peer, ServerModel};
use crate::redis::conformance::{ClusterSubject, NO_CONNECTION, render};
use crate::redis::{Instance, Redis};
use crate::zookeeper::Timing;
use crate::{Cluster, Store, StoreId};
use base::{Data, Mono, Rng, WallTime};
use redis::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

pub const TTL: Duration = Duration::from_secs(4);
const LAG: Duration = Duration::from_micros(200);

/// The servers of a topology, with the links between them.
pub struct WholeTopology {
    pub all: Vec<Instance>,
    pub up: Vec<bool>,
    /// Pairs that are cut off from each other: nothing passes, and nothing is kept.
    pub cut: BTreeSet<(u32, u32)>,
    pub ticks: Vec<Mono>,
    wire: BTreeMap<(Mono, u64), (u32, u32, Packet)>,
    sent: u64,
    pub now: Mono,
    seed: u64,
}

impl WholeTopology {
    pub fn new(topology: &str, seed: u64) -> Self {
        let topology = StoreId::topology(topology).expect("it is in the list");
        let cluster = Cluster::new(topology, TTL, Timing::of(TTL));
        let all: Vec<Instance> = (0..6).map(|number| Redis::server(&cluster, number)).collect();
        Self {
            all,
            up: vec![true; 6],
            cut: BTreeSet::new(),
            ticks: vec![Mono::ZERO; 6],
            wire: BTreeMap::new(),
            sent: 0,
            now: Mono::ZERO,
            seed,
        }
    }

    fn clocks(&self, server: u32) -> Clocks {
        let skew = Rng::fork(self.seed, server.into()).below(5_000_000);
        let since = self.now.since(Mono::ZERO) + Duration::from_nanos(skew);
        Clocks { wall: WallTime::ZERO + Duration::from_secs(1_000_000) + since, mono: self.now }
    }

    fn carry(&mut self, from: u32, out: Vec<Out<Packet>>) -> Option<Value> {
        let mut reply = None;
        for out in out {
            match out {
                Out::Send(Peer::Server(to), packet) => {
                    self.sent += 1;
                    self.wire.insert((self.now + LAG, self.sent), (from, to, packet));
                }
                Out::Send(_, Packet::Reply { value, .. }) => reply = Some(*value),
                _ => {}
            }
        }
        reply
    }

    fn is_cut(&self, a: u32, b: u32) -> bool {
        self.cut.contains(&(a.min(b), a.max(b)))
    }

    pub fn ask(&mut self, server: u32, command: &redis::Cmd) -> Value {
        let (clocks, mut out) = (self.clocks(server), Vec::new());
        let packet = Packet::Request { id: 1, command: command.clone().into() };
        self.all[server as usize].receive(clocks, Peer::Connection(1), packet, &mut out);
        self.carry(server, out).expect("every request has a reply")
    }

    /// Lets time pass.
    pub fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            let packet = self.wire.first_key_value().map(|((at, _), _)| *at);
            let tick = (0..6).filter(|n| self.up[*n]).map(|n| (self.ticks[n], n)).min();
            match (packet, tick) {
                (Some(at), tick) if at <= end && tick.is_none_or(|(due, _)| at <= due) => {
                    self.now = self.now.max(at);
                    self.deliver();
                }
                (_, Some((due, server))) if due <= end => {
                    self.now = self.now.max(due);
                    self.tick(server);
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn deliver(&mut self) {
        let Some((_, (from, to, packet))) = self.wire.pop_first() else { return };
        if self.up[to as usize] && !self.is_cut(from, to) {
            let (clocks, mut out) = (self.clocks(to), Vec::new());
            self.all[to as usize].receive(clocks, Peer::Server(from), packet, &mut out);
            self.carry(to, out);
        }
    }

    fn tick(&mut self, server: usize) {
        let (clocks, mut out) = (self.clocks(server as u32), Vec::new());
        let next = self.all[server].tick(clocks, &mut out).expect("there is always a next one");
        self.ticks[server] = next;
        self.carry(server as u32, out);
    }

    pub fn crash(&mut self, server: u32) {
        let mut out = Vec::new();
        self.all[server as usize].hang_up(&mut out);
        self.carry(server, out);
        self.up[server as usize] = false;
    }

    pub fn start(&mut self, server: u32) {
        let clocks = self.clocks(server);
        self.all[server as usize].restart(clocks, Data::Kept);
        (self.up[server as usize], self.ticks[server as usize]) = (true, self.now);
    }

    /// Returns true if a server says that it is a master.
    #[cfg(test)]
    pub fn is_master(&mut self, server: u32) -> bool {
        let role = self.ask(server, &redis::cmd("ROLE"));
        matches!(role, Value::Array(words) if words[0] == bulk("master"))
    }
}

impl ClusterSubject for WholeTopology {
    fn ask(&mut self, member: usize, command: &redis::Cmd) -> io::Result<String> {
        Ok(match self.up[member] {
            true => render(&Self::ask(self, member as u32, command)).join("\n"),
            false => NO_CONNECTION.into(),
        })
    }

    fn cut_off(&mut self, member: usize) -> io::Result<()> {
        let pair = |other: u32| (other.min(member as u32), other.max(member as u32));
        self.cut.extend((0..6).filter(|other| *other != member as u32).map(pair));
        Ok(())
    }

    fn crash(&mut self, member: usize) -> io::Result<()> {
        Self::crash(self, member as u32);
        Ok(())
    }

    /// Nobody hears of it, and nothing arrives that was on its way.
    fn kill(&mut self, member: usize) -> io::Result<()> {
        self.cut_off(member)?;
        self.up[member] = false;
        Ok(())
    }

    fn start(&mut self, member: usize) -> io::Result<()> {
        self.cut.clear();
        Self::start(self, member as u32);
        Ok(())
    }

    fn now(&self) -> Duration {
        self.now.since(Mono::ZERO)
    }

    fn wait(&mut self, duration: Duration) {
        self.run(duration);
    }
}

#[cfg(test)]
pub fn bulk(text: &str) -> Value {
    Value::BulkString(text.into())
}
