//! The conformance suites against real servers: what the models answer, the servers must answer.
//! Nothing is skipped: where there is no Docker, this fails.

use docker::{RealServers, ensure_image};
use std::time::Duration;
use stores::{Group, Shape, StoreId, Topology};

/// Starts the servers of a store's usual topology.
fn start(store: StoreId, ttl: Duration) -> RealServers {
    start_on(store, &store.topologies()[0], ttl)
}

fn start_on(store: StoreId, topology: &'static Topology, ttl: Duration) -> RealServers {
    ensure_image(&|line| println!("{line}")).unwrap_or_else(|error| panic!("{error}"));
    RealServers::start(store, topology, ttl, &|_| ()).unwrap_or_else(|error| panic!("{error}"))
}

fn addresses(servers: &RealServers) -> Vec<String> {
    servers.addresses().iter().map(ToString::to_string).collect()
}

/// Returns the number of random sequences to compare: `PICKLOCK_CASES`, or 1,200.
fn sequences() -> u64 {
    let given = std::env::var("PICKLOCK_CASES").ok();
    given.map_or(1_200, |given| given.parse().expect("PICKLOCK_CASES is a number"))
}

#[test]
fn redis() {
    let servers = start(StoreId::Redis, Duration::from_secs(2));
    let report = stores::redis::conformance::real_arm(&addresses(&servers)[0], 0..sequences());
    let report = report.expect("the server answers");
    print!("redis: {report}");
    assert!(report.passed(), "{report}");
}

#[test]
fn redis_restarts() {
    let mut servers = start(StoreId::Redis, Duration::from_secs(2));
    let first = addresses(&servers).remove(0);
    let report = stores::redis::conformance::restarts_arm(&first, &mut |data| {
        let address = servers.restart(0, data).map_err(std::io::Error::other)?;
        Ok(address.to_string())
    });
    let report = report.expect("the server answers and comes back");
    print!("redis, restarted: {report}");
    assert!(report.replies > 15 && report.differences.is_empty(), "{report}");
}

#[test]
fn redis_replicas() {
    static PAIR: Topology = Topology {
        name: "redis-x2",
        summary: "two Redis servers",
        shape: Shape::Several,
        groups: &[Group { role: "server", count: 2, peers: false }],
    };
    let servers = start_on(StoreId::Redis, &PAIR, Duration::from_secs(2));
    let (addresses, master) = (addresses(&servers), format!("{} 6379", servers.peer_address(0)));
    let report = stores::redis::conformance::replicas_arm(&addresses[0], &addresses[1], &master);
    let report = report.expect("the servers answer");
    print!("redis, a master and its replica: {report}");
    assert!(report.replies > 50 && report.differences.is_empty(), "{report}");
}

#[test]
fn zookeeper() {
    let session = Duration::from_secs(4);
    let servers = start(StoreId::ZooKeeper, session);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (addresses, seeds) = (addresses(&servers), 0..sequences());
    let suite = stores::zookeeper::conformance::real_arm(addresses, session, "suite", seeds);
    let local = tokio::task::LocalSet::new();
    let report = runtime.expect("a runtime").block_on(local.run_until(suite));
    print!("zookeeper: {report}");
    assert!(report.passed(), "{report}");
}

#[test]
fn memcached() {
    let servers = start(StoreId::Memcached, Duration::from_secs(4));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let address = addresses(&servers).remove(0);
    let suite = stores::memcached::conformance::real_arm(&address, 0..sequences());
    let report = runtime.expect("a runtime").block_on(suite);
    print!("memcached: {report}");
    assert!(report.passed(), "{report}");
}
