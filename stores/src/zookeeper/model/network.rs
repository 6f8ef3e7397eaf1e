//! A small network for the tests: servers and clients in virtual time, every link with the same
//! latency, links that can be cut and nodes that can be paused or killed.

use super::{ClientModel, ClientOut, Packet, Server};
use crate::model::{Clocks, Out, Peer, ServerModel};
use crate::zookeeper::{Refusal, Reply, Request, SessionState, Timing, WatchEvent, WatchId};
use base::{CallError, Data, Mono, Node, Rng, WallTime};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const LATENCY: Duration = Duration::from_millis(1);

type CallAnswer = Result<Reply, CallError<Refusal>>;

#[derive(Debug)]
enum NetworkEvent {
    Packet(Peer, Packet),
    /// A connection, by its number in this network, was closed by its other end.
    Closed(u64),
    Tick,
}

#[derive(Debug)]
struct TestConnection {
    client: u32,
    /// The client's own number for it.
    local: u64,
    server: u32,
}

/// A small world of servers and clients for a test.
pub struct TestNetwork {
    /// The virtual time.
    pub now: Mono,
    sequence: u64,
    queue: BTreeMap<(Mono, u64), (Node, NetworkEvent)>,
    /// The servers, by number.
    pub servers: Vec<Server>,
    down: BTreeSet<u32>,
    /// The clients, by number.
    pub clients: Vec<ClientModel>,
    wakes: BTreeMap<u32, Mono>,
    connections: BTreeMap<u64, TestConnection>,
    cut: BTreeSet<(Node, Node)>,
    held: Vec<(Node, Node, NetworkEvent)>,
    paused: BTreeSet<Node>,
    frozen: Vec<(Node, NetworkEvent)>,
    /// The outcomes of requests, by client and number.
    pub done: BTreeMap<(u32, u64), CallAnswer>,
    /// The events of watches that fired, by client and watch.
    pub fired: BTreeMap<(u32, WatchId), WatchEvent>,
    /// Everything that clients said to their users, in order.
    pub said: Vec<(Mono, u32, ClientOut)>,
    seed: u64,
}

impl TestNetwork {
    /// An ensemble of this size, started.
    pub fn new(size: u32, timing: Timing, seed: u64) -> Self {
        let mut network = Self {
            now: Mono::ZERO,
            sequence: 0,
            queue: BTreeMap::new(),
            servers: (0..size).map(|me| Server::new(me, size, timing)).collect(),
            down: BTreeSet::new(),
            clients: Vec::new(),
            wakes: BTreeMap::new(),
            connections: BTreeMap::new(),
            cut: BTreeSet::new(),
            held: Vec::new(),
            paused: BTreeSet::new(),
            frozen: Vec::new(),
            done: BTreeMap::new(),
            fired: BTreeMap::new(),
            said: Vec::new(),
            seed,
        };
        (0..size).for_each(|id| network.at(Duration::ZERO, Node::Server(id), NetworkEvent::Tick));
        network
    }

    /// A client with this session time-out, started. It knows these servers only.
    pub fn client(&mut self, session_timeout: Duration) -> u32 {
        let id = self.clients.len() as u32;
        let rng = Rng::fork(self.seed, u64::from(id));
        self.clients.push(ClientModel::new(self.servers.len(), session_timeout, rng));
        self.with_client(id, |client, at, out| client.start(at, out));
        id
    }

    /// A client that has connected.
    pub fn connected(&mut self, session_timeout: Duration) -> u32 {
        let id = self.client(session_timeout);
        let up = |n: &Self| n.clients[id as usize].state() == SessionState::Connected;
        assert!(self.run_until(Duration::from_secs(10), up), "client {id} never connected");
        id
    }

    /// Makes a request and returns its number.
    pub fn submit(&mut self, client: u32, request: Request) -> u64 {
        let mut number = 0;
        self.with_client(client, |model, at, out| number = model.submit(at, request, out));
        number
    }

    /// Makes a request and waits for its answer.
    pub fn call(&mut self, client: u32, request: Request) -> CallAnswer {
        let number = self.submit(client, request);
        let answered = |n: &Self| n.done.contains_key(&(client, number));
        assert!(self.run_until(Duration::from_secs(60), answered), "no answer in a minute");
        self.done[&(client, number)].clone()
    }

    /// The state of a client's session.
    pub fn state(&self, client: u32) -> SessionState {
        self.clients[client as usize].state()
    }

    /// The server that leads.
    pub fn leader(&self) -> Option<u32> {
        let leads =
            |id: &usize| self.servers[*id].is_leader() && !self.down.contains(&(*id as u32));
        (0..self.servers.len()).find(leads).map(|id| id as u32)
    }

    /// The server that a client is connected to.
    pub fn server_of(&self, client: u32) -> Option<u32> {
        self.connections.values().filter(|c| c.client == client).map(|c| c.server).next_back()
    }

    /// Lets time pass.
    pub fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.step(end) {}
        self.now = end;
    }

    /// Runs until this holds; false if it does not within the limit.
    pub fn run_until(&mut self, limit: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + limit;
        while !holds(self) {
            if !self.step(end) {
                self.now = end;
                return holds(self);
            }
        }
        true
    }

    /// Cuts the link both ways: what is sent is held until the heal.
    pub fn cut(&mut self, a: Node, b: Node) {
        self.cut.extend([(a, b), (b, a)]);
    }

    /// Cuts the link from one node to another, and not back.
    pub fn cut_one_way(&mut self, from: Node, to: Node) {
        self.cut.insert((from, to));
    }

    /// Cuts a server from all others.
    pub fn isolate(&mut self, server: u32) {
        let others = (0..self.servers.len() as u32).filter(|id| *id != server);
        others.for_each(|id| self.cut(Node::Server(server), Node::Server(id)));
    }

    /// Heals all links and delivers what they held.
    pub fn heal(&mut self) {
        self.cut.clear();
        for (_, to, event) in std::mem::take(&mut self.held) {
            self.at(LATENCY, to, event);
        }
    }

    /// Lets new packets pass all links; what they held stays until the heal.
    pub fn reopen(&mut self) {
        self.cut.clear();
    }

    /// Stops a node; what comes for it waits.
    pub fn pause(&mut self, node: Node) {
        self.paused.insert(node);
    }

    /// Lets a paused node go on.
    pub fn resume(&mut self, node: Node) {
        self.paused.remove(&node);
        for (to, event) in std::mem::take(&mut self.frozen) {
            self.at(Duration::ZERO, to, event);
        }
    }

    /// Kills a server; its connections are closed.
    pub fn crash(&mut self, server: u32) {
        let mut out = Vec::new();
        self.servers[server as usize].hang_up(&mut out);
        out.into_iter().for_each(|out| self.obey_server(server, out));
        self.down.insert(server);
        self.queue.retain(|_, (node, _)| *node != Node::Server(server));
        let lost = self.connections.iter().filter(|(_, c)| c.server == server);
        for id in lost.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.reset(id);
        }
    }

    /// Resets a client's connections.
    pub fn disconnect(&mut self, client: u32) {
        let theirs = self.connections.iter().filter(|(_, c)| c.client == client);
        for id in theirs.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.reset(id);
        }
    }

    /// Starts a killed server again.
    pub fn restart(&mut self, server: u32, data: Data) {
        self.down.remove(&server);
        let clocks = self.clocks();
        self.servers[server as usize].restart(clocks, data);
        self.at(Duration::ZERO, Node::Server(server), NetworkEvent::Tick);
    }

    /// Does something with a client and carries out what it asks for.
    pub fn with_client(
        &mut self,
        id: u32,
        act: impl FnOnce(&mut ClientModel, Mono, &mut Vec<ClientOut>),
    ) {
        let mut out = Vec::new();
        act(&mut self.clients[id as usize], self.now, &mut out);
        out.into_iter().for_each(|out| self.obey_client(id, out));
        let wake = self.clients[id as usize].deadline();
        if let Some(wake) = wake.filter(|wake| self.wakes.get(&id) != Some(wake)) {
            self.wakes.insert(id, wake);
            self.at(wake.since(self.now), Node::Client(id), NetworkEvent::Tick);
        }
    }

    fn obey_client(&mut self, id: u32, out: ClientOut) {
        self.said.push((self.now, id, out.clone()));
        match out {
            ClientOut::Open { server, connection } => self.open(id, server as u32, connection),
            ClientOut::Close { connection } => {
                if let Some(global) = self.global(id, connection)
                    && let Some(gone) = self.connections.remove(&global)
                {
                    let (from, to) = (Node::Client(id), Node::Server(gone.server));
                    self.send(from, to, NetworkEvent::Closed(global));
                }
            }
            ClientOut::Send { connection, packet } => {
                if let Some(global) = self.global(id, connection) {
                    let to = Node::Server(self.connections[&global].server);
                    let event = NetworkEvent::Packet(Peer::Connection(global), packet);
                    self.send(Node::Client(id), to, event);
                }
            }
            ClientOut::Done { request, result } => {
                self.done.insert((id, request), result);
            }
            ClientOut::Fired { watch, event } => {
                self.fired.insert((id, watch), event);
            }
            ClientOut::State(_) => {}
        }
    }

    fn open(&mut self, client: u32, server: u32, local: u64) {
        self.sequence += 1;
        let global = self.sequence;
        self.connections.insert(global, TestConnection { client, local, server });
        if self.down.contains(&server) {
            self.reset(global);
        }
    }

    /// Tells a client that its connection is gone.
    fn reset(&mut self, global: u64) {
        if let Some(gone) = self.connections.remove(&global) {
            let (from, to) = (Node::Server(gone.server), Node::Client(gone.client));
            self.send(from, to, NetworkEvent::Closed(gone.local));
        }
    }

    fn global(&self, client: u32, local: u64) -> Option<u64> {
        let theirs = |(_, c): &(&u64, &TestConnection)| c.client == client && c.local == local;
        self.connections.iter().find(theirs).map(|(id, _)| *id)
    }

    fn send(&mut self, from: Node, to: Node, event: NetworkEvent) {
        if self.cut.contains(&(from, to)) {
            self.held.push((from, to, event));
        } else {
            self.at(LATENCY, to, event);
        }
    }

    fn at(&mut self, after: Duration, to: Node, event: NetworkEvent) {
        self.sequence += 1;
        self.queue.insert((self.now + after, self.sequence), (to, event));
    }

    fn clocks(&self) -> Clocks {
        Clocks { wall: WallTime::from_nanos(self.now.nanos()), mono: self.now }
    }

    fn step(&mut self, end: Mono) -> bool {
        let Some(first) = self.queue.first_entry().filter(|e| e.key().0 <= end) else {
            return false;
        };
        self.now = first.key().0;
        let (node, event) = first.remove();
        match node {
            node if self.paused.contains(&node) => self.frozen.push((node, event)),
            Node::Server(id) if self.down.contains(&id) => {}
            Node::Server(id) => self.server_event(id, event),
            Node::Client(id) => self.client_event(id, event),
            Node::Vault => {}
        }
        true
    }

    fn client_event(&mut self, id: u32, event: NetworkEvent) {
        if matches!(event, NetworkEvent::Tick) {
            self.wakes.remove(&id);
        }
        self.with_client(id, |client, at, out| match event {
            NetworkEvent::Packet(Peer::Connection(local), packet) => {
                client.receive(at, local, packet, out)
            }
            NetworkEvent::Packet(Peer::Server(_), _) => {}
            NetworkEvent::Closed(local) => client.closed(at, local, out),
            NetworkEvent::Tick => client.tick(at, out),
        });
    }

    fn server_event(&mut self, id: u32, event: NetworkEvent) {
        let (clocks, mut out) = (self.clocks(), Vec::new());
        let server = &mut self.servers[id as usize];
        match event {
            NetworkEvent::Packet(from, packet) => server.receive(clocks, from, packet, &mut out),
            NetworkEvent::Closed(connection) => server.disconnected(clocks, connection, &mut out),
            NetworkEvent::Tick => {
                if let Some(wake) = server.tick(clocks, &mut out) {
                    assert!(wake > self.now, "a server wants to be called again at once");
                    self.at(wake.since(self.now), Node::Server(id), NetworkEvent::Tick);
                }
            }
        }
        out.into_iter().for_each(|out| self.obey_server(id, out));
    }

    fn obey_server(&mut self, id: u32, out: Out<Packet>) {
        let from = Node::Server(id);
        match out {
            Out::Send(Peer::Server(to), packet) => {
                self.send(from, Node::Server(to), NetworkEvent::Packet(Peer::Server(id), packet));
            }
            Out::Send(Peer::Connection(global), packet) => {
                let Some(c) = self.connections.get(&global) else { return };
                let (to, local) = (Node::Client(c.client), Peer::Connection(c.local));
                self.send(from, to, NetworkEvent::Packet(local, packet));
            }
            Out::Close(global) => self.reset(global),
        }
    }
}
