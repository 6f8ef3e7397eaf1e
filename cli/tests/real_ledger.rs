//! The ledger of real servers: whatever a client was granted was written for it while it asked, and
//! whatever it released was removed while it released. Nothing is skipped: where a server is
//! missing, this fails.

mod command;

use base::{Change, Event, F, Kind, Ledger, LedgerEntry};
use command::{Bench, CommandOutput, adapters_path};
use local::RealServers;
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;
use stores::{StoreId, Topology};

/// Makes a run on servers of our own and holds its history against its ledger.
#[track_caller]
fn holds_on_own(lock: &str, topology: &str, nemesis: &str, backend: &str) {
    let lock = ["--algo", lock, "--on", topology];
    holds(&[&lock[..], &["--nemesis", nemesis, "--backend", backend]].concat());
}

/// Does the same on servers that somebody else runs.
#[track_caller]
fn holds_on_given(lock: &[&str], topology: &'static str, nemesis: &str) {
    let store = StoreId::ALL.iter().find(|it| it.topologies().iter().any(|it| it.name == topology));
    let layout: &'static Topology = StoreId::topology(topology).expect("it is in the list");
    let ttl = Duration::from_secs(2);
    let servers = RealServers::start(*store.expect("a store"), layout, ttl, &|_| ());
    let servers = servers.unwrap_or_else(|error| panic!("{error}"));
    let named = servers.addresses().iter().enumerate();
    let named = named.map(|(number, address)| format!("server-{number}={address}"));
    let named = named.collect::<Vec<_>>().join(",");
    holds(&[lock, &["--nemesis", nemesis, "--servers", &named, "--observe"]].concat());
}

/// Makes a run and holds its history against its ledger.
#[track_caller]
fn holds(args: &[&str]) {
    let bench = Bench::new();
    let args = [&["test", "--time-limit", "5s"], args].concat();
    let run = || {
        let run = bench.command(&args).env("PATH", adapters_path()).output();
        let output = CommandOutput::from(run.expect("picklock starts"));
        // A run whose faults hit nothing is inconclusive, and its ledger as true as any.
        assert!(output.code <= 2, "{output:?}");
        output
    };
    let read = |file: &str| fs::read_to_string(bench.home.path().join("store/latest").join(file));
    let mut output = run();
    for _ in 0..2 {
        // A machine that stands still for too long leaves a run without a ledger.
        if read("ledger.jsonl").is_err() {
            output = run();
        }
    }
    let ledger = read("ledger.jsonl").unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let ledger = Ledger::from_lines(&ledger).expect("a ledger");
    let history = read("history.jsonl").expect("a history");
    let (mut answers, mut asked) = (0, BTreeMap::new());
    // The first line is the header.
    for line in history.lines().skip(1) {
        let event: Event = serde_json::from_str(line).expect("an event");
        let Some(process) = event.client() else { continue };
        match (event.kind, event.f) {
            (Kind::Invoke, _) => drop(asked.insert(process, event.time_ns)),
            (Kind::Ok, F::Acquire | F::Release) => {
                let span = asked[&process]..=event.time_ns;
                let change = change(&event, process);
                let is_it =
                    |entry: &LedgerEntry| entry.change == change && span.contains(&entry.time_ns);
                assert!(ledger.entries().iter().any(is_it), "{event:?} is not in {ledger:?}");
                answers += 1;
            }
            _ => {}
        }
    }
    assert!(answers > 5, "{answers} answers: {output:?}");
}

fn change(event: &Event, process: u32) -> Change {
    match event.f {
        F::Acquire => Change::Written(process),
        _ => Change::Deleted(process),
    }
}

#[test]
fn of_a_redis() {
    holds_on_own("redis-set-nx-px", "redis", "crash", "local");
}

#[test]
fn of_a_redis_whose_clock_is_set() {
    holds_on_own("redis-set-nx-px", "redis", "clock-jump-server", "local");
}

#[test]
fn of_the_members_of_a_semaphore() {
    holds_on_own("redis-semaphore", "redis", "crash", "local");
    holds_on_own("redis-semaphore-as-printed", "redis", "crash-client", "local");
}

#[test]
fn of_a_semaphore_says_which_holder_has_lost_its_permit_and_why() {
    let bench = Bench::new();
    let run = ["test", "--algo", "redis-semaphore", "--nemesis", "pause-client"];
    let local = ["--backend", "local", "--ttl", "1s", "--time-limit", "12s"];
    let output = CommandOutput::from(
        bench.command(&[&run[..], &local].concat()).output().expect("it starts"),
    );
    let path = bench.home.path().join("store/latest/verdict.json");
    let verdict = fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let verdict: serde_json::Value = serde_json::from_str(&verdict).expect("a verdict");
    let verdicts = verdict["verdicts"].as_array().expect("verdicts");
    let of = |name: &str| verdicts.iter().find(|it| it["property"] == name).expect("a property");
    assert_eq!(of("foreign-release")["outcome"], "held", "{output:?}");
    let anomalies = of("exclusion")["anomalies"].as_array().expect("anomalies");
    let causes: Vec<_> = anomalies.iter().map(|anomaly| &anomaly["cause"]).collect();
    assert_eq!(causes, ["holder-paused"], "{output:?}");
}

#[test]
fn of_the_members_of_a_semaphore_on_a_given_redis() {
    holds_on_given(&["--algo", "redis-semaphore"], "redis", "link-lose-reply");
}

#[test]
fn of_a_redis_cluster() {
    holds_on_own("redis-set-nx-px", "redis-cluster", "pause-client", "local");
}

#[test]
fn of_a_redis_in_a_container() {
    holds_on_own("redis-set-nx-px", "redis", "crash-client", "docker");
}

#[test]
fn of_a_memcached() {
    holds_on_own("memcached-add", "memcached", "crash-client", "local");
}

#[test]
fn of_a_postgresql() {
    holds_on_own("postgres-advisory", "postgres", "crash-client", "local");
}

#[test]
fn of_an_etcd_cluster() {
    holds_on_own("etcd-lease", "etcd-x3", "crash-client", "local");
}

#[test]
fn of_a_zookeeper_ensemble() {
    holds_on_own("zk-sequential", "zookeeper-x3", "crash", "local");
}

#[test]
fn of_a_given_memcached() {
    holds_on_given(&["--algo", "memcached-add"], "memcached", "link-lose-reply");
}

#[test]
fn of_a_given_etcd_cluster() {
    holds_on_given(&["--algo", "etcd-lease"], "etcd-x3", "link-lose-reply");
}

#[test]
fn of_a_given_zookeeper_ensemble() {
    holds_on_given(&["--algo", "zk-sequential"], "zookeeper-x3", "link-lose-reply");
}

#[test]
fn of_programs_on_given_servers() {
    for (adapter, topology) in [
        ("python/pymemcache_add.toml", "memcached"),
        ("python/kazoo_lock.toml", "zookeeper-x3"),
        ("python/etcd3gw_lock.toml", "etcd-x3"),
    ] {
        let adapter = format!("{}/../adapters/{adapter}", env!("CARGO_MANIFEST_DIR"));
        holds_on_given(&["--lock", &adapter], topology, "crash-client");
    }
}
