//! A network of models in virtual time: the servers and clients of one store, for tests and for
//! comparisons with real servers.
//!
//! Links can be cut, and nodes paused, killed and started again. A client is either the store's
//! client library, or nobody in particular: what is sent with [`ModelNetwork::send`] arrives at
//! once, and so do the replies.

use crate::driver::{Do, Driver, Outbox};
use crate::model::{Clocks, Out, Peer, ServerModel};
use crate::{ClientSettings, Cluster, PacketOf, Store};
use base::{Answer, Data, Mono, Node, Rng, WallTime};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The usual time that a packet takes.
const LATENCY: Duration = Duration::from_micros(200);

/// The connection to each server of whoever sends without a client library.
const DIRECT: u64 = 0;

/// The servers of a cluster and their clients.
pub struct ModelNetwork<S: Store> {
    /// The virtual time.
    pub now: Mono,
    /// The time that a packet takes.
    pub latency: Duration,
    /// True if what meets a cut is lost. Otherwise it is held until the heal.
    pub cuts_lose: bool,
    /// The servers, by number.
    pub servers: Vec<S::Server>,
    /// The servers that run, paused ones among them.
    pub up: Vec<bool>,
    /// The time at which each server is ticked next.
    pub ticks: Vec<Option<Mono>>,
    /// The packets that servers sent in answer to [`ModelNetwork::send`], each with its server.
    pub replies: Vec<(u32, PacketOf<S>)>,
    /// The outcomes of calls, by client and number.
    pub done: BTreeMap<(u32, u64), Answer<S>>,
    /// The signals to clients, in order.
    pub signals: Vec<(Mono, u32, S::Signal)>,
    clients: Vec<ModelledClient<S>>,
    connections: BTreeMap<u64, ModelledConnection>,
    queue: BTreeMap<(Mono, u64), Parcel<S>>,
    /// The number of things that have been queued, opened or sent directly.
    count: u64,
    cut: BTreeSet<(Node, Node)>,
    held: Vec<Parcel<S>>,
    paused: BTreeSet<Node>,
    /// Arrivals at paused nodes.
    waiting: Vec<Parcel<S>>,
    skew: Duration,
    seed: u64,
}

struct ModelledClient<S: Store> {
    driver: S::Driver,
    calls: u64,
    /// The time for which a wake-up is queued.
    wakes: Option<Mono>,
}

struct ModelledConnection {
    client: u32,
    /// The client's own number for it.
    local: u64,
    server: u32,
}

/// Something on its way.
struct Parcel<S: Store> {
    from: Node,
    to: Node,
    content: Content<PacketOf<S>>,
}

enum Content<P> {
    Packet(Peer, P),
    /// The end of a connection, by the receiver's number.
    Closed(u64),
    /// A client's own timer.
    Wake,
}

impl<S: Store> ModelNetwork<S> {
    /// Starts the servers of a cluster. Their wall clocks differ by up to `skew`, as the seed has
    /// it.
    pub fn new(cluster: &Cluster, skew: Duration, seed: u64) -> Self {
        let size = cluster.servers();
        Self {
            now: Mono::ZERO,
            latency: LATENCY,
            cuts_lose: false,
            servers: (0..size).map(|number| S::server(cluster, number)).collect(),
            up: vec![true; size as usize],
            ticks: vec![Some(Mono::ZERO); size as usize],
            replies: Vec::new(),
            done: BTreeMap::new(),
            signals: Vec::new(),
            clients: Vec::new(),
            connections: BTreeMap::new(),
            queue: BTreeMap::new(),
            count: DIRECT,
            cut: BTreeSet::new(),
            held: Vec::new(),
            paused: BTreeSet::new(),
            waiting: Vec::new(),
            skew,
            seed,
        }
    }

    /// Starts a client library, and returns the number of the client.
    pub fn client(&mut self, ttl: Duration) -> u32 {
        let (id, servers) = (self.clients.len() as u32, self.servers.len());
        let rng = Rng::fork(self.seed, u64::from(id));
        let driver = S::driver(ClientSettings { servers, ttl, rng });
        self.clients.push(ModelledClient { driver, calls: 0, wakes: None });
        self.with_client(id, |driver, at, out| driver.start(at, out));
        id
    }

    /// Has a client make a call, and returns the number of the call.
    pub fn submit(&mut self, client: u32, request: S::Request) -> u64 {
        let calls = &mut self.clients[client as usize].calls;
        *calls += 1;
        let number = *calls;
        self.with_client(client, |driver, at, out| driver.call(at, number, 0, request, out));
        number
    }

    /// Has a client make a call, and waits for its outcome.
    pub fn call(&mut self, client: u32, request: S::Request) -> Answer<S> {
        let key = (client, self.submit(client, request));
        self.run_until(Duration::from_secs(60), |it| it.done.contains_key(&key));
        self.done.remove(&key).expect("there is an outcome within a minute")
    }

    /// Does something with a client library, and carries out what it asks for.
    pub fn with_client(
        &mut self,
        id: u32,
        act: impl FnOnce(&mut S::Driver, Mono, &mut Outbox<S::Driver>),
    ) {
        let (client, mut out) = (&mut self.clients[id as usize], Outbox::default());
        act(&mut client.driver, self.now, &mut out);
        let wakes = client.driver.deadline();
        if let Some(at) = wakes.filter(|_| client.wakes != wakes) {
            client.wakes = wakes;
            let node = Node::Client(id);
            self.queue(at, Parcel { from: node, to: node, content: Content::Wake });
        }
        self.done.extend(out.answers.into_iter().map(|(call, answer)| ((id, call), answer)));
        self.signals.extend(out.signals.into_iter().map(|signal| (self.now, id, signal)));
        out.todo.into_iter().for_each(|action| self.act_for_client(id, action));
    }

    /// The server that a client is connected to.
    pub fn server_of(&self, client: u32) -> Option<u32> {
        self.connections.values().filter(|c| c.client == client).map(|c| c.server).next_back()
    }

    /// Sends a packet to a server without a client library, and returns the number that it was
    /// given.
    pub fn send(&mut self, server: u32, packet: impl FnOnce(u64) -> PacketOf<S>) -> u64 {
        self.count += 1;
        let (number, from) = (self.count, Peer::Connection(DIRECT));
        self.at_server(server, |it, at, out| it.receive(at, from, packet(number), out));
        number
    }

    /// Lets time pass.
    pub fn run(&mut self, duration: Duration) {
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

    /// Cuts the link from one node to another, and not back.
    pub fn cut_one_way(&mut self, from: Node, to: Node) {
        self.cut.insert((from, to));
    }

    /// Cuts the link between two nodes both ways.
    pub fn cut(&mut self, a: Node, b: Node) {
        self.cut.extend([(a, b), (b, a)]);
    }

    /// Cuts a server off from all others.
    pub fn isolate(&mut self, server: u32) {
        let others = (0..self.servers.len() as u32).filter(|other| *other != server);
        others.for_each(|other| self.cut(Node::Server(server), Node::Server(other)));
    }

    /// Lets new packets pass all links. What they hold stays until the heal.
    pub fn reopen(&mut self) {
        self.cut.clear();
    }

    /// Heals all links, and delivers what they hold.
    pub fn heal(&mut self) {
        self.reopen();
        std::mem::take(&mut self.held).into_iter().for_each(|parcel| self.post(parcel));
    }

    /// Stops a node. What comes for it waits.
    pub fn pause(&mut self, node: Node) {
        self.paused.insert(node);
    }

    /// Lets a paused node go on.
    pub fn resume(&mut self, node: Node) {
        self.paused.remove(&node);
        for parcel in std::mem::take(&mut self.waiting) {
            self.queue(self.now, parcel);
        }
    }

    /// Kills a server's process: its connections are closed.
    pub fn crash(&mut self, server: u32) {
        self.at_server(server, |it, _, out| it.hang_up(out));
        self.up[server as usize] = false;
        self.queue.retain(|_, parcel| parcel.to != Node::Server(server));
        self.reset(|connection| connection.server == server);
    }

    /// Kills a server's machine: nobody hears of it, and nothing arrives that is on its way.
    pub fn kill(&mut self, server: u32) {
        self.up[server as usize] = false;
        let node = Node::Server(server);
        self.queue.retain(|_, parcel| parcel.to != node && parcel.from != node);
    }

    /// Starts a killed server again.
    pub fn start(&mut self, server: u32, data: Data) {
        let clocks = self.clocks(server);
        self.servers[server as usize].restart(clocks, data);
        self.up[server as usize] = true;
        self.ticks[server as usize] = Some(self.now);
    }

    /// Closes a client's connections.
    pub fn disconnect(&mut self, client: u32) {
        self.reset(|connection| connection.client == client);
    }

    /// Returns true if a server runs and is not paused.
    pub fn is_running(&self, server: u32) -> bool {
        self.up[server as usize] && !self.paused.contains(&Node::Server(server))
    }

    /// Returns true if a server runs, is not paused, and is not cut off from all others.
    pub fn is_reachable(&self, server: u32) -> bool {
        let mut others = (0..self.servers.len() as u32).filter(|other| *other != server);
        let is_cut = |other| self.cut.contains(&(Node::Server(server), Node::Server(other)));
        self.is_running(server) && others.any(|other| !is_cut(other))
    }

    /// Ticks a server now.
    pub fn tick(&mut self, server: u32) {
        let mut next = None;
        self.at_server(server, |it, at, out| next = it.tick(at, out));
        self.ticks[server as usize] = next;
    }

    fn clocks(&self, server: u32) -> Clocks {
        let skew = Rng::fork(self.seed, server.into()).below(self.skew.as_nanos() as u64 + 1);
        let since = self.now.since(Mono::ZERO) + Duration::from_nanos(skew);
        Clocks { wall: WallTime::ZERO + Duration::from_secs(1_000_000) + since, mono: self.now }
    }

    /// Does what comes next, unless it comes later than this.
    fn step(&mut self, end: Mono) -> bool {
        let arrival = self.queue.first_key_value().map(|((at, _), _)| *at);
        let tick = self.next_tick();
        match (arrival, tick) {
            (Some(at), _) if at <= end && tick.is_none_or(|(due, _)| at <= due) => {
                self.now = self.now.max(at);
                let (_, parcel) = self.queue.pop_first().expect("it was there just now");
                self.arrive(parcel);
            }
            (_, Some((due, server))) if due <= end => {
                self.now = self.now.max(due);
                self.tick(server);
            }
            _ => return false,
        }
        true
    }

    fn next_tick(&self) -> Option<(Mono, u32)> {
        let running = (0..self.servers.len() as u32).filter(|server| self.is_running(*server));
        let due = |server: u32| {
            let (asked, own) = (self.ticks[server as usize], self.servers[server as usize].due());
            asked.into_iter().chain(own).min().map(|due| (due, server))
        };
        running.filter_map(due).min()
    }

    fn queue(&mut self, at: Mono, parcel: Parcel<S>) {
        self.count += 1;
        self.queue.insert((at, self.count), parcel);
    }

    fn post(&mut self, parcel: Parcel<S>) {
        match self.cut.contains(&(parcel.from, parcel.to)) {
            true if self.cuts_lose => {}
            true => self.held.push(parcel),
            false => self.queue(self.now + self.latency, parcel),
        }
    }

    fn arrive(&mut self, parcel: Parcel<S>) {
        match parcel.to {
            to if self.paused.contains(&to) => self.waiting.push(parcel),
            Node::Server(id) if self.up[id as usize] => self.arrive_at_server(id, parcel.content),
            Node::Client(id) => self.arrive_at_client(id, parcel.content),
            Node::Server(_) | Node::Vault => {}
        }
    }

    fn arrive_at_server(&mut self, id: u32, content: Content<PacketOf<S>>) {
        self.at_server(id, |server, at, out| match content {
            Content::Packet(from, packet) => server.receive(at, from, packet, out),
            Content::Closed(connection) => server.disconnected(at, connection, out),
            Content::Wake => {}
        });
    }

    fn arrive_at_client(&mut self, id: u32, content: Content<PacketOf<S>>) {
        if matches!(content, Content::Wake) {
            self.clients[id as usize].wakes = None;
        }
        self.with_client(id, |driver, at, out| match content {
            Content::Packet(Peer::Connection(local), packet) => {
                driver.receive(at, local, packet, out);
            }
            Content::Packet(Peer::Server(_), _) => {}
            Content::Closed(local) => driver.closed(at, local, out),
            Content::Wake => driver.tick(at, out),
        });
    }

    /// Does something with a server, and carries out what it asks for.
    fn at_server(
        &mut self,
        id: u32,
        act: impl FnOnce(&mut S::Server, Clocks, &mut Vec<Out<PacketOf<S>>>),
    ) {
        let (clocks, mut out) = (self.clocks(id), Vec::new());
        act(&mut self.servers[id as usize], clocks, &mut out);
        for action in out {
            self.act_for_server(id, action);
        }
    }

    fn act_for_server(&mut self, id: u32, action: Out<PacketOf<S>>) {
        let from = Node::Server(id);
        match action {
            Out::Send(Peer::Connection(DIRECT), packet) => self.replies.push((id, packet)),
            Out::Send(Peer::Connection(number), packet) => {
                let Some(connection) = self.connections.get(&number) else { return };
                let to = Node::Client(connection.client);
                let content = Content::Packet(Peer::Connection(connection.local), packet);
                self.post(Parcel { from, to, content });
            }
            Out::Send(Peer::Server(to), packet) => {
                let content = Content::Packet(Peer::Server(id), packet);
                self.post(Parcel { from, to: Node::Server(to), content });
            }
            Out::Close(number) => self.close(number),
        }
    }

    fn act_for_client(&mut self, id: u32, action: Do<PacketOf<S>>) {
        match action {
            Do::Open { connection: local, server } => {
                self.count += 1;
                let (number, server) = (self.count, server as u32);
                let connection = ModelledConnection { client: id, local, server };
                self.connections.insert(number, connection);
                if !self.up[server as usize] {
                    self.close(number);
                }
            }
            Do::Close { connection } => {
                if let Some((number, server)) = self.connection(id, connection) {
                    self.connections.remove(&number);
                    self.post_to_server(id, server, Content::Closed(number));
                }
            }
            Do::Send { connection, packet } => {
                if let Some((number, server)) = self.connection(id, connection) {
                    let content = Content::Packet(Peer::Connection(number), packet);
                    self.post_to_server(id, server, content);
                }
            }
        }
    }

    fn post_to_server(&mut self, client: u32, server: u32, content: Content<PacketOf<S>>) {
        self.post(Parcel { from: Node::Client(client), to: Node::Server(server), content });
    }

    /// The number and the server of a client's connection.
    fn connection(&self, client: u32, local: u64) -> Option<(u64, u32)> {
        let found = self.connections.iter().find(|(_, c)| (c.client, c.local) == (client, local));
        found.map(|(number, connection)| (*number, connection.server))
    }

    /// Closes a connection from the server's side.
    fn close(&mut self, number: u64) {
        if let Some(connection) = self.connections.remove(&number) {
            let (from, to) = (Node::Server(connection.server), Node::Client(connection.client));
            self.post(Parcel { from, to, content: Content::Closed(connection.local) });
        }
    }

    fn reset(&mut self, chosen: impl Fn(&ModelledConnection) -> bool) {
        let chosen = self.connections.iter().filter(|(_, connection)| chosen(connection));
        let chosen: Vec<u64> = chosen.map(|(number, _)| *number).collect();
        chosen.into_iter().for_each(|number| self.close(number));
    }
}
