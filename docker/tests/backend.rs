//! The Docker backend against real servers, with a shell script as the client. Nothing is skipped:
//! where there is no Docker, this fails.

use base::{
    Action, Backend, Command, Data, Direction, Effect, Fault, FaultId, LinkFault, Message, Mono,
    Node, Notice, Passing, Reply, Request,
};
use picklock_docker::{
    ClientCommand, DockerBackend, Readiness, RealServers, clean, ensure_image, ready,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use stores::zookeeper::Timing;
use stores::{Links, StoreId, WorldSpec};

const LIMIT: Duration = Duration::from_secs(60);

/// Answers every request with `ok`.
const SCRIPT: &str = r#"while read line; do
    id=${line#*\"id\":}
    echo "{\"id\":${id%%,*},\"type\":\"ok\"}"
done"#;

/// Sends something to its server, over a connection of its own, and answers once that has come back.
const ASKING: &str = r#"while read line; do
    id=${line#*\"id\":}
    case $line in *127.0.0.1:*) port=${line#*127.0.0.1:} port=${port%%\"*};; esac
    exec 3<>/dev/tcp/127.0.0.1/$port
    printf 'ECHO %0100d\r\n' 0 >&3
    read -r length <&3 && read -r answer <&3
    echo "{\"id\":${id%%,*},\"type\":\"ok\"}"
done"#;

fn backend(store: StoreId) -> DockerBackend {
    backend_with(store, SCRIPT)
}

fn backend_with(store: StoreId, script: &str) -> DockerBackend {
    let spec = WorldSpec {
        store,
        topology: &store.topologies()[0],
        workers: 1,
        clients: 2,
        algo: "any".into(),
        ttl: Duration::from_secs(2),
        timing: Timing::of(Duration::from_secs(2)),
        call_timeout: Duration::from_secs(1),
        link_delay: Duration::ZERO,
        links: Links::default(),
        seed: 1,
        logs: None,
    };
    let client =
        ClientCommand { program: "/bin/bash".into(), args: vec!["-c".into(), script.into()] };
    DockerBackend::start_with(&spec, client, &|_| {}).unwrap()
}

/// Lets the world run until something happens that is looked for.
fn until<T>(backend: &mut DockerBackend, look: impl Fn(&Notice) -> Option<T>) -> T {
    let limit = backend.now() + LIMIT;
    while backend.now() < limit {
        let mut inbox: Vec<Message> = Vec::new();
        backend.advance(limit, Passing::Awaited, &mut inbox).unwrap();
        if let Some(found) = inbox.iter().find_map(|message| look(&message.notice)) {
            return found;
        }
    }
    panic!("it did not happen within {LIMIT:?}");
}

/// Lets time pass.
fn pass(backend: &mut DockerBackend, time: Duration) {
    let end = backend.now() + time;
    while backend.now() < end {
        backend.advance(end, Passing::Awaited, &mut Vec::new()).unwrap();
    }
}

/// Does a fault, has something done while it is in force, and heals it.
fn suffer(
    backend: &mut DockerBackend,
    fault: &Fault,
    meanwhile: impl FnOnce(&mut DockerBackend),
) -> Effect {
    suffer_as(backend, 1, fault, meanwhile)
}

/// The same under another number than that of a fault in force.
fn suffer_as(
    backend: &mut DockerBackend,
    number: FaultId,
    fault: &Fault,
    meanwhile: impl FnOnce(&mut DockerBackend),
) -> Effect {
    backend.inject(number, fault).unwrap();
    let injected = |notice: &Notice| matches!(notice, Notice::Injected { id } if *id == number);
    until(backend, |notice| injected(notice).then_some(()));
    meanwhile(backend);
    backend.heal(number, fault).unwrap();
    until(backend, |notice| match notice {
        Notice::Healed { id, effect } if *id == number => Some(effect.clone()),
        _ => None,
    })
}

/// The answer of a server to one command.
fn redis(address: SocketAddr, question: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(format!("{question}\r\nQUIT\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn clients_answer_and_faults_on_them_are_measured() {
    let mut backend = backend(StoreId::Redis);
    backend.spawn(0, 10).unwrap();
    until(&mut backend, |notice| match notice {
        Notice::Client { process: 10, response } => {
            assert_eq!((response.id, &response.reply), (Some(0), &Reply::ok()));
            Some(())
        }
        _ => None,
    });
    let (client, server) = (Node::Client(0), Node::Server(0));
    assert!(suffer(&mut backend, &Fault::at(client, Action::Pause), |_| {}).amount > 0);
    let crash = Fault::at(client, Action::Kill);
    assert_eq!(suffer(&mut backend, &crash, |_| {}).amount, 1);
    assert_eq!(suffer(&mut backend, &crash, |_| {}).amount, 0, "it was dead before");
    let idle = Fault::over(vec![(client, server)], Action::Cut(Direction::Both));
    assert_eq!(suffer(&mut backend, &idle, |_| {}).amount, 0, "nothing was sent over the link");
}

/// Waits for the answer of process 10 to a request.
fn answered(backend: &mut DockerBackend, request: u64) {
    until(backend, |notice| match notice {
        Notice::Client { process: 10, response } => (response.id == Some(request)).then_some(()),
        _ => None,
    });
}

#[test]
fn a_throttled_link_carries_little_until_it_is_healed() {
    let mut backend = backend_with(StoreId::Redis, ASKING);
    backend.spawn(0, 10).unwrap();
    answered(&mut backend, 0);
    // The hundred bytes of a question would take longer than anybody waits here.
    let throttle = Action::Link(LinkFault::Throttle(1));
    let throttle = Fault::over(vec![(Node::Client(0), Node::Server(0))], throttle);
    let effect = suffer(&mut backend, &throttle, |backend| {
        backend.send(10, Request { id: 1, worker: 0, command: Command::Touch { hold: 0 } });
        let end = backend.now() + Duration::from_secs(2);
        while backend.now() < end {
            let mut inbox = Vec::new();
            backend.advance(end, Passing::Awaited, &mut inbox).unwrap();
            let answer = |message: &Message| matches!(message.notice, Notice::Client { .. });
            assert!(!inbox.iter().any(answer), "{inbox:?}");
        }
    });
    assert!(effect.amount >= 100, "{effect:?}");
    answered(&mut backend, 1);
    backend.send(10, Request { id: 2, worker: 0, command: Command::Touch { hold: 0 } });
    answered(&mut backend, 2);
}

/// Tells a memcached server some commands, and returns its answers.
fn memcached(backend: &DockerBackend, commands: &str) -> String {
    let tell = format!(
        "printf '{commands}quit\\r\\n' | bash -c 'exec 3<>/dev/tcp/127.0.0.1/11211; cat >&3; cat <&3'"
    );
    backend.run_in(0, &tell).unwrap()
}

#[test]
fn a_server_whose_memory_is_filled_evicts_what_is_there() {
    let mut backend = backend(StoreId::Memcached);
    let evict = Fault::at(Node::Server(0), Action::Evict);
    assert_eq!(suffer(&mut backend, &evict, |_| {}).amount, 0, "there was nothing to evict");
    let lock = "add lock 0 60 1\\r\\nx\\r\\n";
    for round in ["first", "second"] {
        assert_eq!(memcached(&backend, lock), "STORED\r\n", "{round}");
        let effect = suffer(&mut backend, &evict, |backend| {
            assert_eq!(memcached(backend, "get lock\\r\\n"), "END\r\n", "{round}");
        });
        assert_eq!(effect, Effect::of(Action::Evict, 1), "{round}");
    }
    let items = memcached(&backend, "stats\\r\\n");
    assert!(items.contains("STAT curr_items 0\r\n"), "the junk is out: {items}");
    suffer(&mut backend, &Fault::at(Node::Server(0), Action::Pause), |backend| {
        let effect = suffer_as(backend, 2, &evict, |_| {});
        assert_eq!(effect, Effect::new("the server was down or paused", 0));
    });
}

#[test]
fn faults_on_a_server_are_measured() {
    let mut backend = backend(StoreId::Redis);
    let server = Node::Server(0);
    assert!(suffer(&mut backend, &Fault::at(server, Action::Pause), |_| {}).amount > 0);
    for data in [Data::Kept, Data::Lost] {
        let crash = Fault::at(server, Action::Crash(data));
        let effect = suffer(&mut backend, &crash, |_| {});
        assert!(effect.amount > 0, "{data:?}");
        assert_eq!(effect.what.contains("empty"), data == Data::Lost, "{}", effect.what);
    }
    let gone = suffer(&mut backend, &Fault::at(server, Action::Vanish), |_| {});
    assert!(gone.amount > 0, "{gone:?}");
}

#[test]
fn members_cut_off_from_each_other_drop_packets_and_a_killed_one_serves_again() {
    let mut backend = backend(StoreId::ZooKeeper);
    let server = Node::Server;
    let links = vec![(server(0), server(1)), (server(0), server(2)), (server(1), server(2))];
    let cut = Fault::over(links, Action::Cut(Direction::Both));
    // The leader says something to each member every half tick, of 333 ms here.
    let effect = suffer(&mut backend, &cut, |backend| pass(backend, Duration::from_secs(2)));
    assert!(effect.amount > 0, "{effect:?}");
    for number in 0..3 {
        let crash = Fault::at(server(number), Action::Crash(Data::Kept));
        assert!(suffer(&mut backend, &crash, |_| {}).amount > 0, "server {number}");
    }
}

#[test]
fn a_fault_that_cannot_be_is_refused_by_name() {
    let mut backend = backend(StoreId::Redis);
    let stranger = Fault::at(Node::Client(9), Action::Pause);
    let error = backend.inject(1, &stranger).unwrap_err();
    assert_eq!(error.to_string(), "there is no client 9 in this run");
    let links = vec![(Node::Client(0), Node::Client(1))];
    let error = backend.inject(2, &Fault::over(links, Action::Cut(Direction::Both))).unwrap_err();
    assert_eq!(error.to_string(), "there is no link between client 0 and client 1 to cut");
    let evict = Fault::at(Node::Server(0), Action::Evict);
    assert_eq!(
        backend.inject(3, &evict).unwrap_err().to_string(),
        "real servers cannot make a server evict what it stores: a Redis without maxmemory evicts no key"
    );
    assert!(backend.heal(1, &stranger).is_err());
    let mut inbox = Vec::new();
    backend.advance(Mono::ZERO, Passing::Awaited, &mut inbox).unwrap();
    assert_eq!(inbox, []);
}

#[test]
fn servers_serve_alone_and_cleaning_leaves_what_is_in_use() {
    ensure_image(&|_| {}).unwrap();
    assert_eq!(ready(), Readiness::Ready);
    let servers =
        RealServers::start(StoreId::Redis, &StoreId::Redis.topologies()[0], LIMIT, &|_| {})
            .unwrap();
    clean().unwrap();
    let address = servers.addresses()[0];
    let container = container_at(address);
    assert!(!docker(&["port", &container]).contains("0.0.0.0"), "for this machine only");
    assert_eq!(redis(address, "SET k v"), "+OK\r\n+OK\r\n");
    drop(servers);
    assert_eq!(docker(&["ps", "-aq", "--no-trunc", "--filter", &format!("id={container}")]), "");
}

/// The number of processes that have this in their command line.
fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

#[test]
fn a_client_that_is_replaced_is_ended() {
    let mark = format!("replaced-by-{}", std::process::id());
    let mut backend = backend_with(StoreId::Redis, &format!("# {mark}\n{SCRIPT}"));
    for process in 0..60 {
        let process = process * 2;
        backend.spawn(0, process).unwrap();
        until(&mut backend, |notice| match notice {
            Notice::Client { process: said, .. } => (*said == process).then_some(()),
            other => panic!("{other:?}"),
        });
    }
    let limit = backend.now() + LIMIT;
    while processes(&mark) > 1 && backend.now() < limit {
        pass(&mut backend, Duration::from_millis(1));
    }
    assert_eq!(processes(&mark), 1, "the last one, and none of those that it replaced");
    drop(backend);
    assert_eq!(processes(&mark), 0);
}

/// Returns what the engine's own client says, if it does as it is told.
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

fn interference(backend: &mut DockerBackend) -> String {
    until(backend, |notice| match notice {
        Notice::Interference { what } => Some(what.clone()),
        _ => None,
    })
}

#[test]
fn what_somebody_else_does_to_a_server_is_told() {
    for (acts, said) in [
        (&["pause", "unpause"][..], "server 0 was paused; server 0 was unpaused"),
        (&["kill"], "server 0 was sent a signal (signal 9); server 0 ended (exit code 137)"),
        (&["stop"], "server 0 was sent a signal (signal 15)"),
    ] {
        let mut backend = backend(StoreId::Redis);
        let id = backend.containers().remove(0);
        assert_eq!(backend.interference(), None);
        // Until the engine reports what happens.
        pass(&mut backend, Duration::from_millis(500));
        acts.iter().for_each(|act| drop(docker(&[act, &id])));
        let told = interference(&mut backend);
        assert!(told.contains(said), "{acts:?}: {told}");
    }
    let mut backend = backend(StoreId::ZooKeeper);
    pass(&mut backend, Duration::from_millis(500));
    docker(&["rm", "-f", &backend.containers()[1]]);
    assert!(backend.interference().is_some_and(|what| what.starts_with("server 1")));
    let told = interference(&mut backend);
    assert!(told.contains("server 1 was sent a signal (signal 9)"), "{told}");
}

#[test]
fn a_fault_that_somebody_else_spoils_is_no_error() {
    let mut backend = backend(StoreId::Redis);
    let fault = Fault::at(Node::Server(0), Action::Pause);
    backend.inject(1, &fault).unwrap();
    until(&mut backend, |notice| matches!(notice, Notice::Injected { id: 1 }).then_some(()));
    docker(&["rm", "-f", &backend.containers()[0]]);
    backend.heal(1, &fault).unwrap();
    assert!(interference(&mut backend).starts_with("server 0"));
}
