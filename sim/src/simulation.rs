//! The simulator as a backend: takes the next thing from the agenda, lets it happen, lets the
//! client that it woke run, and puts what follows on the agenda again.

use base::{
    Backend, BackendError, Data, Effect, Fault, FaultId, LocalFuture, Message, Mono, Node, Notice,
    Request, Response, Rng,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use stores::model::{Out, Peer, ServerModel};

use crate::agenda::Agenda;
use crate::client::{Client, Handle};
use crate::library::{Do, Library, Settings, SimStore};
use crate::machine::Machine;
use crate::network::{Network, Order};
use crate::pause::Paused;
use crate::server::Server;

/// Opens the task of a client.
pub type Open<L> = Box<dyn Fn(Handle<L>) -> LocalFuture<'static, ()>>;

/// What a simulated world is made of.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// How many seats for clients.
    pub clients: u32,
    /// How many servers.
    pub servers: u32,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// How long each client-server link delays, each way.
    pub link_delay: Duration,
    /// Seeds everything.
    pub seed: u64,
    /// What each client is told first.
    pub init: base::Command,
}

type PacketOf<S> = <<S as SimStore>::Server as ServerModel>::Packet;

/// What travels over a connection.
enum Payload<P> {
    Data(P),
    Closed,
}

/// A thing to come.
enum Item<P> {
    ToServer { server: u32, connection: u64, payload: Payload<P> },
    ToClient { connection: u64, payload: Payload<P> },
    Between { from: u32, to: u32, packet: P },
    ServerTick { server: u32, life: u32 },
    LibraryTick { process: u32 },
    Timer { process: u32, timer: u64 },
    Request { process: u32, request: Request },
    Response { process: u32, response: Response },
}

/// A connection between a client process and a server.
struct Connection {
    process: u32,
    server: u32,
    /// The library's own number for it.
    local: u64,
    to_server: Order,
    to_client: Order,
    open: bool,
}

/// A simulated world.
pub struct Simulation<S: SimStore> {
    store: S,
    config: SimConfig,
    open: Open<S::Link>,
    now: Rc<Cell<Mono>>,
    agenda: Agenda<Item<PacketOf<S>>>,
    network: Network<Item<PacketOf<S>>>,
    rng: Rng,
    clients: Vec<Option<Client<S, Item<PacketOf<S>>>>>,
    servers: Vec<Server<S::Server, Item<PacketOf<S>>>>,
    connections: BTreeMap<u64, Connection>,
    next_connection: u64,
    between: BTreeMap<(u32, u32), Order>,
    /// What the drive loop has yet to be told.
    inbox: Vec<Message>,
}

impl<S: SimStore> Simulation<S> {
    /// A fresh world: servers running, no client yet.
    pub fn new(store: S, config: SimConfig, open: Open<S::Link>) -> Self {
        let mut rng = Rng::fork(config.seed, 1);
        let skew = |rng: &mut Rng| rng.between(Duration::ZERO, Duration::from_millis(5));
        let servers = (0..config.servers)
            .map(|n| Server::new(store.server(n, config.servers, config.ttl), skew(&mut rng)))
            .collect();
        let mut simulation = Self {
            network: Network::new(Rng::fork(config.seed, 2), config.link_delay),
            clients: (0..config.clients).map(|_| None).collect(),
            servers,
            store,
            config,
            open,
            now: Rc::new(Cell::new(Mono::ZERO)),
            agenda: Agenda::new(),
            rng,
            connections: BTreeMap::new(),
            next_connection: 0,
            between: BTreeMap::new(),
            inbox: Vec::new(),
        };
        for server in 0..simulation.config.servers {
            simulation.tick_server(server);
        }
        simulation
    }

    fn seat(&self, process: u32) -> usize {
        (process % self.config.clients) as usize
    }

    /// The client of a process, if that process still lives.
    fn client(&mut self, process: u32) -> Option<&mut Client<S, Item<PacketOf<S>>>> {
        let seat = self.seat(process);
        self.clients[seat].as_mut().filter(|client| client.process == process)
    }

    fn notify(&mut self, notice: Notice) {
        self.inbox.push(Message { at: self.now.get(), notice });
    }

    // What happens.

    fn happen(&mut self, item: Item<PacketOf<S>>) {
        match item {
            Item::ToServer { server, .. } | Item::ServerTick { server, .. } => {
                self.at_server(server, item);
            }
            Item::Between { to, .. } => self.at_server(to, item),
            Item::ToClient { connection, .. } => {
                if let Some(c) = self.connections.get(&connection) {
                    self.at_client(c.process, item);
                }
            }
            Item::LibraryTick { process }
            | Item::Timer { process, .. }
            | Item::Request { process, .. } => self.at_client(process, item),
            Item::Response { process, response } => {
                self.notify(Notice::Client { process, response });
            }
        }
    }

    fn at_server(&mut self, number: u32, item: Item<PacketOf<S>>) {
        let node = &mut self.servers[number as usize];
        if let Some(paused) = &mut node.paused {
            paused.waiting.push(item);
            return;
        }
        match item {
            Item::ServerTick { life, .. } if node.up && node.life == life => {
                self.tick_server(number);
            }
            Item::ToServer { connection, payload, .. } => {
                self.packet_at_server(number, connection, payload);
            }
            Item::Between { from, packet, .. } if node.up => {
                let mut out = Vec::new();
                let clocks = node.clocks(self.now.get());
                node.model.receive(clocks, Peer::Server(from), packet, &mut out);
                self.server_wants(number, out);
            }
            _ => {}
        }
    }

    fn packet_at_server(&mut self, number: u32, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(&connection).filter(|wire| wire.open) else { return };
        debug_assert_eq!(wire.server, number);
        let node = &mut self.servers[number as usize];
        if !node.up {
            self.close(connection);
            return;
        }
        let clocks = node.clocks(self.now.get());
        match payload {
            Payload::Data(packet) => {
                node.connections.insert(connection);
                let mut out = Vec::new();
                node.model.receive(clocks, Peer::Connection(connection), packet, &mut out);
                self.server_wants(number, out);
            }
            Payload::Closed => {
                node.connections.remove(&connection);
                node.model.disconnected(clocks, connection);
                self.connections.remove(&connection);
            }
        }
    }

    fn tick_server(&mut self, number: u32) {
        let node = &mut self.servers[number as usize];
        let mut out = Vec::new();
        let clocks = node.clocks(self.now.get());
        let next = node.model.tick(clocks, &mut out);
        let life = node.life;
        if let Some(next) = next {
            self.agenda.push(next, Item::ServerTick { server: number, life });
        }
        self.server_wants(number, out);
    }

    fn server_wants(&mut self, number: u32, out: Vec<Out<PacketOf<S>>>) {
        for out in out {
            match out {
                Out::Send(Peer::Connection(connection), packet) => {
                    self.send_to_client(connection, Payload::Data(packet));
                }
                Out::Send(Peer::Server(to), packet) => {
                    let item = Item::Between { from: number, to, packet };
                    let ends = (Node::Server(number), Node::Server(to));
                    if let Some((delay, item)) = self.network.send(ends.0, ends.1, item) {
                        self.schedule_between(number, to, delay, item);
                    }
                }
                Out::Close(connection) => {
                    self.servers[number as usize].connections.remove(&connection);
                    self.close(connection);
                }
            }
        }
    }

    fn schedule_between(&mut self, from: u32, to: u32, delay: Duration, item: Item<PacketOf<S>>) {
        let order = self.between.entry((from, to)).or_default();
        let at = order.arrival(self.now.get(), delay);
        self.agenda.push(at, item);
    }

    /// The server's end closes a connection: what is still on its way to it is dropped.
    fn close(&mut self, connection: u64) {
        if let Some(wire) = self.connections.get_mut(&connection)
            && wire.open
        {
            wire.open = false;
            self.send_to_client(connection, Payload::Closed);
        }
    }

    fn send_to_client(&mut self, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(&connection) else { return };
        let (process, server) = (wire.process, wire.server);
        let ends = (Node::Server(server), Node::Client(self.seat(process) as u32));
        let is_data = matches!(payload, Payload::Data(_));
        let item = Item::ToClient { connection, payload };
        if let Some((delay, item)) = self.network.send(ends.0, ends.1, item) {
            self.schedule_on_wire(connection, delay, item);
            if is_data {
                self.notify(Notice::Passed { process });
            }
        }
    }

    fn send_to_server(&mut self, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(&connection) else { return };
        let server = wire.server;
        let ends = (Node::Client(self.seat(wire.process) as u32), Node::Server(server));
        let item = Item::ToServer { server, connection, payload };
        if let Some((delay, item)) = self.network.send(ends.0, ends.1, item) {
            self.schedule_on_wire(connection, delay, item);
        }
    }

    fn schedule_on_wire(&mut self, connection: u64, delay: Duration, item: Item<PacketOf<S>>) {
        let Some(wire) = self.connections.get_mut(&connection) else { return };
        let order = match item {
            Item::ToServer { .. } => &mut wire.to_server,
            _ => &mut wire.to_client,
        };
        let at = order.arrival(self.now.get(), delay);
        self.agenda.push(at, item);
    }

    fn at_client(&mut self, process: u32, item: Item<PacketOf<S>>) {
        let now = self.now.get();
        let local = match &item {
            Item::ToClient { connection, .. } => self.connections.get(connection).map(|w| w.local),
            _ => None,
        };
        let Some(client) = self.client(process) else { return };
        if let Some(paused) = &mut client.paused {
            paused.waiting.push(item);
            return;
        }
        let mut out = Vec::new();
        match item {
            Item::Timer { timer, .. } => client.machine.ring(timer),
            Item::Request { request, .. } => client.machine.put(request),
            Item::LibraryTick { .. } => {
                client.tick = None;
                client.library.tick(now, &mut out);
            }
            Item::ToClient { connection, payload } => {
                let Some(local) = local else { return };
                match payload {
                    Payload::Data(packet) => client.library.receive(now, local, packet, &mut out),
                    Payload::Closed => {
                        client.wires.remove(&local);
                        client.library.closed(now, local, &mut out);
                        self.connections.remove(&connection);
                    }
                }
            }
            _ => {}
        }
        self.run_client(process, out);
    }

    /// Lets a client's task and its library run until neither has anything to do.
    fn run_client(&mut self, process: u32, mut out: Vec<Do<PacketOf<S>>>) {
        let now = self.now.get();
        loop {
            let Some(client) = self.client(process) else { return };
            let ran = client.run();
            client.library.calls(now, &mut out);
            let timers = client.machine.take_timers();
            let said = client.machine.take_said();
            for (at, timer) in timers {
                self.agenda.push(at, Item::Timer { process, timer });
            }
            for response in said {
                let at = now + self.pipe();
                self.agenda.push(at, Item::Response { process, response });
            }
            let wanted = !out.is_empty();
            self.library_wants(process, std::mem::take(&mut out));
            if !ran && !wanted {
                break;
            }
        }
        let Some(client) = self.client(process) else { return };
        if let Some(deadline) = client.library.deadline()
            && client.tick.is_none_or(|tick| deadline < tick)
        {
            client.tick = Some(deadline);
            self.agenda.push(deadline.max(now), Item::LibraryTick { process });
        }
    }

    fn library_wants(&mut self, process: u32, out: Vec<Do<PacketOf<S>>>) {
        for wish in out {
            match wish {
                Do::Open { connection: local, server } => self.connect(process, local, server),
                Do::Send { connection: local, packet } => {
                    if let Some(connection) = self.wire(process, local) {
                        self.send_to_server(connection, Payload::Data(packet));
                    }
                }
                Do::Close { connection: local } => {
                    if let Some(connection) = self.wire(process, local) {
                        self.send_to_server(connection, Payload::Closed);
                    }
                }
            }
        }
    }

    fn connect(&mut self, process: u32, local: u64, server: usize) {
        self.next_connection += 1;
        let number = self.next_connection;
        let wire = Connection {
            process,
            server: server as u32,
            local,
            to_server: Order::default(),
            to_client: Order::default(),
            open: true,
        };
        self.connections.insert(number, wire);
        if let Some(client) = self.client(process) {
            client.wires.insert(local, number);
        }
    }

    fn wire(&mut self, process: u32, local: u64) -> Option<u64> {
        self.client(process)?.wires.get(&local).copied()
    }

    /// How long a line takes between the harness and a client.
    fn pipe(&mut self) -> Duration {
        self.rng.between(Duration::from_micros(10), Duration::from_micros(50))
    }

    // Faults.

    fn pause(&mut self, node: Node) {
        let paused = Paused::new(self.now.get());
        match node {
            Node::Client(seat) => {
                if let Some(client) = &mut self.clients[seat as usize] {
                    client.paused.get_or_insert(paused);
                }
            }
            Node::Server(n) => {
                self.servers[n as usize].paused.get_or_insert(paused);
            }
        }
    }

    /// Lets a paused node go on; what waited for it happens now, in order.
    fn resume(&mut self, node: Node) -> Effect {
        let paused = match node {
            Node::Client(seat) => {
                self.clients[seat as usize].as_mut().and_then(|c| c.paused.take())
            }
            Node::Server(n) => self.servers[n as usize].paused.take(),
        };
        let Some(paused) = paused else {
            return Effect::new("the node was gone before the pause ended", 0);
        };
        let effect = paused.effect(self.now.get());
        for item in paused.waiting {
            self.agenda.push(self.now.get(), item);
        }
        effect
    }

    fn crash(&mut self, node: Node) {
        match node {
            Node::Client(seat) => {
                if let Some(client) = self.clients[seat as usize].take() {
                    self.hang_up(client.process);
                }
            }
            Node::Server(n) => {
                let server = &mut self.servers[n as usize];
                server.up = false;
                server.life += 1;
                server.paused = None;
                for connection in std::mem::take(&mut server.connections) {
                    self.close(connection);
                }
            }
        }
    }

    /// A client is gone: its machine closes its connections.
    fn hang_up(&mut self, process: u32) {
        let mine = |wire: &Connection| wire.process == process;
        let connections: Vec<u64> =
            self.connections.iter().filter(|(_, wire)| mine(wire)).map(|(n, _)| *n).collect();
        for connection in connections {
            self.send_to_server(connection, Payload::Closed);
        }
    }

    fn restart(&mut self, number: u32, data: Data) {
        let now = self.now.get();
        let server = &mut self.servers[number as usize];
        server.up = true;
        let clocks = server.clocks(now);
        server.model.restart(clocks, data);
        self.tick_server(number);
    }

    fn uncut(&mut self, fault: &Fault) -> Effect {
        let effect = Effect::new("packets held", self.network.held(fault));
        for ((from, to), item) in self.network.heal(fault) {
            let delay = self.network.delay(from, to);
            match &item {
                Item::ToServer { connection, .. } => {
                    self.schedule_on_wire(*connection, delay, item)
                }
                Item::ToClient { connection, .. } => {
                    let connection = *connection;
                    self.schedule_on_wire(connection, delay, item);
                    if let Some(wire) = self.connections.get(&connection) {
                        self.notify(Notice::Passed { process: wire.process });
                    }
                }
                Item::Between { from, to, .. } => self.schedule_between(*from, *to, delay, item),
                _ => {}
            }
        }
        effect
    }
}

impl<S: SimStore> Backend for Simulation<S> {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn now(&self) -> Mono {
        self.now.get()
    }

    fn spawn(&mut self, seat: u32, process: u32) -> Result<(), BackendError> {
        // Whoever sat here is given up.
        self.crash(Node::Client(seat));
        let rng = |label: u64| Rng::fork(self.config.seed, label << 32 | u64::from(process));
        let skew = rng(3).between(Duration::ZERO, Duration::from_millis(5));
        let machine = Rc::new(Machine::new(self.now.clone(), skew, rng(4)));
        let (library, link) = self.store.client(Settings {
            machine: machine.clone(),
            servers: self.config.servers as usize,
            ttl: self.config.ttl,
            call_timeout: self.config.call_timeout,
            rng: rng(5),
        });
        let mut client = Client::<S, _>::new(process, machine, library, link, &self.open);
        let mut out = Vec::new();
        client.library.start(self.now.get(), &mut out);
        self.clients[seat as usize] = Some(client);
        self.run_client(process, out);
        self.send(process, Request { id: 0, command: self.config.init.clone() });
        Ok(())
    }

    fn send(&mut self, process: u32, request: Request) {
        let at = self.now.get() + self.pipe();
        self.agenda.push(at, Item::Request { process, request });
    }

    fn inject(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError> {
        match fault {
            Fault::Pause { node } => self.pause(*node),
            Fault::Crash { node, .. } => self.crash(*node),
            Fault::Cut { .. } => self.network.cut(fault),
        }
        self.notify(Notice::Injected { id });
        Ok(())
    }

    fn heal(&mut self, id: FaultId, fault: &Fault) -> Result<(), BackendError> {
        let effect = match fault {
            Fault::Pause { node } => self.resume(*node),
            Fault::Crash { node: Node::Client(_), .. } => Effect::new("process gone", 1),
            Fault::Crash { node: Node::Server(n), data } => {
                self.restart(*n, *data);
                Effect::new("server gone", 1)
            }
            Fault::Cut { .. } => self.uncut(fault),
        };
        self.notify(Notice::Healed { id, effect });
        Ok(())
    }

    fn advance(&mut self, until: Mono, inbox: &mut Vec<Message>) -> Result<(), BackendError> {
        while self.inbox.is_empty() {
            match self.agenda.pop(until) {
                Some((at, item)) => {
                    self.now.set(at.max(self.now.get()));
                    self.happen(item);
                }
                None => {
                    self.now.set(until.max(self.now.get()));
                    break;
                }
            }
        }
        inbox.append(&mut self.inbox);
        Ok(())
    }

    fn stop(&mut self) {
        self.clients.clear();
    }
}
