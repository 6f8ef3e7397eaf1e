//! The ledger of real servers: whatever a client was granted was written for it while it asked, and
//! whatever it released was removed while it released. Nothing is skipped: where a server is
//! missing, this fails.

mod command;

use base::{Change, Event, F, Kind, Ledger, LedgerEntry};
use command::Bench;
use std::collections::BTreeMap;
use std::fs;

/// Makes a run and holds its history against its ledger.
#[track_caller]
fn holds_what_clients_were_told(lock: &str, topology: &str, nemesis: &str, backend: &str) {
    let bench = Bench::new();
    let run = ["test", "--algo", lock, "--on", topology, "--nemesis", nemesis];
    let said = bench.run(&[&run[..], &["--backend", backend, "--time-limit", "5s"]].concat());
    // A run whose faults hit nothing is inconclusive, and its ledger as true as any.
    assert!(said.code <= 2, "{said:?}");
    let read = |file: &str| {
        let path = bench.home.path().join("store/latest").join(file);
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}: {said:?}"))
    };
    let ledger = Ledger::from_lines(&read("ledger.jsonl")).expect("a ledger");
    let history = read("history.jsonl");
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
    assert!(answers > 5, "{answers} answers: {said:?}");
}

fn change(event: &Event, process: u32) -> Change {
    match event.f {
        F::Acquire => Change::Written(process),
        _ => Change::Deleted(process),
    }
}

#[test]
fn of_a_redis() {
    holds_what_clients_were_told("redis-set-nx-px", "redis", "crash", "local");
}

#[test]
fn of_a_redis_cluster() {
    holds_what_clients_were_told("redis-set-nx-px", "redis-cluster", "pause-client", "local");
}

#[test]
fn of_a_redis_in_a_container() {
    holds_what_clients_were_told("redis-set-nx-px", "redis", "crash-client", "docker");
}

#[test]
fn of_a_memcached() {
    holds_what_clients_were_told("memcached-add", "memcached", "crash-client", "local");
}

#[test]
fn of_a_postgresql() {
    holds_what_clients_were_told("postgres-advisory", "postgres", "crash-client", "local");
}

#[test]
fn of_an_etcd_cluster() {
    holds_what_clients_were_told("etcd-lease", "etcd-x3", "crash-client", "local");
}

#[test]
fn of_a_zookeeper_ensemble() {
    holds_what_clients_were_told("zk-sequential", "zookeeper-x3", "crash", "local");
}
