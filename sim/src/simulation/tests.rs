//! Tests of clients that go on after a pause, and of their calls when the link is cut, the server
//! down or the server's machine gone; and of servers whose memory is filled.

use super::*;
use base::{Action, ClientReply, Command, Data, Direction, Init, LinkFault, Response, Spread};
use std::future::poll_fn;
use stores::Cluster;
use stores::memcached::Reply::Stored;
use stores::memcached::{Memcached, Request::Add};
use stores::redis::Redis;
use stores::zookeeper::Timing;

const MS: Duration = Duration::from_millis(1);
const CLIENT: Node = Node::Client(0);
const SERVER: Node = Node::Server(0);

/// A world with one server, 50 ms away, and one client, which counts up in the store whenever it is
/// spoken to, with a time-out of 500 ms, and says how that ended: the number is its token.
struct Rig {
    world: Box<dyn Simulated>,
    inbox: Vec<Message>,
    asked: u64,
}

impl Rig {
    fn new() -> Self {
        let open: OpenClient<Redis> = Box::new(|mut handle| {
            Box::pin(async move {
                while let Some(request) = poll_fn(|cx| handle.mailbox.poll_next(cx)).await {
                    let mut count = ::redis::cmd("INCR");
                    count.arg("k");
                    let reply = match handle.link.call(0, count.into()).await {
                        Ok(value) => ClientReply::done(number(&value), None),
                        Err(error) => ClientReply::fail(error.to_string()),
                    };
                    handle.mailbox.say(Response { id: Some(request.id), worker: 0, reply });
                }
            })
        });
        Self::of(open)
    }

    /// The same with a client that adds a key to a memcached whenever it is spoken to.
    fn with_memcached() -> Self {
        let open: OpenClient<Memcached> = Box::new(|mut handle| {
            Box::pin(async move {
                while let Some(request) = poll_fn(|cx| handle.mailbox.poll_next(cx)).await {
                    let add = Add { key: "k".into(), value: "v".into(), exptime: 0 };
                    let reply = match handle.link.call(0, add).await {
                        Ok(Stored) => ClientReply::ok(),
                        other => ClientReply::fail(format!("{other:?}")),
                    };
                    handle.mailbox.say(Response { id: Some(request.id), worker: 0, reply });
                }
            })
        });
        Self::of(open)
    }

    fn of<S: Store>(open: OpenClient<S>) -> Self {
        let init = Command::Init(Box::new(Init { seed: 1, ..Init::default() }));
        let config = SimConfig {
            clients: 1,
            cluster: Cluster::new(&S::TOPOLOGIES[0], 1000 * MS, Timing::of(1000 * MS)),
            ttl: 1000 * MS,
            call_timeout: 500 * MS,
            latency: Spread::Uniform { least: 50 * MS, most: 51 * MS },
            links: BTreeMap::new(),
            seed: 1,
            init,
        };
        let world = simulation(S::ID, config, None, Box::new(open));
        Self { world, inbox: Vec::new(), asked: 0 }
    }

    /// A client comes, and makes a call.
    fn spawn(&mut self, process: u32) {
        self.world.spawn(0, process).expect("a client starts");
    }

    /// Has the client make another call.
    fn ask(&mut self) {
        self.asked += 1;
        let command = Command::Exit;
        self.world.send(0, ClientRequest { id: self.asked, worker: 0, command });
    }

    /// Lets time pass; what the client says of a call meanwhile.
    fn pass(&mut self, time: Duration) -> Option<ClientReply> {
        let until = self.world.now() + time;
        self.inbox.clear();
        while self.world.now() < until {
            self.world.advance(until, Passing::Awaited, &mut self.inbox).expect("it goes on");
        }
        self.inbox.iter().find_map(|message| match &message.notice {
            Notice::Client { response, .. } => Some(response.reply.clone()),
            _ => None,
        })
    }

    fn inject(&mut self, fault: &Fault) {
        self.world.inject(0, fault).expect("it can be done");
    }

    fn heal(&mut self, fault: &Fault) {
        self.world.heal(0, fault).expect("it can be undone");
    }
}

fn number(value: &::redis::Value) -> Option<u64> {
    match value {
        ::redis::Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn counted(number: u64) -> Option<ClientReply> {
    Some(ClientReply::done(Some(number), None))
}

#[track_caller]
fn failed(reply: Option<ClientReply>, why: &str) {
    let Some(ClientReply::Fail { error, .. }) = reply else { panic!("{reply:?}") };
    assert!(error.contains(why), "{error}");
}

/// Returns the client's reply after its call was under way for 10 ms and it was paused for so long.
fn reply_after_pause(pause: Duration) -> Option<ClientReply> {
    let (mut rig, fault) = (Rig::new(), Fault::at(CLIENT, Action::Pause));
    rig.spawn(0);
    assert_eq!(rig.pass(10 * MS), None);
    rig.inject(&fault);
    assert_eq!(rig.pass(pause), None);
    rig.heal(&fault);
    rig.pass(20 * MS)
}

#[test]
fn a_reply_that_came_during_a_pause_is_read() {
    assert_eq!(reply_after_pause(400 * MS), counted(1));
}

#[test]
fn a_call_that_timed_out_during_a_pause_has_timed_out_though_its_reply_has_come() {
    failed(reply_after_pause(600 * MS), "no reply in time");
}

fn cut(direction: Direction) -> Fault {
    Fault::over(vec![(CLIENT, SERVER)], Action::Cut(direction))
}

/// A packet takes five seconds there: more than the call has.
#[test]
fn what_waits_on_a_throttled_link_goes_on_when_the_limit_ends() {
    let throttle = Action::Link(LinkFault::Throttle(20));
    let (mut rig, fault) = (Rig::new(), Fault::over(vec![(CLIENT, SERVER)], throttle));
    rig.spawn(0);
    assert_eq!(rig.pass(150 * MS), counted(1));
    rig.inject(&fault);
    rig.ask();
    assert_eq!(rig.pass(200 * MS), None);
    rig.heal(&fault);
    assert_eq!(rig.pass(150 * MS), counted(2));
}

const WAYS: [Direction; 3] = [Direction::Both, Direction::Forward, Direction::Backward];

#[test]
fn over_a_connection_that_a_cut_held_up_nothing_has_left() {
    for cut in WAYS.map(cut) {
        let mut rig = Rig::new();
        rig.inject(&cut);
        rig.spawn(0);
        failed(rig.pass(600 * MS), "refused: Refusal(\"no connection in time\")");
        rig.heal(&cut);
        rig.pass(600 * MS);
        rig.ask();
        assert_eq!(rig.pass(600 * MS), counted(1), "{cut}");
    }
}

#[test]
fn a_client_that_died_while_its_connection_was_held_up_has_sent_nothing() {
    for cut in WAYS.map(cut) {
        let mut rig = Rig::new();
        rig.inject(&cut);
        rig.spawn(0);
        rig.pass(100 * MS);
        rig.inject(&Fault::at(CLIENT, Action::Kill));
        rig.heal(&cut);
        rig.pass(600 * MS);
        rig.spawn(1);
        assert_eq!(rig.pass(600 * MS), counted(1), "{cut}");
    }
}

#[test]
fn a_connection_is_made_after_the_heal_if_its_client_still_waits() {
    for cut in WAYS.map(cut) {
        let mut rig = Rig::new();
        rig.inject(&cut);
        rig.spawn(0);
        assert_eq!(rig.pass(200 * MS), None);
        rig.heal(&cut);
        assert_eq!(rig.pass(250 * MS), counted(1), "{cut}");
    }
}

#[test]
fn a_connection_that_was_open_before_a_cut_delivers_late() {
    let (mut rig, cut) = (Rig::new(), cut(Direction::Forward));
    rig.spawn(0);
    assert_eq!(rig.pass(200 * MS), counted(1));
    rig.inject(&cut);
    rig.ask();
    failed(rig.pass(600 * MS), "no reply in time");
    rig.heal(&cut);
    rig.pass(200 * MS);
    rig.ask();
    assert_eq!(rig.pass(200 * MS), counted(3));
}

#[test]
fn a_server_that_is_down_refuses() {
    let (mut rig, crash) = (Rig::new(), Fault::at(SERVER, Action::Crash(Data::Kept)));
    rig.inject(&crash);
    rig.spawn(0);
    failed(rig.pass(150 * MS), "connection refused");
    rig.heal(&crash);
    rig.ask();
    assert_eq!(rig.pass(150 * MS), counted(1));
}

#[test]
fn a_connection_to_a_server_that_died_and_is_back_is_broken() {
    let (mut rig, crash) = (Rig::new(), Fault::at(SERVER, Action::Crash(Data::Kept)));
    rig.spawn(0);
    // Its first request is on its way.
    assert_eq!(rig.pass(10 * MS), None);
    rig.inject(&crash);
    rig.heal(&crash);
    failed(rig.pass(200 * MS), "connection closed");
    rig.ask();
    assert_eq!(rig.pass(200 * MS), counted(1));
}

#[test]
fn a_machine_that_is_gone_says_nothing_and_knows_no_connection_when_it_is_back() {
    let (mut rig, gone) = (Rig::new(), Fault::at(SERVER, Action::Vanish));
    rig.spawn(0);
    assert_eq!(rig.pass(200 * MS), counted(1));
    rig.inject(&gone);
    assert_eq!(rig.pass(200 * MS), None);
    rig.ask();
    failed(rig.pass(600 * MS), "no reply in time");
    rig.heal(&gone);
    rig.ask();
    failed(rig.pass(200 * MS), "connection closed");
    rig.ask();
    assert_eq!(rig.pass(200 * MS), counted(2));
}

#[test]
fn a_machine_that_is_gone_answers_no_new_connection() {
    let (mut rig, gone) = (Rig::new(), Fault::at(SERVER, Action::Vanish));
    rig.inject(&gone);
    rig.spawn(0);
    failed(rig.pass(600 * MS), "no connection in time");
    rig.ask();
    assert_eq!(rig.pass(200 * MS), None);
    rig.heal(&gone);
    assert_eq!(rig.pass(250 * MS), counted(1));
}

/// Fills the memory of the server while another fault is in force, and heals both. Returns the
/// number of things that were evicted.
fn evicted_under(rig: &mut Rig, other: Action) -> Vec<u64> {
    let (evict, other) = (Fault::at(SERVER, Action::Evict), Fault::at(SERVER, other));
    let world = &mut rig.world;
    for (id, fault) in [(1, &other), (2, &evict)] {
        world.inject(id, fault).expect("it can be done");
    }
    for (id, fault) in [(2, &evict), (1, &other)] {
        world.heal(id, fault).expect("it can be undone");
    }
    rig.inbox.clear();
    rig.pass(MS);
    let evicted = |message: &Message| match &message.notice {
        Notice::Healed { effect, .. } if effect.what == Action::Evict.spec().counted => {
            Some(effect.amount)
        }
        _ => None,
    };
    rig.inbox.iter().filter_map(evicted).collect()
}

#[test]
fn a_full_memory_evicts_what_is_there_unless_it_is_full_already_or_does_not_run() {
    let mut rig = Rig::with_memcached();
    rig.spawn(0);
    assert_eq!(rig.pass(250 * MS), Some(ClientReply::ok()));
    assert_eq!(evicted_under(&mut rig, Action::Pause), [0]);
    assert_eq!(evicted_under(&mut rig, Action::Evict), [0, 1], "the second, and the first");
    rig.ask();
    assert_eq!(rig.pass(250 * MS), Some(ClientReply::ok()), "there is room for it again");
    assert_eq!(evicted_under(&mut rig, Action::Vanish), [0]);
}

#[test]
fn a_store_that_keeps_everything_evicts_nothing() {
    let mut rig = Rig::new();
    rig.spawn(0);
    assert_eq!(rig.pass(200 * MS), counted(1));
    assert_eq!(evicted_under(&mut rig, Action::Evict), [0, 0]);
    rig.ask();
    assert_eq!(rig.pass(200 * MS), counted(2));
}
