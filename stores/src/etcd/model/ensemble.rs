//! A whole cluster on a wire of its own, for tests and for comparisons with real ones.

use super::Server;
use crate::etcd::timing::ElectionTiming;
use crate::etcd::{Packet, Refusal, Reply, Request, Signal};
use crate::model::{Clocks, Out, Peer, ServerModel};
use base::{Data, Mono, Rng, WallTime};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The time to live for which the members have their settings.
pub const TTL: Duration = Duration::from_secs(2);
const LAG: Duration = Duration::from_micros(200);
const SIZE: u32 = 3;

/// An answer to a request; `None` until it comes.
pub type ModelAnswer = Option<Result<Reply, Refusal>>;

/// The members, with the links between them. A client has a connection to each, of the same number.
pub struct ModelCluster {
    all: Vec<Server>,
    /// The members that run, paused ones among them.
    pub up: Vec<bool>,
    /// Members that do nothing.
    pub paused: BTreeSet<u32>,
    /// Members that are cut off from all others: what they send is held until the heal.
    pub cut: BTreeSet<u32>,
    held: Vec<(u32, u32, Packet)>,
    ticks: Vec<Mono>,
    wire: BTreeMap<(Mono, u64), (u32, u32, Packet)>,
    sent: u64,
    /// The time that has passed.
    pub now: Mono,
    seed: u64,
    answers: BTreeMap<u64, Result<Reply, Refusal>>,
    /// The signals of watches, each with the member it came from.
    pub signals: Vec<(u32, Signal)>,
    asked: u64,
}

impl ModelCluster {
    /// Starts the members, and lets them elect a leader.
    pub fn new(seed: u64) -> Self {
        let timing = ElectionTiming::of(TTL);
        let mut cluster = Self {
            all: (0..SIZE).map(|me| Server::new(me, SIZE, timing)).collect(),
            up: vec![true; SIZE as usize],
            paused: BTreeSet::new(),
            cut: BTreeSet::new(),
            held: Vec::new(),
            ticks: (0..SIZE).map(|me| Mono::from_nanos(1 + 7_000_000 * u64::from(me))).collect(),
            wire: BTreeMap::new(),
            sent: 0,
            now: Mono::ZERO,
            seed,
            answers: BTreeMap::new(),
            signals: Vec::new(),
            asked: 0,
        };
        cluster.run(Duration::from_secs(3));
        cluster
    }

    fn clocks(&self, server: u32) -> Clocks {
        let skew = Rng::fork(self.seed, server.into()).below(5_000_000_000);
        Clocks { wall: WallTime::from_nanos(self.now.nanos() + skew), mono: self.now }
    }

    fn carry(&mut self, from: u32, out: Vec<Out<Packet>>) {
        for out in out {
            match out {
                Out::Send(Peer::Server(to), packet) => self.send(from, to, packet),
                Out::Send(_, Packet::Reply { id, result }) => drop(self.answers.insert(id, result)),
                Out::Send(_, Packet::Signal(signal)) => self.signals.push((from, signal)),
                _ => {}
            }
        }
    }

    fn send(&mut self, from: u32, to: u32, packet: Packet) {
        if self.cut.contains(&from) || self.cut.contains(&to) {
            return self.held.push((from, to, packet));
        }
        self.sent += 1;
        self.wire.insert((self.now + LAG, self.sent), (from, to, packet));
    }

    /// Lets all that was held go on.
    pub fn heal(&mut self) {
        self.cut.clear();
        for (from, to, packet) in std::mem::take(&mut self.held) {
            self.send(from, to, packet);
        }
    }

    /// Sends a request to a member. Returns its number.
    pub fn submit(&mut self, server: u32, request: Request) -> u64 {
        self.asked += 1;
        let (clocks, mut out) = (self.clocks(server), Vec::new());
        let packet = Packet::Request { id: self.asked, request };
        self.all[server as usize].receive(clocks, Peer::Connection(1), packet, &mut out);
        self.carry(server, out);
        self.asked
    }

    /// Asks a member, and waits for the answer for so long.
    pub fn ask_for(&mut self, server: u32, request: Request, limit: Duration) -> ModelAnswer {
        let id = self.submit(server, request);
        let end = self.now + limit;
        while self.now < end && !self.answers.contains_key(&id) {
            self.run(Duration::from_millis(1));
        }
        self.answers.get(&id).cloned()
    }

    /// Asks a member, and waits for the answer for as long as it takes one that can answer.
    pub fn ask(&mut self, server: u32, request: Request) -> ModelAnswer {
        self.ask_for(server, request, Duration::from_millis(200))
    }

    /// Lets time pass.
    pub fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        loop {
            let packet = self.wire.first_key_value().map(|((at, _), _)| *at);
            let runs = |n: &u32| self.up[*n as usize] && !self.paused.contains(n);
            let tick = (0..SIZE).filter(runs).map(|n| (self.ticks[n as usize], n)).min();
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
        if self.paused.contains(&to) {
            self.held.push((from, to, packet));
        } else if self.up[to as usize] {
            let (clocks, mut out) = (self.clocks(to), Vec::new());
            self.all[to as usize].receive(clocks, Peer::Server(from), packet, &mut out);
            self.carry(to, out);
        }
    }

    fn tick(&mut self, server: u32) {
        let (clocks, mut out) = (self.clocks(server), Vec::new());
        let next = self.all[server as usize].tick(clocks, &mut out);
        self.ticks[server as usize] = next.expect("there is always a next one");
        self.carry(server, out);
    }

    /// Lets a paused member go on: its timers go off before it reads what has come.
    pub fn resume(&mut self, server: u32) {
        self.paused.remove(&server);
        self.tick(server);
        self.heal();
    }

    /// Starts a member again.
    pub fn start(&mut self, server: u32, data: Data) {
        let clocks = self.clocks(server);
        self.all[server as usize].restart(clocks, data);
        (self.up[server as usize], self.ticks[server as usize]) = (true, self.now);
    }

    /// The member that leads, of those that are up and not cut off.
    pub fn leader(&self) -> Option<u32> {
        let reached =
            |n: &u32| self.up[*n as usize] && !self.cut.contains(n) && !self.paused.contains(n);
        (0..SIZE).filter(reached).find(|n| self.all[*n as usize].is_leader())
    }
}
