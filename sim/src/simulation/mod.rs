//! The simulator as a backend: takes the next thing from the event queue, lets it happen, lets the
//! client that it woke run, and puts what follows into the event queue again.

mod clients;
mod faults;
mod item;
mod servers;
mod wires;

use base::{
    Backend, BackendError, ClientRequest, Clock, Fault, FaultId, Ledger, LocalFuture, Message,
    Mono, Node, Notice, Passing, Rng, ServerStanding, World, emplace,
};
use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use stores::driver::Do;
use stores::model::ServerModel;
use stores::model::{Noted, Out};
use stores::{ClientSettings, PacketOf, Store, StoreId, Visit};

use crate::SimConfig;
use crate::chance::ChoiceLog;
use crate::client::{Handle, SimulatedClient};
use crate::clock::clock_of;
use crate::event_queue::EventQueue;
use crate::link::link;
use crate::machine::{Machine, RandomNumbers};
use crate::network::{Network, PacketOrder};
use crate::server::SimulatedServer;
pub use item::Item;
use item::{Connections, InFlight, InFlightPlace};
use stores::LedgerBuilder;

/// Opens the task of a client of a store.
pub type OpenClient<S> = Box<dyn Fn(Handle<S>) -> LocalFuture<'static, ()>>;

/// A backend that can say how much has happened in it.
pub trait Simulated: Backend {
    /// Returns the number of events: things that were taken from the event queue and happened.
    /// These are packets that arrived at a client or a server, lines between the harness and a
    /// client, timers that went off, and ticks of servers and client libraries.
    fn happened(&self) -> u64;
}

/// A simulated world.
struct Simulation<S: Store> {
    config: SimConfig,
    /// Records what chance decides, or decides itself. `None`: everything is drawn, nothing kept.
    choice_log: Option<Rc<ChoiceLog>>,
    open: OpenClient<S>,
    now: Rc<Cell<Mono>>,
    queue: EventQueue<Item>,
    network: Network<Item>,
    rng: Rng,
    clients: Vec<Option<SimulatedClient<S>>>,
    /// The clocks of the clients' machines, by number.
    clocks: Vec<Rc<Cell<Clock>>>,
    servers: Vec<SimulatedServer<S::Server>>,
    in_flight: InFlight<PacketOf<S>>,
    connections: Connections,
    between: BTreeMap<(u32, u32), PacketOrder>,
    happened: u64,
    ledger: LedgerBuilder,
    /// The notes of the model of the server that is running.
    noted: Vec<Noted>,
    /// The actions that the library of the running client asks for.
    wishes: Vec<Do<PacketOf<S>>>,
    /// The actions that the model of the running server asks for.
    outs: Vec<Out<PacketOf<S>>>,
    /// Messages for the drive loop, not yet delivered.
    inbox: Vec<Message>,
    /// True if a message in the inbox has to be delivered at once.
    stirred: bool,
    /// The drive loop's interest in replies that pass.
    passing: Passing,
}

impl<S: Store> Simulation<S> {
    /// A fresh world: servers running, no client yet. A choice log records what chance decides in
    /// it, or decides itself.
    fn new(config: SimConfig, choice_log: Option<Rc<ChoiceLog>>, open: OpenClient<S>) -> Self {
        let mut rng = Rng::fork(config.seed, 1);
        let skew = |rng: &mut Rng| {
            let mut draw = || rng.between(Duration::ZERO, Duration::from_millis(5));
            match &choice_log {
                Some(choice_log) => choice_log.server_skew(draw),
                None => draw(),
            }
        };
        let ledger = LedgerBuilder::of(config.cluster.topology);
        let servers = (0..config.cluster.servers())
            .map(|n| SimulatedServer::new(n, S::server(&config.cluster, n), skew(&mut rng)))
            .collect();
        let mut simulation = Self {
            network: Network::new(
                Rng::fork(config.seed, 2),
                choice_log.clone(),
                config.latency,
                config.links.clone(),
            ),
            clients: (0..config.clients).map(|_| None).collect(),
            clocks: (0..config.clients)
                .map(|client_number| Rc::new(Cell::new(clock_of(Node::Client(client_number)))))
                .collect(),
            servers,
            config,
            choice_log,
            open,
            now: Rc::new(Cell::new(Mono::ZERO)),
            queue: EventQueue::new(),
            rng,
            in_flight: InFlight::new(),
            connections: Connections::default(),
            wishes: Vec::new(),
            outs: Vec::new(),
            between: BTreeMap::new(),
            happened: 0,
            ledger,
            noted: Vec::new(),
            inbox: Vec::new(),
            stirred: false,
            passing: Passing::Noted,
        };
        for server in 0..simulation.config.cluster.servers() {
            simulation.tick_server(server);
        }
        simulation
    }

    fn client_number(&self, process: u32) -> usize {
        // Most clients still have their first process, and a division takes its time.
        let clients = self.config.clients;
        (if process < clients { process } else { process % clients }) as usize
    }

    fn notify(&mut self, notice: Notice) {
        self.stirred = true;
        self.inbox.push(Message { at: self.now.get(), notice });
    }

    /// Hands a client's response to the harness.
    fn hand_over(&mut self, process: u32, response: InFlightPlace) {
        self.stirred = true;
        let (at, responses) = (self.now.get(), &mut self.in_flight.responses);
        emplace(&mut self.inbox, || {
            let response = responses.take(response);
            Message { at, notice: Notice::Client { process, response } }
        });
    }

    /// A server's reply has passed the link to a client.
    fn notify_passed(&mut self, process: u32, server: u32) {
        if self.passing != Passing::Ignored {
            self.stirred |= self.passing == Passing::Awaited;
            let notice = Notice::Passed { process, server };
            self.inbox.push(Message { at: self.now.get(), notice });
        }
    }

    fn happen(&mut self, item: Item) {
        match item {
            Item::Gone { server, .. } | Item::ServerTick { server, .. } => {
                self.at_server(server, item);
            }
            Item::Between { to, .. } => self.at_server(to, item),
            Item::ToServer { connection, .. } => match self.connections.get(connection) {
                Some(wire) => self.at_server(wire.server, item),
                None => self.in_flight.discard(item),
            },
            Item::ToClient { connection, .. } => match self.connections.get(connection) {
                Some(wire) => self.at_client(wire.process, item),
                None => self.in_flight.discard(item),
            },
            Item::LibraryTick { process }
            | Item::Broken { process, .. }
            | Item::Refused { process, .. }
            | Item::Connect { process, .. }
            | Item::Alarm { process, .. }
            | Item::Timer { process, .. }
            | Item::Request { process, .. } => self.at_client(process, item),
            Item::Response { process, response } => self.hand_over(process, response),
        }
    }
}

/// Makes a simulated world. `open` is the [`OpenClient`] of its store. (The store is looked up
/// here, so that everything is compiled in this crate, with what it inlines.)
///
/// # Panics
/// Panics when `open` is that of another store.
pub fn simulation(
    store: StoreId,
    config: SimConfig,
    choice_log: Option<Rc<ChoiceLog>>,
    open: Box<dyn Any>,
) -> Box<dyn Simulated> {
    store.visit(Begin { config, choice_log, open })
}

struct Begin {
    config: SimConfig,
    choice_log: Option<Rc<ChoiceLog>>,
    open: Box<dyn Any>,
}

impl Visit for Begin {
    type Out = Box<dyn Simulated>;

    fn visit<S: Store>(self) -> Self::Out {
        let open: OpenClient<S> = *self.open.downcast().expect("the store's own");
        Box::new(Simulation::<S>::new(self.config, self.choice_log, open))
    }
}

impl<S: Store> Simulated for Simulation<S> {
    fn happened(&self) -> u64 {
        self.happened
    }
}

impl<S: Store> Backend for Simulation<S> {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn now(&self) -> Mono {
        self.now.get()
    }

    fn spawn(&mut self, client_number: u32, process: u32) -> Result<(), BackendError> {
        // Whoever had this number before is given up.
        self.crash(Node::Client(client_number));
        let rng = |label: u64| Rng::fork(self.config.seed, label << 32 | u64::from(process));
        let skew = || rng(3).between(Duration::ZERO, Duration::from_millis(5));
        let library = || rng(5).next();
        let (skew, library) = match &self.choice_log {
            Some(choice_log) => {
                (choice_log.client_skew(process, skew), choice_log.library(process, library))
            }
            None => (skew(), library()),
        };
        let numbers = RandomNumbers { process, rng: rng(4), choice_log: self.choice_log.clone() };
        let clock = self.clocks[client_number as usize].clone();
        let machine = Rc::new(Machine::new(self.now.clone(), clock, skew, numbers));
        let servers = self.config.cluster.servers() as usize;
        let rng = Rng::new(library);
        let driver = S::driver(ClientSettings { servers, ttl: self.config.ttl, rng });
        let (library, link) = link(machine.clone(), driver, servers, self.config.call_timeout);
        let client = SimulatedClient::<S>::new(process, machine, library, link, &self.open);
        client.library.start(client.machine.monotonic(), &mut self.wishes);
        self.clients[client_number as usize] = Some(client);
        self.run_client(client_number as usize);
        self.send(process, ClientRequest { id: 0, worker: 0, command: self.config.init.clone() });
        Ok(())
    }

    fn send(&mut self, process: u32, request: ClientRequest) {
        let client_number = self.client_number(process);
        let at = self.now.get().after(clients::pipe(
            &mut self.rng,
            self.choice_log.as_deref(),
            client_number,
        ));
        if let Some(client) = self.clients[client_number].as_ref().filter(|c| c.process == process)
        {
            client.machine.put(request);
            self.queue.push(at, Item::Request { process });
        }
    }

    fn inject(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError> {
        if fault.is_at_vault() {
            return Err(BackendError("the vault stands outside of every backend".into()));
        }
        self.begin(id, fault);
        self.notify(Notice::Injected { id });
        Ok(())
    }

    fn heal(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError> {
        let effect = self.undo(id, fault);
        self.notify(Notice::Healed { id, effect });
        Ok(())
    }

    fn advance(
        &mut self,
        until: Mono,
        passing: Passing,
        inbox: &mut Vec<Message>,
    ) -> Result<(), BackendError> {
        self.passing = passing;
        while !self.stirred {
            match self.queue.pop(until) {
                Some((at, item)) => {
                    self.now.set(at.max(self.now.get()));
                    self.happened += 1;
                    self.happen(item);
                }
                None => {
                    self.now.set(until.max(self.now.get()));
                    break;
                }
            }
        }
        self.stirred = false;
        if inbox.is_empty() {
            // No copy: both keep their memory.
            std::mem::swap(inbox, &mut self.inbox);
        }
        inbox.append(&mut self.inbox);
        Ok(())
    }

    fn standings(&mut self) -> Vec<Option<ServerStanding>> {
        let says = |it: &SimulatedServer<S::Server>| {
            it.model.standing().filter(|_| it.up && it.paused.is_none())
        };
        self.servers.iter().map(says).collect()
    }

    fn ledger(&mut self) -> Option<Ledger> {
        Some(self.ledger.take())
    }

    fn stop(&mut self) -> Result<(), BackendError> {
        self.clients.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
