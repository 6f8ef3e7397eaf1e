//! What a backend of real servers must do, whatever its servers run in: a macro makes the tests of
//! each backend. Shell scripts stand in for the clients.

use base::{
    Action, Backend, ClientReply, ClientRequest, ClockChange, Command, Data, Direction, Effect,
    Fault, FaultId, LinkFault, Message, Mono, Node, Notice, Passing, ProgramCommand,
    ServerStanding,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};
use stores::{Endpoint, Login, StoreId, WorldSpec};
use testbed::{RealBackend, Servers, StartedServer};

pub const LIMIT: Duration = Duration::from_secs(60);

/// Answers every request with `ok`.
const SCRIPT: &str = r#"while read line; do
    id=${line#*\"id\":}
    echo "{\"id\":${id%%,*},\"type\":\"ok\"}"
done"#;

/// Sends something to its server, over a connection of its own, and answers once that has come
/// back.
const ASKING: &str = r#"while read line; do
    id=${line#*\"id\":}
    case $line in *127.0.0.1:*) port=${line#*127.0.0.1:} port=${port%%\"*};; esac
    exec 3<>/dev/tcp/127.0.0.1/$port
    printf 'ECHO %0100d\r\n' 0 >&3
    read -r length <&3 && read -r answer <&3
    echo "{\"id\":${id%%,*},\"type\":\"ok\"}"
done"#;

/// Sets its clock as it is asked to, and answers with its wall clock; answers all else with `ok`.
const CLOCKED: &str = r#"
rate=1000000 jumps=0 drifted=0 since=$(date +%s%N)
field() { # name default
    case $line in
    *"\"$1\":"*) value=${line#*\"$1\":} value=${value%%[!-0-9]*};;
    *) value=$2;;
    esac
}
set_clock() {
    now=$(date +%s%N)
    drifted=$((drifted + (now - since) * (rate - 1000000) / 1000000)) since=$now
    field drifted_ns $drifted; drifted=$value
    field jumps_ns 0; jumps=$value
    field rate_ppm 1000000; rate=$value
    [ $rate != 1000000 ] || drifted=0
}
while read -r line; do
    id=${line#*\"id\":} id=${id%%,*}
    case $line in *'"op":"init"'* | *'"op":"clock"'*) set_clock;; esac
    case $line in
    *'"op":"clock"'*)
        echo "{\"id\":$id,\"type\":\"clock\",\"wall_ns\":$((since + drifted + jumps))}";;
    *) echo "{\"id\":$id,\"type\":\"ok\"}";;
    esac
done"#;

/// Makes the tests that every backend has, for one with these servers. A new one is a function
/// below and a line here.
#[macro_export]
macro_rules! tests_of_a_backend {
    ($servers:ty) => {
        tests_of_a_backend!($servers:
            a_client_that_is_replaced_is_ended,
            a_client_tells_how_far_its_clock_was_set_and_has_it_right_after_the_heal,
            a_client_that_is_paused_has_its_clock_right_as_soon_as_it_goes_on,
            a_client_that_is_started_again_has_the_clock_of_its_machine,
            a_client_whose_clock_bends_or_stands_still_tells_so,
            a_fault_that_cannot_be_is_refused_by_name,
            a_sentinel_tells_how_far_its_clock_went,
            a_server_tells_how_far_its_clock_was_set_and_has_it_right_after_the_heal,
            a_server_whose_memory_is_filled_evicts_what_is_there,
            a_server_whose_clock_bends_or_stands_still_tells_so,
            a_throttled_link_carries_little_until_it_is_healed,
            clients_answer_and_faults_on_them_are_measured,
            faults_on_a_server_are_measured,
            links_are_cut_one_way_or_both_and_slowed_and_jittered_both_ways,
            members_cut_off_from_each_other_say_less_and_a_killed_one_serves_again,
            servers_say_who_leads_them_before_and_after_a_failover,
        );
    };
    ($servers:ty: $($test:ident,)*) => {
        $(#[test]
        fn $test() {
            shared::$test::<$servers>();
        })*
    };
}

pub fn backend<S: Servers>(store: StoreId) -> RealBackend<S> {
    start_world(&world(store))
}

fn backend_with<S: Servers>(store: StoreId, script: &str) -> RealBackend<S> {
    start(&world(store), script)
}

/// The world of two clients at the first topology of a store.
pub fn world(store: StoreId) -> WorldSpec {
    let spec = WorldSpec::new(store, &store.topologies()[0], "any", Duration::from_secs(2));
    WorldSpec { clients: 2, call_timeout: Duration::from_secs(1), ..spec }
}

/// Starts a world whose clients answer every request with `ok`.
pub fn start_world<S: Servers>(spec: &WorldSpec) -> RealBackend<S> {
    start(spec, SCRIPT)
}

fn start<S: Servers>(spec: &WorldSpec, script: &str) -> RealBackend<S> {
    let client = ProgramCommand::new("/bin/bash", vec!["-c".into(), script.into()]);
    RealBackend::start_with(spec, client, &|_| {}).unwrap()
}

/// Lets the world run until something happens that is looked for.
pub fn until<S: Servers, T>(
    backend: &mut RealBackend<S>,
    look: impl Fn(&Notice) -> Option<T>,
) -> T {
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
pub fn pass<S: Servers>(backend: &mut RealBackend<S>, time: Duration) {
    let end = backend.now() + time;
    while backend.now() < end {
        backend.advance(end, Passing::Awaited, &mut Vec::new()).unwrap();
    }
}

/// Does a fault, has something done while it is in force, and heals it.
pub fn suffer<S: Servers>(
    backend: &mut RealBackend<S>,
    fault: &Fault,
    meanwhile: impl FnOnce(&mut RealBackend<S>),
) -> Effect {
    suffer_as(backend, 1, fault, meanwhile)
}

/// Injects a fault, and waits until it is in force.
fn begin<S: Servers>(backend: &mut RealBackend<S>, number: FaultId, fault: &Fault) {
    backend.inject(number, fault).unwrap();
    let injected = |notice: &Notice| matches!(notice, Notice::Injected { id } if *id == number);
    until(backend, |notice| injected(notice).then_some(()));
}

/// The same under another number than that of a fault in force.
pub fn suffer_as<S: Servers>(
    backend: &mut RealBackend<S>,
    number: FaultId,
    fault: &Fault,
    meanwhile: impl FnOnce(&mut RealBackend<S>),
) -> Effect {
    begin(backend, number, fault);
    meanwhile(backend);
    backend.heal(number, fault).unwrap();
    until(backend, |notice| match notice {
        Notice::Healed { id, effect } if *id == number => Some(effect.clone()),
        _ => None,
    })
}

/// The answers of a server to some commands, after which it hangs up.
fn ask(endpoint: &Endpoint, commands: &str) -> String {
    let mut stream = TcpStream::connect(endpoint.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    if let Some(Login::Ahead { request, accepted }) = &endpoint.login {
        stream.write_all(request).unwrap();
        let mut answer = vec![0; accepted.len()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, *accepted);
    }
    stream.write_all(commands.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The answers of a Redis server.
pub fn redis(endpoint: &Endpoint, question: &str) -> String {
    ask(endpoint, &format!("{question}\r\nQUIT\r\n"))
}

/// The answers of a memcached server.
fn memcached(endpoint: &Endpoint, commands: &str) -> String {
    ask(endpoint, &format!("{commands}quit\r\n"))
}

pub fn clients_answer_and_faults_on_them_are_measured<S: Servers>() {
    let mut backend = backend::<S>(StoreId::Redis);
    backend.spawn(0, 10).unwrap();
    until(&mut backend, |notice| match notice {
        Notice::Client { process: 10, response } => {
            assert_eq!((response.id, &response.reply), (Some(0), &ClientReply::ok()));
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
pub fn answered<S: Servers>(backend: &mut RealBackend<S>, request: u64) {
    until(backend, |notice| match notice {
        Notice::Client { process: 10, response } => (response.id == Some(request)).then_some(()),
        _ => None,
    });
}

pub fn a_throttled_link_carries_little_until_it_is_healed<S: Servers>() {
    let mut backend = backend_with::<S>(StoreId::Redis, ASKING);
    backend.spawn(0, 10).unwrap();
    answered(&mut backend, 0);
    // The hundred bytes of a question would take longer than anybody waits here.
    let throttle = Action::Link(LinkFault::Throttle(1));
    let throttle = Fault::over(vec![(Node::Client(0), Node::Server(0))], throttle);
    let effect = suffer(&mut backend, &throttle, |backend| {
        backend.send(10, ClientRequest { id: 1, worker: 0, command: Command::Touch { hold: 0 } });
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
    backend.send(10, ClientRequest { id: 2, worker: 0, command: Command::Touch { hold: 0 } });
    answered(&mut backend, 2);
}

pub fn a_server_whose_memory_is_filled_evicts_what_is_there<S: Servers>() {
    let mut backend = backend::<S>(StoreId::Memcached);
    let endpoint = endpoint(&backend);
    let evict = Fault::at(Node::Server(0), Action::Evict);
    assert_eq!(suffer(&mut backend, &evict, |_| {}).amount, 0, "there was nothing to evict");
    let lock = "add lock 0 60 1\r\nx\r\n";
    for round in ["first", "second"] {
        assert_eq!(memcached(&endpoint, lock), "STORED\r\n", "{round}");
        let effect = suffer(&mut backend, &evict, |_| {
            assert_eq!(memcached(&endpoint, "get lock\r\n"), "END\r\n", "{round}");
        });
        assert_eq!(effect, Effect::of(Action::Evict, 1), "{round}");
    }
    let items = memcached(&endpoint, "stats\r\n");
    assert!(items.contains("STAT curr_items 0\r\n"), "the junk is out: {items}");
    suffer(&mut backend, &Fault::at(Node::Server(0), Action::Pause), |backend| {
        let effect = suffer_as(backend, 2, &evict, |_| {});
        assert_eq!(effect, Effect::new("the server was down or paused", 0));
    });
}

fn clocked<S: Servers>() -> RealBackend<S> {
    start_world(&WorldSpec { sets_clocks: true, ..world(StoreId::Redis) })
}

fn bend(change: ClockChange) -> Fault {
    Fault::at(Node::Server(0), Action::Clock(change))
}

/// The way to the first server.
pub fn endpoint<S: Servers>(backend: &RealBackend<S>) -> Endpoint {
    backend.servers()[0].endpoint().unwrap()
}

/// The seconds by which the clock of a Redis server is ahead of this machine's.
#[expect(clippy::disallowed_methods, reason = "compares two real clocks")]
fn seconds_ahead(endpoint: Endpoint) -> f64 {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
    let asked = now();
    let answer = redis(&endpoint, "TIME");
    let time: Vec<f64> = answer.lines().filter_map(|line| line.parse().ok()).collect();
    time[0] + time[1] / 1e6 - (asked + now()) / 2.0
}

pub fn a_server_tells_how_far_its_clock_was_set_and_has_it_right_after_the_heal<S: Servers>() {
    let mut backend = clocked::<S>();
    // The servers of this machine may be slow to answer, but no such time.
    let is_about =
        |endpoint: Endpoint, seconds: f64| (seconds_ahead(endpoint) - seconds).abs() < 10.0;
    for (seconds, answer) in [(100, "$-1\r\n+OK\r\n"), (-100, "$1\r\nv\r\n+OK\r\n")] {
        assert_eq!(redis(&endpoint(&backend), "SET k v PX 90000"), "+OK\r\n+OK\r\n");
        let jump = |seconds: i64| bend(ClockChange::Jump(seconds * 1_000_000_000));
        let effect = suffer(&mut backend, &jump(seconds), |backend| {
            assert!(is_about(endpoint(backend), seconds as f64));
            assert_eq!(redis(&endpoint(backend), "GET k"), answer, "{seconds}");
            suffer_as(backend, 2, &jump(50), |backend| {
                assert!(is_about(endpoint(backend), seconds as f64 + 50.0));
            });
            let crash = Fault::at(Node::Server(0), Action::Crash(Data::Kept));
            suffer_as(backend, 3, &crash, |_| {});
            assert!(is_about(endpoint(backend), seconds as f64), "a restart changes nothing of it");
        });
        assert!((90_000_000..=100_000_000).contains(&effect.amount), "{effect:?}");
        assert!(is_about(endpoint(&backend), 0.0));
    }
}

/// In two seconds a clock gains or loses so much that no slow answer hides it, also over a restart.
pub fn a_server_whose_clock_bends_or_stands_still_tells_so<S: Servers>() {
    let mut backend = clocked::<S>();
    let (time, most) = (Duration::from_secs(2), 60.0);
    for (change, rate) in [
        (ClockChange::Drift(10_000_000), 10.0),
        (ClockChange::Drift(-900_000), -0.9),
        (ClockChange::Freeze, -1.0),
    ] {
        let wrong = bend(change);
        let effect = suffer(&mut backend, &wrong, |backend| {
            let begun = seconds_ahead(endpoint(backend));
            assert!(begun.abs() < 5.0, "{change:?}: it goes on from where it was: {begun}");
            pass(backend, time);
            let gained = seconds_ahead(endpoint(backend)) / rate;
            assert!((1.9..most).contains(&gained), "{change:?}: {gained}");
            let crash = Fault::at(Node::Server(0), Action::Crash(Data::Kept));
            suffer_as(backend, 2, &crash, |_| {});
            assert!(seconds_ahead(endpoint(backend)) / rate >= gained, "{change:?}: restarted");
        });
        let least = (1_900_000.0 * rate.abs()) as u64;
        assert!((least..60_000_000).contains(&effect.amount), "{change:?}: {effect:?}");
        assert!(seconds_ahead(endpoint(&backend)).abs() < 0.5, "it was set right");
    }
    suffer(&mut backend, &bend(ClockChange::Freeze), |backend| {
        let pause = Fault::at(Node::Server(0), Action::Pause);
        begin(backend, 2, &pause);
        let missed = suffer_as(backend, 3, &bend(ClockChange::Jump(5)), |_| {});
        assert_eq!(missed, Effect::new("the server was down or paused", 0));
        backend.heal(2, &pause).unwrap();
    });
    assert!(seconds_ahead(endpoint(&backend)).abs() < 0.5);
}

/// It knows no TIME.
pub fn a_sentinel_tells_how_far_its_clock_went<S: Servers>() {
    let topology = StoreId::topology("redis-sentinel").unwrap();
    let world = WorldSpec { topology, sets_clocks: true, ..world(StoreId::Redis) };
    let mut backend = start_world::<S>(&world);
    let wrong = |change| Fault::at(Node::Server(5), Action::Clock(change));
    let jump = wrong(ClockChange::Jump(100_000_000_000));
    let jumped = suffer(&mut backend, &jump, |_| {});
    assert!((90_000_000..=100_000_000).contains(&jumped.amount), "{jumped:?}");
    let stood_still = suffer(&mut backend, &wrong(ClockChange::Freeze), |backend| {
        pass(backend, Duration::from_secs(2));
    });
    assert!((1_900_000..60_000_000).contains(&stood_still.amount), "{stood_still:?}");
}

fn bend_client(change: ClockChange) -> Fault {
    Fault::at(Node::Client(0), Action::Clock(change))
}

pub fn a_client_tells_how_far_its_clock_was_set_and_has_it_right_after_the_heal<S: Servers>() {
    let mut backend = backend_with::<S>(StoreId::Redis, CLOCKED);
    backend.spawn(0, 10).unwrap();
    answered(&mut backend, 0);
    let jump = |seconds: i64| bend_client(ClockChange::Jump(seconds * 1_000_000_000));
    for seconds in [100, -100] {
        let effect = suffer(&mut backend, &jump(seconds), |backend| {
            let again = suffer_as(backend, 2, &jump(50), |_| {});
            assert!((45_000_000..=50_000_000).contains(&again.amount), "{again:?}");
        });
        assert!((90_000_000..=100_000_000).contains(&effect.amount), "{effect:?}");
    }
    let kill = Fault::at(Node::Client(0), Action::Kill);
    suffer(&mut backend, &kill, |_| {});
    assert_eq!(suffer(&mut backend, &jump(100), |_| {}).amount, 0, "it was dead");
}

/// In a second a clock gains or loses so much that no slow answer hides it.
pub fn a_client_whose_clock_bends_or_stands_still_tells_so<S: Servers>() {
    let mut backend = backend_with::<S>(StoreId::Redis, CLOCKED);
    backend.spawn(0, 10).unwrap();
    answered(&mut backend, 0);
    let second = Duration::from_secs(1);
    let mut expected = |change, least, most| {
        let effect = suffer(&mut backend, &bend_client(change), |backend| pass(backend, second));
        assert!((least..most).contains(&effect.amount), "{change:?}: {effect:?}");
    };
    expected(ClockChange::Drift(10_000_000), 9_500_000, 100_000_000);
    expected(ClockChange::Drift(-500_000), 450_000, 5_000_000);
    expected(ClockChange::Freeze, 900_000, 10_000_000);
    expected(ClockChange::Drift(1), 0, 1_000);
}

pub fn a_client_that_is_paused_has_its_clock_right_as_soon_as_it_goes_on<S: Servers>() {
    let mut backend = backend_with::<S>(StoreId::Redis, CLOCKED);
    backend.spawn(0, 10).unwrap();
    answered(&mut backend, 0);
    let (freeze, pause) =
        (bend_client(ClockChange::Freeze), Fault::at(Node::Client(0), Action::Pause));
    suffer(&mut backend, &pause, |backend| {
        let effect = suffer_as(backend, 2, &freeze, |_| {});
        assert_eq!(effect, Effect::new("the client was paused", 0));
    });
    begin(&mut backend, 3, &freeze);
    pass(&mut backend, Duration::from_millis(500));
    begin(&mut backend, 4, &pause);
    backend.heal(3, &freeze).unwrap();
    pass(&mut backend, Duration::from_millis(500));
    backend.heal(4, &pause).unwrap();
    let effect = until(&mut backend, |notice| match notice {
        Notice::Healed { id: 3, effect } => Some(effect.clone()),
        _ => None,
    });
    assert!((450_000..10_000_000).contains(&effect.amount), "{effect:?}");
    let again = suffer(&mut backend, &bend_client(ClockChange::Jump(1_000_000_000)), |_| {});
    assert!((500_000..=1_000_000).contains(&again.amount), "{again:?}");
}

pub fn a_client_that_is_started_again_has_the_clock_of_its_machine<S: Servers>() {
    let mut backend = backend_with::<S>(StoreId::Redis, CLOCKED);
    backend.spawn(0, 10).unwrap();
    answered(&mut backend, 0);
    let fast = bend_client(ClockChange::Drift(10_000_000));
    let effect = suffer(&mut backend, &fast, |backend| {
        pass(backend, Duration::from_secs(1));
        suffer_as(backend, 2, &Fault::at(Node::Client(0), Action::Kill), |_| {});
        backend.spawn(0, 10).unwrap();
        answered(backend, 0);
        pass(backend, Duration::from_secs(1));
    });
    assert!((19_000_000..200_000_000).contains(&effect.amount), "{effect:?}");
}

/// The server that leads all others, once it is another than this one.
fn leader<S: Servers>(backend: &mut RealBackend<S>, before: Option<u32>) -> u32 {
    let limit = backend.now() + LIMIT;
    while backend.now() < limit {
        let standings = backend.standings();
        let leads = |it: &u32| standings[*it as usize] == Some(ServerStanding::Leader);
        let leading: Vec<u32> = (0..standings.len() as u32).filter(leads).collect();
        match leading[..] {
            [leader] if Some(leader) != before => return leader,
            _ => pass(backend, Duration::from_millis(20)),
        }
    }
    panic!("no server leads the others");
}

pub fn servers_say_who_leads_them_before_and_after_a_failover<S: Servers>() {
    for topology in ["zookeeper-x3", "redis-sentinel"] {
        let topology = StoreId::topology(topology).unwrap();
        let of = |store: &&StoreId| store.topologies().iter().any(|it| it == topology);
        let store = *StoreId::ALL.iter().find(of).unwrap();
        let mut backend = start_world::<S>(&WorldSpec { topology, ..world(store) });
        let first = leader(&mut backend, None);
        let crash = Fault::at(Node::Server(first), Action::Crash(Data::Kept));
        suffer(&mut backend, &crash, |backend| {
            leader(backend, Some(first));
            assert_eq!(backend.standings()[first as usize], None, "it is dead");
        });
        let second = leader(&mut backend, Some(first));
        let limit = backend.now() + LIMIT;
        while backend.standings()[first as usize] != Some(ServerStanding::Follower) {
            let standings = backend.standings();
            assert!(backend.now() < limit, "{first} was to follow {second}: {standings:?}");
            pass(&mut backend, Duration::from_millis(20));
        }
    }
}

/// Sends a question while a link is disturbed, and returns what that did. With `comes`, the
/// answer is to arrive meanwhile, else not.
fn disturbed<S: Servers>(action: Action, comes: bool) -> u64 {
    let mut backend = backend_with::<S>(StoreId::Redis, ASKING);
    backend.spawn(0, 10).unwrap();
    answered(&mut backend, 0);
    let fault = Fault::over(vec![(Node::Client(0), Node::Server(0))], action);
    let touch = ClientRequest { id: 1, worker: 0, command: Command::Touch { hold: 0 } };
    let effect = suffer(&mut backend, &fault, |backend| {
        backend.send(10, touch);
        match comes {
            true => answered(backend, 1),
            false => {
                let end = backend.now() + Duration::from_secs(1);
                while backend.now() < end {
                    let mut inbox = Vec::new();
                    backend.advance(end, Passing::Awaited, &mut inbox).unwrap();
                    let answer = |it: &Message| matches!(it.notice, Notice::Client { .. });
                    assert!(!inbox.iter().any(answer), "{action:?}: {inbox:?}");
                }
            }
        }
    });
    if !comes {
        answered(&mut backend, 1);
    }
    effect.amount
}

pub fn links_are_cut_one_way_or_both_and_slowed_and_jittered_both_ways<S: Servers>() {
    // A connection cannot be made over a link of which one way is cut.
    for direction in [Direction::Both, Direction::Forward, Direction::Backward] {
        assert!(disturbed::<S>(Action::Cut(direction), false) > 0, "{direction:?}");
    }
    for link_fault in [LinkFault::Slow(8), LinkFault::Jitter(50_000)] {
        let met = disturbed::<S>(Action::Link(link_fault), true);
        assert!(met >= 2, "{link_fault:?}: a question and an answer at least: {met}");
    }
}

pub fn faults_on_a_server_are_measured<S: Servers>() {
    let mut backend = backend::<S>(StoreId::Redis);
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

pub fn members_cut_off_from_each_other_say_less_and_a_killed_one_serves_again<S: Servers>() {
    let mut backend = backend::<S>(StoreId::ZooKeeper);
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

pub fn a_fault_that_cannot_be_is_refused_by_name<S: Servers>() {
    let mut backend = backend::<S>(StoreId::Redis);
    let stranger = Fault::at(Node::Client(9), Action::Pause);
    let error = backend.inject(1, &stranger).unwrap_err();
    assert_eq!(error.to_string(), "there is no client 9 in this run");
    let links = vec![(Node::Client(0), Node::Client(1))];
    let error = backend.inject(2, &Fault::over(links, Action::Cut(Direction::Both))).unwrap_err();
    assert_eq!(error.to_string(), "there is no such link between client 0 and client 1");
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

/// The processes that have this in their command line.
pub fn processes(mark: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let line = |id: u32| std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    ids.filter(|id| String::from_utf8_lossy(&line(*id)).contains(mark)).collect()
}

pub fn a_client_that_is_replaced_is_ended<S: Servers>() {
    let mark = format!("replaced-by-{}", std::process::id());
    let mut backend = backend_with::<S>(StoreId::Redis, &format!("# {mark}\n{SCRIPT}"));
    for process in 0..60 {
        let process = process * 2;
        backend.spawn(0, process).unwrap();
        until(&mut backend, |notice| match notice {
            Notice::Client { process: from, .. } => (*from == process).then_some(()),
            other => panic!("{other:?}"),
        });
    }
    let limit = backend.now() + LIMIT;
    while processes(&mark).len() > 1 && backend.now() < limit {
        pass(&mut backend, Duration::from_millis(1));
    }
    assert_eq!(processes(&mark).len(), 1, "the last one, and none of those that it replaced");
    drop(backend);
    assert!(processes(&mark).is_empty());
}

pub fn interference<S: Servers>(backend: &mut RealBackend<S>) -> String {
    until(backend, |notice| match notice {
        Notice::Interference { what } => Some(what.clone()),
        _ => None,
    })
}
