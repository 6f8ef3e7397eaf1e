//! A client as a function: its inputs so far decide what it does next.
//!
//! A running task cannot be copied, and an enumeration has to go on from one state in many ways.
//! But a client reads nothing but its machine: its clocks, its randomness, its mailbox, its wires.
//! So the list of what has happened to it *is* its state. What it does when one more thing happens
//! is found once, by running its real code on the whole list, and looked up ever after.

use base::{ClientRequest, Command, Init, Mono, Response, Rng};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use stores::driver::Do;
use stores::{ClientSettings, PacketOf, Store};

use super::fingerprint::Fingerprint;
use crate::OpenClient;
use crate::client::SimulatedClient;
use crate::clock::up_for;
use crate::link::link;
use crate::machine::{Machine, RandomNumbers};
use crate::timers::TimerId;

/// A time that never comes. The time-outs of acquires, calls and sessions lie this far away; a
/// timer that is due half as far away or farther never goes off.
pub const NEVER: Duration = Duration::from_secs(1_000_000_000);

/// An event at a client.
#[derive(Clone, Debug)]
pub enum ClientInput<P> {
    /// The client starts.
    Start,
    /// The harness asks it for something.
    Request(ClientRequest),
    /// A packet arrives over a connection.
    Packet(u64, P),
    /// A connection is closed by the other end, or lost.
    Closed(u64),
    /// A timer goes off, at its time by the client's own clock.
    Wake(u64, Mono),
    /// The time has come at which its library connects again, by the client's own clock.
    Tick(Mono),
    /// So much time passes.
    Later(Duration),
}

/// The inputs of a client so far, the latest first.
#[derive(Debug)]
pub struct Log<P> {
    input: ClientInput<P>,
    before: Option<Rc<Log<P>>>,
    /// The fingerprint of the whole list: the client's state.
    pub digest: u128,
}

impl<P: std::fmt::Debug> Log<P> {
    pub fn start(client: u32) -> Rc<Self> {
        let mut digest = Fingerprint::new();
        digest.add(client);
        Rc::new(Self { input: ClientInput::Start, before: None, digest: digest.bits() })
    }

    pub fn and(self: &Rc<Self>, input: ClientInput<P>) -> Rc<Self> {
        let mut digest = Fingerprint::new();
        digest.add(self.digest);
        digest.debug(&input);
        Rc::new(Self { input, before: Some(self.clone()), digest: digest.bits() })
    }

    fn inputs(&self) -> Vec<&ClientInput<P>> {
        let mut inputs: Vec<_> = std::iter::successors(Some(self), |log| log.before.as_deref())
            .map(|l| &l.input)
            .collect();
        inputs.reverse();
        inputs
    }
}

/// A timer that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientTimer {
    pub id: u64,
    /// The time at which it goes off, by the client's own clock.
    pub at: Mono,
}

/// The reaction of a client to an input.
#[derive(Debug)]
pub struct Reaction<P> {
    /// The actions on its wires that it wants.
    pub wants: Vec<Do<P>>,
    /// The responses that it sends to the harness.
    pub responses: Vec<Response>,
    /// The timers that it waits for now, but for those that never go off.
    pub timers: Vec<ClientTimer>,
    /// The time at which its library connects again, if it waits for that.
    pub tick: Option<Mono>,
    /// True if it has read its wall clock.
    pub read_wall_clock: bool,
}

impl<P> Default for Reaction<P> {
    fn default() -> Self {
        Self {
            wants: Vec::new(),
            responses: Vec::new(),
            timers: Vec::new(),
            tick: None,
            read_wall_clock: false,
        }
    }
}

/// All clients of an enumeration.
pub struct Actors<S: Store> {
    open: OpenClient<S>,
    /// The time to live of locks.
    ttl: Duration,
    known: BTreeMap<u128, Rc<Reaction<PacketOf<S>>>>,
    /// True once some client has read its wall clock.
    pub read_wall_clock: bool,
}

impl<S: Store> Actors<S> {
    pub fn new(open: OpenClient<S>, ttl: Duration) -> Self {
        Self { open, ttl, known: BTreeMap::new(), read_wall_clock: false }
    }

    /// Returns the number of different reactions that were computed: how often clients' code was
    /// run.
    pub fn runs(&self) -> usize {
        self.known.len()
    }

    /// Returns the request with which a client is set up.
    pub fn init(&self, algo: &str, client: u32) -> ClientRequest {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let init = Init {
            algo: algo.into(),
            process: client,
            ttl_ns: nanos(self.ttl),
            call_timeout_ns: nanos(NEVER),
            ..Init::default()
        };
        ClientRequest { id: 0, worker: client, command: Command::Init(Box::new(init)) }
    }

    /// Returns a client's reaction to the last thing that has happened to it.
    pub fn react(&mut self, client: u32, log: &Log<PacketOf<S>>) -> Rc<Reaction<PacketOf<S>>> {
        if let Some(known) = self.known.get(&log.digest) {
            return known.clone();
        }
        let reaction = Rc::new(self.run(client, log));
        self.read_wall_clock |= reaction.read_wall_clock;
        self.known.insert(log.digest, reaction.clone());
        reaction
    }

    fn run(&self, number: u32, log: &Log<PacketOf<S>>) -> Reaction<PacketOf<S>> {
        let now = Rc::new(Cell::new(Mono::ZERO));
        let rng = |label| Rng::fork(1, label + u64::from(number) * 2);
        let numbers = RandomNumbers { process: number, rng: rng(100), choice_log: None };
        let clock = Rc::new(Cell::new(up_for(Duration::ZERO)));
        let machine = Rc::new(Machine::new(now.clone(), clock, Duration::ZERO, numbers));
        // A session has no time to run out either: it ends when the enumeration ends it.
        let driver = S::driver(ClientSettings { servers: 1, ttl: NEVER, rng: rng(101) });
        let (library, link) = link(machine.clone(), driver, 1, NEVER);
        let client = SimulatedClient::new(number, machine, library, link, &self.open);
        let mut running: ClientTurn<S> =
            ClientTurn { now, client, timers: BTreeMap::new(), set: 0 };
        let mut reaction = Reaction::default();
        for input in log.inputs() {
            reaction = running.feed(input.clone());
        }
        reaction
    }
}

/// A client that is being run.
struct ClientTurn<S: Store> {
    now: Rc<Cell<Mono>>,
    client: SimulatedClient<S>,
    /// The timers, in the order in which they were set: the client's own numbers for them.
    timers: BTreeMap<u64, (Mono, TimerId)>,
    set: u64,
}

impl<S: Store> ClientTurn<S> {
    /// Lets something happen and runs the client until it has nothing more to do.
    fn feed(&mut self, input: ClientInput<PacketOf<S>>) -> Reaction<PacketOf<S>> {
        let mut reaction = Reaction::default();
        let now = self.now.get();
        let SimulatedClient { library, machine, .. } = &mut self.client;
        match input {
            ClientInput::Start => library.start(now, &mut reaction.wants),
            ClientInput::Request(request) => {
                machine.put(request);
                machine.deliver();
            }
            ClientInput::Packet(from, packet) => {
                library.receive(now, from, packet, &mut reaction.wants);
            }
            ClientInput::Closed(connection) => library.closed(now, connection, &mut reaction.wants),
            ClientInput::Wake(timer, at) => {
                self.now.set(now.max(at));
                if let Some((_, timer)) = self.timers.get(&timer) {
                    machine.timers.borrow_mut().wake(*timer);
                }
            }
            ClientInput::Tick(at) => {
                self.now.set(now.max(at));
                library.tick(self.now.get(), &mut reaction.wants);
            }
            ClientInput::Later(by) => self.now.set(now + by),
        }
        self.run(&mut reaction);
        let near = |at: &Mono| at.since(self.now.get()) < NEVER / 2;
        let machine = &self.client.machine;
        let mut waiting = machine.timers.borrow_mut();
        self.timers.retain(|_, (at, timer)| near(at) && waiting.awaits(*timer));
        reaction.timers =
            self.timers.iter().map(|(&id, &(at, _))| ClientTimer { id, at }).collect();
        reaction.tick = self.client.library.connects_at();
        reaction.read_wall_clock = machine.has_read_wall_clock();
        reaction
    }

    fn run(&mut self, reaction: &mut Reaction<PacketOf<S>>) {
        loop {
            let wanted = reaction.wants.len();
            let ran = self.client.run();
            self.client.library.calls(self.now.get(), &mut reaction.wants);
            let Machine { timers, .. } = &*self.client.machine;
            for fresh in timers.borrow_mut().take_fresh() {
                self.timers.insert(self.set, fresh);
                self.set += 1;
            }
            reaction.responses.extend(std::iter::from_fn(|| self.client.machine.next_response()));
            if !ran && reaction.wants.len() == wanted {
                return;
            }
        }
    }
}
