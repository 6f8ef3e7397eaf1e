//! The backend `docker` against real servers. Nothing is skipped: where there is no Docker, this
//! fails.

#[path = "../../testbed/tests/shared/mod.rs"]
mod shared;

use base::{Action, Backend, Fault, Node, Notice};
use picklock_docker::{DockerBackend, DockerServers, RealServers, clean, ensure_image, ready};
use shared::{LIMIT, backend, interference, pass, redis, until};
use std::net::SocketAddr;
use std::time::Duration;
use stores::{Endpoint, StoreId};
use testbed::Readiness;
use testbed::owner::Certainty;

tests_of_a_backend!(DockerServers);

#[test]
fn servers_serve_alone_and_cleaning_leaves_what_is_in_use() {
    ensure_image(&|_| {}).unwrap();
    assert_eq!(ready(), Readiness::Ready);
    let servers =
        RealServers::start(StoreId::Redis, &StoreId::Redis.topologies()[0], LIMIT, &|_| {})
            .unwrap();
    clean(Certainty::Ended).unwrap();
    let address = servers.addresses()[0];
    let container = container_at(address);
    assert!(!docker(&["port", &container]).contains("0.0.0.0"), "for this machine only");
    let networks = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}";
    let networks = docker(&["inspect", "--format", networks, &container]);
    assert!(
        networks.starts_with("picklock-") && networks.trim().split(' ').count() == 1,
        "{networks}"
    );
    // In the table of the engine, who is root.
    let top = docker(&["top", &container, "-eo", "uid,pid,comm"]);
    let ran_by = |line: &str| line.split_whitespace().next().map(String::from);
    assert!(top.contains("redis-server"), "{top}");
    assert!(top.lines().skip(1).all(|it| ran_by(it).as_deref() != Some("0")), "{top}");
    assert_eq!(redis(&Endpoint::without_login(address), "SET k v"), "+OK\r\n+OK\r\n");
    drop(servers);
    assert_eq!(docker(&["ps", "-aq", "--no-trunc", "--filter", &format!("id={container}")]), "");
}

/// Returns the output of the engine's own client, if it succeeds.
fn ask_docker(args: &[&str]) -> Option<String> {
    let output = std::process::Command::new("docker").args(args).output().unwrap();
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Does something to a container that no fault asked for, or looks at it.
fn docker(args: &[&str]) -> String {
    ask_docker(args).unwrap_or_else(|| panic!("docker {args:?}"))
}

/// The id of the container that has this address.
fn container_at(address: SocketAddr) -> String {
    let addresses = "{{.Id}}{{range .NetworkSettings.Networks}} {{.IPAddress}}{{end}}";
    let all = docker(&["ps", "-q", "--filter", "label=picklock"]);
    // Those of other tests come and go.
    let of = |id: &str| ask_docker(&["inspect", "--format", addresses, id]);
    let wanted = address.ip().to_string();
    let found =
        all.lines().filter_map(of).find(|line| line.split_whitespace().any(|it| it == wanted));
    found.expect("it runs").split(' ').next().expect("an id").to_owned()
}

/// The id of the container of a server.
fn container(backend: &DockerBackend, server: usize) -> String {
    backend.servers()[server].id().to_owned()
}

#[test]
fn what_somebody_else_does_to_a_server_is_reported() {
    for (acts, words) in [
        (&["pause", "unpause"][..], "server 0 was paused; server 0 was unpaused"),
        (&["kill"], "server 0 was sent a signal (signal 9); server 0 ended (exit code 137)"),
        (&["stop"], "server 0 was sent a signal (signal 15)"),
    ] {
        let mut backend = backend::<DockerServers>(StoreId::Redis);
        let id = container(&backend, 0);
        assert_eq!(backend.interference(), None);
        // Until the engine reports what happens.
        pass(&mut backend, Duration::from_millis(500));
        acts.iter().for_each(|act| drop(docker(&[act, &id])));
        let reported = interference(&mut backend);
        assert!(reported.contains(words), "{acts:?}: {reported}");
    }
    let mut backend = backend::<DockerServers>(StoreId::ZooKeeper);
    pass(&mut backend, Duration::from_millis(500));
    docker(&["rm", "-f", &container(&backend, 1)]);
    assert!(backend.interference().is_some_and(|what| what.starts_with("server 1")));
    let reported = interference(&mut backend);
    assert!(reported.contains("server 1 was sent a signal (signal 9)"), "{reported}");
}

#[test]
fn a_fault_that_somebody_else_spoils_is_no_error() {
    let mut backend = backend::<DockerServers>(StoreId::Redis);
    let fault = Fault::at(Node::Server(0), Action::Pause);
    backend.inject(1, &fault).unwrap();
    until(&mut backend, |notice| matches!(notice, Notice::Injected { id: 1 }).then_some(()));
    docker(&["rm", "-f", &container(&backend, 0)]);
    backend.heal(1, &fault).unwrap();
    assert!(interference(&mut backend).starts_with("server 0"));
}
