//! Whole topologies of models on a wire of their own: one failover, step by step, and random faults
//! after which all must come to agree.

use crate::model::{Clocks, Out, Peer, ServerModel};
use crate::redis::{Instance, Packet, Redis, SentinelTiming};
use crate::zookeeper::Timing;
use crate::{Cluster, Store, StoreId, node_number};
use base::{Data, Mono, Rng, WallTime};
use redis::{FromRedisValue, Value, cmd};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(4);
const DATA: [u32; 3] = [0, 1, 2];
const SENTINELS: [u32; 3] = [3, 4, 5];
const LAG: Duration = Duration::from_micros(200);
const SECOND: Duration = Duration::from_secs(1);

struct Servers {
    all: Vec<Instance>,
    up: Vec<bool>,
    /// Pairs that are cut off from each other: nothing passes, and nothing is kept.
    cut: BTreeSet<(u32, u32)>,
    ticks: Vec<Mono>,
    wire: BTreeMap<(Mono, u64), (u32, u32, Packet)>,
    sent: u64,
    now: Mono,
    seed: u64,
}

impl Servers {
    fn new(seed: u64) -> Self {
        let topology = StoreId::topology("redis-sentinel").expect("it is in the list");
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

    fn ask(&mut self, server: u32, command: &redis::Cmd) -> Value {
        let (clocks, mut out) = (self.clocks(server), Vec::new());
        let packet = Packet::Request { id: 1, command: command.clone().into() };
        self.all[server as usize].receive(clocks, Peer::Connection(1), packet, &mut out);
        self.carry(server, out).expect("every request has a reply")
    }

    /// Lets time pass.
    fn run(&mut self, duration: Duration) {
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

    fn crash(&mut self, server: u32) {
        let mut out = Vec::new();
        self.all[server as usize].hang_up(&mut out);
        self.carry(server, out);
        self.up[server as usize] = false;
    }

    fn start(&mut self, server: u32) {
        let clocks = self.clocks(server);
        self.all[server as usize].restart(clocks, Data::Kept);
        (self.up[server as usize], self.ticks[server as usize]) = (true, self.now);
    }

    /// The primary that a Sentinel names.
    fn told(&mut self, sentinel: u32) -> u32 {
        let ask = cmd("SENTINEL").arg("get-master-addr-by-name").arg("picklock").clone();
        let told = self.ask(sentinel, &ask);
        let (name, port) = <(String, u16)>::from_redis_value_ref(&told).expect("an address");
        assert_eq!(port, 6379);
        node_number(&name).expect("the name of a server")
    }

    fn is_master(&mut self, server: u32) -> bool {
        matches!(self.ask(server, &cmd("ROLE")), Value::Array(it) if it[0] == bulk("master"))
    }

    /// The primary that all Sentinels name, if they agree.
    fn agreed(&mut self) -> Option<u32> {
        let told: BTreeSet<u32> = SENTINELS.iter().map(|it| self.told(*it)).collect();
        (told.len() == 1).then(|| told.into_iter().next()).flatten()
    }
}

fn bulk(text: &str) -> Value {
    Value::BulkString(text.into())
}

/// The time from the death of a primary until all Sentinels name another that is one.
fn failover(seed: u64) -> Duration {
    let mut servers = Servers::new(seed);
    servers.run(SECOND * 3 + Duration::from_millis(seed * 7 % 1_000));
    servers.crash(0);
    let begun = servers.now;
    while servers.agreed() == Some(0) || servers.agreed().is_none() {
        servers.run(Duration::from_millis(5));
        assert!(servers.now.since(begun) < SECOND * 20, "seed {seed}");
    }
    let primary = servers.agreed().expect("they agree");
    assert!(servers.is_master(primary), "seed {seed}");
    servers.now.since(begun)
}

/// Twelve real ones took 1.50 to 1.69 s with these settings.
#[test]
fn a_primary_that_dies_is_replaced_in_time() {
    let took: Vec<Duration> = (0..200).map(failover).collect();
    let (least, most) = (took.iter().min().copied(), took.iter().max().copied());
    let all: Duration = took.iter().sum();
    assert!(least > Some(Duration::from_millis(1_300)), "{least:?}");
    assert!(most < Some(Duration::from_millis(1_900)), "{most:?}");
    let mean = all / took.len() as u32;
    assert!((1_450..1_650).contains(&mean.as_millis()), "{mean:?}");
}

#[test]
fn who_was_the_primary_follows_the_new_one_in_the_end_and_loses_what_it_alone_has() {
    let mut servers = Servers::new(1);
    servers.run(SECOND);
    servers.ask(0, cmd("SET").arg("k").arg("old"));
    servers.run(SECOND);
    servers.cut.extend([(0, 1), (0, 2)]);
    servers.ask(0, cmd("SET").arg("k").arg("lost"));
    servers.crash(0);
    servers.run(SECOND * 3);
    servers.cut.clear();
    servers.start(0);
    let primary = servers.agreed().expect("they agree");
    assert_ne!(primary, 0);
    assert_eq!(servers.ask(primary, cmd("GET").arg("k")), bulk("old"));
    servers.run(SECOND * 6);
    assert!(servers.is_master(0), "for as long as news may be on its way");
    assert_eq!(servers.ask(0, cmd("GET").arg("k")), bulk("lost"));
    servers.run(SECOND * 10);
    assert!(!servers.is_master(0));
    assert_eq!(servers.ask(0, cmd("GET").arg("k")), bulk("old"));
}

/// The servers of which one or two are crashed or cut off now.
fn disturb(servers: &mut Servers, rng: &mut Rng) {
    let server = rng.below(6) as u32;
    match rng.below(4) {
        0 if servers.up.iter().filter(|up| **up).count() > 4 && servers.up[server as usize] => {
            servers.crash(server);
        }
        0 | 1 => revive(servers),
        2 => servers.cut.extend((0..6).map(|other| (server.min(other), server.max(other)))),
        _ => servers.cut.clear(),
    }
}

fn revive(servers: &mut Servers) {
    for server in 0..6 {
        if !servers.up[server as usize] {
            servers.start(server);
        }
    }
}

/// Notes the primary of each epoch; there is one.
fn note(servers: &Servers, primaries: &mut BTreeMap<u64, u32>) {
    for instance in &servers.all {
        let Instance::Sentinel(sentinel) = instance else { continue };
        let super::Kept { config_epoch, primary, .. } = sentinel.kept;
        assert_eq!(*primaries.entry(config_epoch).or_insert(primary), primary, "{config_epoch}");
    }
}

#[test]
fn whatever_befalls_them_an_epoch_has_one_primary_and_in_the_end_all_follow_it() {
    let mut failovers = 0;
    for seed in 0..150 {
        let (mut servers, mut rng) = (Servers::new(seed), Rng::new(seed));
        let mut primaries = BTreeMap::new();
        for _ in 0..60 {
            disturb(&mut servers, &mut rng);
            servers.run(rng.between(Duration::ZERO, SECOND));
            note(&servers, &mut primaries);
        }
        servers.cut.clear();
        revive(&mut servers);
        servers.run(SentinelTiming::of(TTL).settled());
        let primary = servers.agreed().expect("they agree");
        assert!(servers.is_master(primary), "seed {seed}");
        servers.run(SECOND * 30);
        note(&servers, &mut primaries);
        assert_eq!(servers.agreed(), Some(primary), "seed {seed}");
        servers.ask(primary, cmd("SET").arg("k").arg(seed));
        servers.run(SECOND);
        for server in DATA {
            let found = servers.ask(server, cmd("GET").arg("k"));
            assert_eq!(found, bulk(&seed.to_string()), "seed {seed}, server {server}");
        }
        failovers += primaries.len() - 1;
    }
    assert!(failovers > 300, "{failovers}");
}

#[test]
fn a_sentinel_that_did_not_run_decides_nothing_for_half_a_minute() {
    let mut servers = Servers::new(1);
    servers.run(SECOND);
    for sentinel in SENTINELS {
        servers.ticks[sentinel as usize] = servers.now + SECOND * 3;
    }
    servers.run(SECOND * 4);
    servers.crash(0);
    servers.run(SECOND * 25);
    assert_eq!(servers.agreed(), Some(0));
    servers.run(SECOND * 10);
    assert!(servers.agreed().is_some_and(|primary| primary != 0));
}
