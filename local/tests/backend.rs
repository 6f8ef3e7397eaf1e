//! The backend `local` against real servers. Nothing is skipped: where a program is missing, this
//! fails.

#[path = "../../testbed/tests/shared/mod.rs"]
mod shared;

use base::{Action, Backend, Fault, Node, Notice};
use picklock_local::{LocalServers, RealServers, clean, ready};
use shared::{LIMIT, backend, interference, processes, redis, suffer, until};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use stores::StoreId;
use testbed::{Readiness, RealBackend, StartedServer, owner};

tests_of_a_backend!(LocalServers:
    a_client_that_is_replaced_is_ended,
    a_fault_that_cannot_be_is_refused_by_name,
    a_server_whose_memory_is_filled_evicts_what_is_there,
    a_throttled_link_carries_little_until_it_is_healed,
    clients_answer_and_faults_on_them_are_measured,
    faults_on_a_server_are_measured,
    members_cut_off_from_each_other_say_less_and_a_killed_one_serves_again,
);

/// What tells the process of a Redis server from all others: the address that it says it has.
fn mark(address: SocketAddr) -> String {
    format!("redis-server {address}")
}

/// Sends a signal to the process of a Redis server, as somebody else.
fn signal(backend: &RealBackend<LocalServers>, signals: &[&str]) {
    let [id] = processes(&mark(backend.servers()[0].address().unwrap()))[..] else {
        panic!("one process")
    };
    for signal in signals {
        let sent = Command::new("kill").args([signal, &*id.to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

#[test]
fn servers_can_be_started_here_unless_they_can_be_no_processes() {
    for store in StoreId::ALL {
        for topology in store.topologies() {
            let readiness = ready(*store, topology);
            match store.needs(topology) {
                Ok(_) => assert_eq!(readiness, Readiness::Ready, "{}", topology.name),
                Err(why) => {
                    let fix = "--backend docker".into();
                    assert_eq!(readiness, Readiness::NotReady { reason: why.into(), fix });
                }
            }
        }
    }
}

#[test]
fn servers_serve_alone_and_cleaning_leaves_what_is_in_use() {
    let topology = &StoreId::Redis.topologies()[1];
    let servers = RealServers::start(StoreId::Redis, topology, LIMIT, &|_| {}).unwrap();
    clean().unwrap();
    for address in servers.addresses() {
        assert!(address.ip().is_loopback(), "for this machine only");
        assert_eq!(redis(*address, "SET k v"), "+OK\r\n+OK\r\n");
    }
    let mark = mark(servers.addresses()[4]);
    assert_eq!(processes(&mark).len(), 1);
    drop(servers);
    assert!(processes(&mark).is_empty());
}

#[test]
fn a_process_that_has_outlived_its_run_is_ended() {
    let this = owner::label();
    // Under the same number, and started with the machine.
    let mut words: Vec<&str> = this.split(' ').collect();
    words[1] = "1";
    let abandoned = |label: &str| {
        Command::new("sleep").arg("1000").env(owner::OWNER_VARIABLE, label).spawn().unwrap()
    };
    let (mut left, mut used) = (abandoned(&words.join(" ")), abandoned(&this));
    // Another test may clean, too.
    clean().unwrap();
    assert_eq!(left.wait().unwrap().signal(), Some(9));
    assert_eq!(used.try_wait().unwrap(), None);
    used.kill().unwrap();
    used.wait().unwrap();
}

#[test]
fn data_outlives_a_crash_that_keeps_it_and_no_other() {
    let mut backend = backend::<LocalServers>(StoreId::Redis);
    let address = backend.servers()[0].address().unwrap();
    for (data, answer) in
        [(base::Data::Kept, "$1\r\nv\r\n+OK\r\n"), (base::Data::Lost, "$-1\r\n+OK\r\n")]
    {
        assert_eq!(redis(address, "SET k v"), "+OK\r\n+OK\r\n");
        let crash = Fault::at(Node::Server(0), Action::Crash(data));
        assert!(suffer(&mut backend, &crash, |_| {}).amount > 0);
        assert_eq!(redis(address, "GET k"), answer);
    }
}

#[test]
fn what_somebody_else_does_to_a_server_is_told() {
    for (signals, said) in [
        (&["-STOP"][..], "server 0 was stopped"),
        (&["-STOP", "-CONT"], "server 0 was stopped and continued"),
        (&["-KILL"], "server 0: a signal ended it (signal: 9 (SIGKILL))"),
        (&["-TERM"], "server 0: it ended by itself (exit status: 0)"),
    ] {
        let mut backend = backend::<LocalServers>(StoreId::Redis);
        assert_eq!(backend.interference(), None);
        signal(&backend, signals);
        assert_eq!(interference(&mut backend), said, "{signals:?}");
    }
}

#[test]
fn a_fault_that_somebody_else_spoils_is_no_error() {
    let mut backend = backend::<LocalServers>(StoreId::Redis);
    let fault = Fault::at(Node::Server(0), Action::Pause);
    backend.inject(1, &fault).unwrap();
    until(&mut backend, |notice| matches!(notice, Notice::Injected { id: 1 }).then_some(()));
    signal(&backend, &["-KILL"]);
    backend.heal(1, &fault).unwrap();
    assert!(interference(&mut backend).starts_with("server 0"));
}
