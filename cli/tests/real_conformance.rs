//! The conformance suites against real servers: what the models answer, the servers must answer.
//! They are processes of this machine, or in containers with `PICKLOCK_BACKEND=docker`. Nothing is
//! skipped: where there are no servers, this fails.

use docker::{DockerServers, ensure_image};
use local::LocalServers;
use std::io;
use std::ops::Range;
use std::time::Duration;
use stores::conformance::{Compared, Killing};
use stores::etcd::conformance::{leader_deaths, measure_failover};
use stores::redis::SentinelTiming;
use stores::redis::conformance::{ClusterRange, RealCluster, cluster_failover, failover_arm};
use stores::{Group, Shape, StoreId, Topology};
use testbed::{RealServers, Servers};

/// Makes a test of a suite, which runs against the servers that are asked for.
macro_rules! tests {
    ($($test:ident: $suite:ident,)*) => {
        $(#[test]
        fn $test() {
            match std::env::var("PICKLOCK_BACKEND").as_deref() {
                Ok("docker") => {
                    in_containers();
                    $suite::<DockerServers>();
                }
                Ok("local") | Err(_) => $suite::<LocalServers>(),
                Ok(other) => panic!("PICKLOCK_BACKEND is docker or local, not {other}"),
            }
        })*
    };
}

tests! {
    redis: redis_suite,
    redis_restarts: redis_restarts_suite,
    redis_replicas: redis_replicas_suite,
    redis_failover: redis_failover_suite,
    zookeeper: zookeeper_suite,
    memcached: memcached_suite,
    etcd: etcd_suite,
    etcd_failover: etcd_failover_suite,
}

/// Makes the image of the servers, unless it is there.
fn in_containers() {
    ensure_image(&|line| println!("{line}")).unwrap_or_else(|error| panic!("{error}"));
}

/// Starts the servers of a store's usual topology.
fn start<S: Servers>(store: StoreId, ttl: Duration) -> RealServers<S> {
    start_on(store, &store.topologies()[0], ttl)
}

fn start_on<S: Servers>(
    store: StoreId,
    topology: &'static Topology,
    ttl: Duration,
) -> RealServers<S> {
    RealServers::start(store, topology, ttl, &|_| ()).unwrap_or_else(|error| panic!("{error}"))
}

fn addresses<S: Servers>(servers: &RealServers<S>) -> Vec<String> {
    servers.addresses().iter().map(ToString::to_string).collect()
}

/// Returns the random sequences to compare, by their seeds: `PICKLOCK_CASES` of them, or 200. Each
/// eighth (`PICKLOCK_EIGHTH`) has its own, so that changes in turn compare eight times as many.
fn sequences() -> Range<u64> {
    let (cases, eighth) = (setting("PICKLOCK_CASES", 200), setting("PICKLOCK_EIGHTH", 1));
    cases * (eighth - 1)..cases * eighth
}

/// Returns the number that a variable of the environment gives, or `otherwise` where there is none
/// or it says `all`.
fn setting(name: &str, otherwise: u64) -> u64 {
    let Some(given) = std::env::var(name).ok().filter(|given| given != "all") else {
        return otherwise;
    };
    given.parse().unwrap_or_else(|_| panic!("{name} is a number, and not `{given}`"))
}

/// Waits for a suite.
fn finish<T>(suite: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(tokio::task::LocalSet::new().run_until(suite))
}

/// Fails unless a suite has passed, and so many replies were compared.
fn judge(what: &str, report: &Compared, least: u64) {
    print!("{what}: {report}");
    assert!(report.passed(least), "{report}");
}

fn redis_suite<S: Servers>() {
    let servers = start::<S>(StoreId::Redis, Duration::from_secs(2));
    let report = stores::redis::conformance::real_arm(&addresses(&servers)[0], sequences());
    judge("redis", &report.expect("the server answers"), 1220);
}

fn redis_restarts_suite<S: Servers>() {
    let mut servers = start::<S>(StoreId::Redis, Duration::from_secs(2));
    let first = addresses(&servers).remove(0);
    let report = stores::redis::conformance::restarts_arm(&first, &mut |data| {
        servers.restart(0, data).map(|it| it.to_string()).map_err(io::Error::other)
    });
    judge("redis, restarted", &report, 42);
}

fn redis_replicas_suite<S: Servers>() {
    static PAIR: Topology = Topology {
        name: "redis-x2",
        summary: "two Redis servers",
        shape: Shape::Several,
        groups: &[Group { role: "server", count: 2, peers: false }],
    };
    let servers = start_on::<S>(StoreId::Redis, &PAIR, Duration::from_secs(2));
    let addresses = addresses(&servers);
    let master = addresses[0].replace(':', " ");
    let report = stores::redis::conformance::replicas_arm(&addresses[0], &addresses[1], &master);
    judge("redis, a master and its replica", &report.expect("the servers answer"), 84);
}

/// Has servers killed.
struct KilledServers<'a, S: Servers>(&'a mut RealServers<S>);

impl<S: Servers> Killing for KilledServers<'_, S> {
    fn cut_off(&mut self, server: usize) -> io::Result<()> {
        self.0.cut_off(server).map_err(io::Error::other)
    }

    fn crash(&mut self, server: usize) -> io::Result<()> {
        self.0.crash(server).map_err(io::Error::other)
    }

    fn kill(&mut self, server: usize) -> io::Result<()> {
        self.0.kill(server).map_err(io::Error::other)
    }

    fn start(&mut self, server: usize) -> io::Result<String> {
        self.0.start_again(server).map(|it| it.to_string()).map_err(io::Error::other)
    }
}

fn redis_failover_suite<S: Servers>() {
    let (ttl, topology) = (Duration::from_secs(4), StoreId::topology("redis-sentinel"));
    let topology = topology.expect("a topology of the list");
    let mut servers = start_on::<S>(StoreId::Redis, topology, ttl);
    let addresses = addresses(&servers);
    let mut killed = KilledServers(&mut servers);
    let report = failover_arm(&addresses, &mut killed, SentinelTiming::of(ttl));
    let report = report.expect("the servers answer, and a primary is found");
    judge("redis, a failover", &report, 1);
}

/// The number of primaries of a cluster that are killed, and that of the models that are asked the
/// same.
const PRIMARIES: usize = 4;
const MODELS: u64 = 100;

/// The time that a real answer may take beyond those of all models, on a busy machine.
const SLACK: Duration = Duration::from_millis(600);

/// The members are processes: to cut off one that is a container takes commands in all of them, for
/// longer than members wait.
#[test]
fn redis_cluster() {
    let topology = StoreId::topology("redis-cluster").expect("a topology of the list");
    let range = ClusterRange::of_models(0..MODELS, PRIMARIES).expect("the models answer");
    print!("{range}");
    let mut servers = start_on::<LocalServers>(StoreId::Redis, topology, Duration::from_secs(4));
    let addresses = addresses(&servers);
    let mut killed = KilledServers(&mut servers);
    let mut members = RealCluster::new(addresses, &mut killed);
    let mut differences = Vec::new();
    for round in 0..PRIMARIES {
        let figures = cluster_failover(&mut members, round).expect("the members answer");
        println!("redis, a primary of a cluster killed: {figures} {:?}", figures.words);
        differences.extend(range.differences(round, &figures, SLACK));
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

fn zookeeper_suite<S: Servers>() {
    let session = Duration::from_secs(4);
    let servers = start::<S>(StoreId::ZooKeeper, session);
    let (addresses, seeds) = (addresses(&servers), sequences());
    let suite = stores::zookeeper::conformance::real_arm(addresses, session, "suite", seeds);
    judge("zookeeper", &finish(suite), 1);
}

fn memcached_suite<S: Servers>() {
    let servers = start::<S>(StoreId::Memcached, Duration::from_secs(4));
    let address = addresses(&servers).remove(0);
    let suite = stores::memcached::conformance::real_arm(&address, sequences());
    judge("memcached", &finish(suite), 1);
}

fn etcd_suite<S: Servers>() {
    let servers = start::<S>(StoreId::Etcd, Duration::from_secs(2));
    let suite = stores::etcd::conformance::real_arm(addresses(&servers), sequences());
    judge("etcd", &finish(suite), 1);
}

/// The number of leaders of an etcd that are killed.
const LEADERS: i64 = 5;

fn etcd_failover_suite<S: Servers>() {
    let range = leader_deaths(0..300);
    println!("etcd, the leader of a model killed: {range}");
    let mut servers = start::<S>(StoreId::Etcd, Duration::from_secs(2));
    let mut addresses = addresses(&servers);
    for round in 0..LEADERS {
        let mut killed = KilledServers(&mut servers);
        let figures = measure_failover(&mut addresses, round, &mut killed);
        let figures = figures.expect("the members answer, and one leads");
        println!("etcd, a leader killed: {figures:.2?}");
        assert_eq!(range.differences(&figures, |_| SLACK), [""; 0]);
    }
}

/// A PostgreSQL is no process of this machine, but it runs in a container.
#[test]
fn postgres() {
    in_containers();
    let servers = start::<DockerServers>(StoreId::Postgres, Duration::from_secs(2));
    let address = addresses(&servers).remove(0);
    let suite = stores::postgres::conformance::real_arm(&address, sequences());
    judge("postgres", &finish(suite).expect("the server answers"), 1);
}
