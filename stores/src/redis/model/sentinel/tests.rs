//! Whole topologies of models on a wire of their own: one failover, step by step, and random faults
//! after which all must come to agree.

use crate::Store;
use crate::model_network::ModelNetwork;
use crate::node_number;
use crate::redis::reply::bulk;
use crate::redis::{Instance, Redis, SentinelTiming};
use base::{Data, Node, Rng};
use redis::{FromRedisValue, cmd};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const DATA: [u32; 3] = [0, 1, 2];
const SENTINELS: [u32; 3] = [3, 4, 5];
const SECOND: Duration = Duration::from_secs(1);

impl ModelNetwork<Redis> {
    /// The primary that a Sentinel names.
    fn named_primary(&mut self, sentinel: u32) -> u32 {
        let ask = cmd("SENTINEL").arg("get-master-addr-by-name").arg("picklock").clone();
        let reply = self.ask(sentinel, &ask);
        let (name, port) = <(String, u16)>::from_redis_value_ref(&reply).expect("an address");
        assert_eq!(port, 6379);
        node_number(&name).expect("the name of a server")
    }

    /// The primary that all Sentinels name, if they agree.
    fn agreed(&mut self) -> Option<u32> {
        let named: BTreeSet<u32> = SENTINELS.iter().map(|it| self.named_primary(*it)).collect();
        (named.len() == 1).then(|| named.into_iter().next()).flatten()
    }
}

/// The time from the death of a primary until all Sentinels name another that is one.
fn failover(seed: u64) -> Duration {
    let mut servers = ModelNetwork::redis("redis-sentinel", seed);
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
    let mut servers = ModelNetwork::redis("redis-sentinel", 1);
    servers.run(SECOND);
    servers.ask(0, cmd("SET").arg("k").arg("old"));
    servers.run(SECOND);
    [1, 2].into_iter().for_each(|other| servers.cut(Node::Server(0), Node::Server(other)));
    servers.ask(0, cmd("SET").arg("k").arg("lost"));
    servers.crash(0);
    servers.run(SECOND * 3);
    servers.heal();
    servers.start(0, Data::Kept);
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

/// Notes the primary of each epoch; there is one.
fn note(servers: &ModelNetwork<Redis>, primaries: &mut BTreeMap<u64, u32>) {
    for instance in &servers.servers {
        let Instance::Sentinel(sentinel) = instance else { continue };
        let super::Kept { config_epoch, primary, .. } = sentinel.kept;
        assert_eq!(*primaries.entry(config_epoch).or_insert(primary), primary, "{config_epoch}");
    }
}

#[test]
fn whatever_befalls_them_an_epoch_has_one_primary_and_in_the_end_all_follow_it() {
    let mut failovers = 0;
    for seed in 0..150 {
        let (mut servers, mut rng) = (ModelNetwork::redis("redis-sentinel", seed), Rng::new(seed));
        let mut primaries = BTreeMap::new();
        for _ in 0..60 {
            servers.disturb(&mut rng);
            servers.run(rng.between(Duration::ZERO, SECOND));
            note(&servers, &mut primaries);
        }
        servers.heal();
        servers.revive();
        servers.run(SentinelTiming::of(Redis::TTL).settled());
        let primary = servers.agreed().expect("they agree");
        assert!(servers.is_master(primary), "seed {seed}");
        servers.run(SECOND * 30);
        note(&servers, &mut primaries);
        assert_eq!(servers.agreed(), Some(primary), "seed {seed}");
        servers.ask(primary, cmd("SET").arg("k").arg(seed));
        servers.run(SECOND);
        for server in DATA {
            let found = servers.ask(server, cmd("GET").arg("k"));
            assert_eq!(found, bulk(seed.to_string()), "seed {seed}, server {server}");
        }
        failovers += primaries.len() - 1;
    }
    assert!(failovers > 300, "{failovers}");
}

#[test]
fn a_sentinel_that_did_not_run_decides_nothing_for_half_a_minute() {
    let mut servers = ModelNetwork::redis("redis-sentinel", 1);
    servers.run(SECOND);
    for sentinel in SENTINELS {
        servers.ticks[sentinel as usize] = Some(servers.now + SECOND * 3);
    }
    servers.run(SECOND * 4);
    servers.crash(0);
    servers.run(SECOND * 25);
    assert_eq!(servers.agreed(), Some(0));
    servers.run(SECOND * 10);
    assert!(servers.agreed().is_some_and(|primary| primary != 0));
}
