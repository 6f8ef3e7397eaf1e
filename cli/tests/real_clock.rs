//! The clocks of real clients: what they sleep, and what they say of times, while faults bend them.
//! Nothing is skipped: where there is no `redis-server`, this fails.

use base::{
    Acquire, Action, Backend, ClientReply, ClientRequest, ClockChange, Command, Effect, Fault,
    FaultId, Mode, Mono, Node, Notice, Passing, ProgramCommand,
};
use local::LocalServers;
use std::time::Duration;
use stores::{StoreId, WorldSpec};
use testbed::RealBackend;

const LIMIT: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(100);
const SECOND: Duration = Duration::from_secs(1);

/// Two clients of a Redis, of which the first holds the lock.
struct Clients {
    backend: RealBackend<LocalServers>,
    requests: u64,
}

impl Clients {
    fn start() -> Self {
        let program = env!("CARGO_BIN_EXE_picklock");
        let client = ProgramCommand::new(program, vec!["client".into()]);
        let topology = &StoreId::Redis.topologies()[0];
        let spec = WorldSpec::new(StoreId::Redis, topology, "redis-set-nx-px", TTL);
        let spec = WorldSpec { clients: 2, ..spec };
        let backend = RealBackend::start_with(&spec, client, &|_| ()).expect("a server");
        let mut clients = Self { backend, requests: 0 };
        (0..2).for_each(|number| clients.spawn(number));
        clients
    }

    fn spawn(&mut self, number: u32) {
        self.backend.spawn(number, number).expect("a client");
        assert!(matches!(self.answer(0), ClientReply::Ok { .. }));
    }

    /// Has a client ask for the lock, and returns the number of the request.
    fn acquire(&mut self, number: u32, timeout: Duration) -> u64 {
        self.requests += 1;
        let acquire_timeout_ns = timeout.as_nanos() as u64;
        let (key, mode) = ("k".into(), Mode::Exclusive);
        let wanted = Acquire { key, hold: 0, mode, permits: 1, acquire_timeout_ns };
        let command = Command::Acquire(Box::new(wanted));
        self.backend.send(number, ClientRequest { id: self.requests, worker: number, command });
        self.requests
    }

    /// Returns the first notice that is looked for and comes before a time, as the look reads it.
    fn until<T>(&mut self, end: Mono, look: impl Fn(&Notice) -> Option<T>) -> Option<T> {
        while self.backend.now() < end {
            let mut inbox = Vec::new();
            self.backend.advance(end, Passing::Ignored, &mut inbox).expect("it runs");
            if let Some(found) = inbox.iter().find_map(|message| look(&message.notice)) {
                return Some(found);
            }
        }
        None
    }

    fn answer_within(&mut self, time: Duration, request: u64) -> Option<ClientReply> {
        let end = self.backend.now() + time;
        self.until(end, |notice| match notice {
            Notice::Client { response, .. } if response.id == Some(request) => {
                Some(response.reply.clone())
            }
            _ => None,
        })
    }

    fn answer(&mut self, request: u64) -> ClientReply {
        self.answer_within(LIMIT, request).expect("it answers")
    }

    fn inject(&mut self, id: FaultId, fault: &Fault) {
        self.backend.inject(id, fault).expect("it can be done");
        let end = self.backend.now() + LIMIT;
        let injected = |notice: &Notice| matches!(notice, Notice::Injected { .. }).then_some(());
        self.until(end, injected).expect("it is in force");
    }

    fn heal(&mut self, id: FaultId, fault: &Fault) -> Effect {
        self.backend.heal(id, fault).expect("it is in force");
        let end = self.backend.now() + LIMIT;
        let healed = |notice: &Notice| match notice {
            Notice::Healed { effect, .. } => Some(effect.clone()),
            _ => None,
        };
        self.until(end, healed).expect("it is healed")
    }
}

fn bend(number: u32, change: ClockChange) -> Fault {
    Fault::at(Node::Client(number), Action::Clock(change))
}

fn is_refusal(reply: &ClientReply) -> bool {
    matches!(reply, ClientReply::Fail { .. })
}

#[test]
fn a_sleep_outlasts_a_clock_that_stands_still_and_times_are_read_from_a_right_one() {
    let mut clients = Clients::start();
    let held = clients.acquire(0, SECOND);
    assert!(matches!(clients.answer(held), ClientReply::Ok { .. }));
    let freeze = bend(1, ClockChange::Freeze);
    clients.inject(1, &freeze);
    let waits = clients.acquire(1, SECOND / 5);
    assert_eq!(clients.answer_within(SECOND * 2, waits), None, "its time stands still");
    let effect = clients.heal(1, &freeze);
    assert!((1_900_000..60_000_000).contains(&effect.amount), "{effect:?}");
    let reply = clients.answer(waits);
    assert!(is_refusal(&reply), "{reply:?}");

    clients.requests += 1;
    let release = Command::Release { hold: 0 };
    clients.backend.send(0, ClientRequest { id: clients.requests, worker: 0, command: release });
    clients.answer(clients.requests);
    let asked = clients.backend.now();
    let granted = clients.acquire(1, SECOND);
    let ClientReply::Ok { facts: Some(facts), .. } = clients.answer(granted) else {
        panic!("the lock is free")
    };
    let (from, to) = (asked + TTL, clients.backend.now() + TTL);
    let expires = Mono::from_nanos(facts.expires_ns.expect("it is known"));
    assert!(from <= expires && expires <= to, "{from:?} {expires:?} {to:?}");
}

#[test]
fn a_client_that_is_started_again_while_its_clock_runs_fast_waits_for_a_short_time_again() {
    let mut clients = Clients::start();
    let held = clients.acquire(0, SECOND);
    assert!(matches!(clients.answer(held), ClientReply::Ok { .. }));
    let fast = bend(1, ClockChange::Drift(99_000_000));
    clients.inject(1, &fast);
    // A hundred times as fast: three seconds.
    let long = SECOND * 300;
    let begun = clients.backend.now();
    let waits = clients.acquire(1, long);
    assert!(is_refusal(&clients.answer(waits)));
    let kill = Fault::at(Node::Client(1), Action::Kill);
    clients.inject(2, &kill);
    clients.heal(2, &kill);
    clients.spawn(1);
    let waits = clients.acquire(1, long);
    assert!(is_refusal(&clients.answer(waits)));
    assert!(clients.backend.now().since(begun) >= SECOND * 6);
    let effect = clients.heal(1, &fast);
    assert!(effect.amount >= 590_000_000, "{effect:?}");
}
