//! The backend `local` against real servers. Nothing is skipped: where a program is missing, this
//! fails.

#[path = "../../testbed/tests/shared/mod.rs"]
mod shared;

use base::{Ability, Action, Backend, Data, Fault, Node, Notice};
use picklock_local::{LocalServers, RealServers, clean, ready};
use shared::{
    LIMIT, backend, endpoint, interference, processes, redis, start_world, suffer, until, world,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use stores::{Endpoint, StoreId, WorldSpec};
use testbed::owner::Certainty;
use testbed::process::is_stopped;
use testbed::{Readiness, RealBackend, StartedServer, can, owner};

tests_of_a_backend!(LocalServers);

/// The mark of the process of a Redis server: the address that it says it has.
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
        // A stop that is continued before it has taken effect leaves no trace.
        while *signal == "-STOP" && !is_stopped(id.into()) {
            std::thread::yield_now();
        }
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
    clean(Certainty::Ended).unwrap();
    for address in servers.addresses() {
        assert!(address.ip().is_loopback(), "for this machine only");
        assert_eq!(redis(&Endpoint::without_login(*address), "SET k v"), "+OK\r\n+OK\r\n");
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
    clean(Certainty::Ended).unwrap();
    assert_eq!(left.wait().unwrap().signal(), Some(9));
    assert_eq!(used.try_wait().unwrap(), None);
    used.kill().unwrap();
    used.wait().unwrap();
}

#[test]
fn data_outlives_a_crash_that_keeps_it_and_no_other() {
    let mut backend = backend::<LocalServers>(StoreId::Redis);
    for (data, answer) in
        [(base::Data::Kept, "$1\r\nv\r\n+OK\r\n"), (base::Data::Lost, "$-1\r\n+OK\r\n")]
    {
        assert_eq!(redis(&endpoint(&backend), "SET k v"), "+OK\r\n+OK\r\n");
        let crash = Fault::at(Node::Server(0), Action::Crash(data));
        assert!(suffer(&mut backend, &crash, |_| {}).amount > 0);
        assert_eq!(redis(&endpoint(&backend), "GET k"), answer);
    }
}

#[test]
fn what_somebody_else_does_to_a_server_is_reported() {
    for (signals, words) in [
        (&["-STOP"][..], "server 0 was stopped"),
        // It may be seen between the two.
        (&["-STOP", "-CONT"], "server 0 was stopped"),
        (&["-KILL"], "server 0: a signal ended it (signal: 9 (SIGKILL))"),
        (&["-TERM"], "server 0: it ended by itself (exit status: 0)"),
    ] {
        let mut backend = backend::<LocalServers>(StoreId::Redis);
        assert_eq!(backend.interference(), None);
        signal(&backend, signals);
        let seen = interference(&mut backend);
        assert!(seen.starts_with(words), "{signals:?}: {seen}");
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

#[test]
fn a_clock_leaves_no_shared_memory_behind() {
    let spec = WorldSpec { sets_clocks: true, ..world(StoreId::Redis) };
    let backend = start_world::<LocalServers>(&spec);
    let process = processes(&mark(backend.servers()[0].address().unwrap()))[0].to_string();
    drop(backend);
    let left = std::fs::read_dir("/dev/shm").unwrap().flatten();
    let left: Vec<_> = left.map(|it| it.file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.ends_with(&process)), "{left:?}");
}

#[test]
fn clocks_go_wrong_where_they_count_and_can_be_set_and_nowhere_else() {
    for store in StoreId::ALL {
        for of_server in [Ability::ServerClock, Ability::ServerClockRate] {
            let able = can::<LocalServers>(*store, of_server);
            assert_eq!(able.is_ok(), *store == StoreId::Redis, "{able:?}");
        }
        for of_client in [Ability::ClientClock, Ability::ClientClockRate] {
            assert_eq!(can::<LocalServers>(*store, of_client), Ok(()));
        }
    }
    let lack = can::<LocalServers>(StoreId::ZooKeeper, Ability::ServerClock).unwrap_err();
    assert!(lack.reason.contains("set the clock of a server: ZooKeeper counts"), "{lack:?}");
}

/// The command line of a process.
fn command_line(id: u32) -> String {
    let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Opens a session with a PostgreSQL server. Returns the words by which to know the process that
/// serves it.
fn session(address: SocketAddr) -> (TcpStream, String) {
    let mut session = TcpStream::connect(address).unwrap();
    session.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").unwrap();
    // It asks for a password, in the process of the session.
    let ready = |answer: &[u8]| answer.ends_with(b"SCRAM-SHA-256\0\0");
    let mut answer = Vec::new();
    while !ready(&answer) {
        let mut byte = [0];
        session.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let own = session.local_addr().unwrap();
    let name = format!("{}({})", own.ip(), own.port());
    (session, name)
}

#[test]
fn a_postgresql_is_paused_and_killed_with_all_its_processes_and_leaves_no_memory() {
    let mut backend = backend::<LocalServers>(StoreId::Postgres);
    let address = backend.servers()[0].address().unwrap();
    let [leader] = processes(&format!("port={}", address.port()))[..] else {
        panic!("one process")
    };
    let line = command_line(leader);
    let data = line.split(' ').skip_while(|word| *word != "-D").nth(1).unwrap();
    let text = std::fs::read_to_string(format!("{data}/postmaster.pid")).unwrap();
    let memory = text.lines().nth(6).unwrap().split_whitespace().nth(1).unwrap().to_string();
    let is_there = || {
        let all = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
        all.lines().any(|it| it.split_whitespace().nth(1) == Some(&memory))
    };
    assert!(is_there());
    let (_session, name) = session(address);
    let [process] = processes(&name)[..] else { panic!("one process for {name}") };
    let pause = Fault::at(Node::Server(0), Action::Pause);
    let effect = suffer(&mut backend, &pause, |_| assert!(is_stopped(process.into())));
    assert!(effect.amount > 0, "{effect:?}");
    assert!(!is_stopped(process.into()));
    let crash = Fault::at(Node::Server(0), Action::Crash(Data::Kept));
    suffer(&mut backend, &crash, |_| assert!(processes(&name).is_empty()));
    session(address);
    drop(backend);
    assert!(!is_there());
}
