//! Injects faults into the world and undoes them.

use base::{Action, Clock, ClockChange, Data, Effect, Fault, FaultId, LinkFault, Node};
use stores::model::ServerModel;

use super::Simulation;
use super::item::{Connection, ConnectionState, Item, Payload};
use crate::network::PacketOrder;
use crate::pause::Paused;
use stores::Store;

impl<S: Store> Simulation<S> {
    /// Puts a fault in force.
    pub(super) fn begin(&mut self, id: FaultId, fault: &Fault) {
        // Nothing is done to the vault itself.
        let node = fault.node().unwrap_or(Node::Vault);
        match fault.action() {
            Action::Pause => self.pause(node),
            Action::Kill | Action::Crash(_) => self.crash(node),
            Action::Vanish => self.vanish(node),
            Action::Evict => self.fill_memory(id, node),
            Action::Clock(change) => self.change_clock(node, change),
            Action::Cut(_) => self.network.gates.cut(fault),
            Action::Link(link_fault) => self.link_fault(id, fault.links(), link_fault),
        }
    }

    /// Undoes a fault, and returns what it did.
    pub(super) fn undo(&mut self, id: FaultId, fault: &Fault) -> Effect {
        let (action, node) = (fault.action(), fault.node().unwrap_or(Node::Vault));
        let done = match action {
            Action::Pause => return self.resume(node),
            Action::Kill => 1,
            Action::Crash(data) => self.restart(node, data),
            Action::Vanish => self.restart(node, Data::Kept),
            Action::Evict => self.take_out_junk(id, node),
            Action::Clock(change) => self.undo_clock(node, change),
            Action::Cut(_) => self.uncut(fault),
            Action::Link(link_fault) => self.end_link_fault(id, fault.links(), link_fault),
        };
        Effect::of(action, done)
    }

    fn pause(&mut self, node: Node) {
        let paused = Paused::new(self.now.get());
        match node {
            Node::Client(client_number) => {
                if let Some(client) = &mut self.clients[client_number as usize] {
                    client.paused.get_or_insert(paused);
                }
            }
            Node::Server(n) => {
                self.servers[n as usize].paused.get_or_insert(paused);
            }
            Node::Vault => {}
        }
    }

    /// Lets a paused node go on; what waited for it happens now, in order, but for a client's
    /// timers: they go off before it reads what has arrived. (A process that is continued looks at
    /// its clock in the very call that tells it what can be read, and its task is the first to run,
    /// so that a call whose time-out and whose reply both came during the pause has timed out: it
    /// did in 40 of 40 with `redis`, in 20 of 20 with `zookeeper-client`.) What the libraries
    /// themselves wait for stays where it is in the order: `zookeeper-client`, whose connection has
    /// fallen silent while a packet came, may find out the one or the other first, and does in
    /// life.
    fn resume(&mut self, node: Node) -> Effect {
        let paused = match node {
            Node::Client(client_number) => {
                self.clients[client_number as usize].as_mut().and_then(|c| c.paused.take())
            }
            Node::Server(n) => self.servers[n as usize].paused.take(),
            Node::Vault => None,
        };
        let Some(paused) = paused else {
            return Effect::new("the node was gone before the pause ended", 0);
        };
        let effect = paused.effect(self.now.get());
        let is_timer = |item: &Item| matches!(item, Item::Timer { .. });
        let (timers, others): (Vec<_>, Vec<_>) = paused.waiting.into_iter().partition(is_timer);
        for item in timers.into_iter().chain(others) {
            self.queue.push(self.now.get(), item);
        }
        effect
    }

    pub(super) fn crash(&mut self, node: Node) {
        match node {
            Node::Client(client_number) => {
                if let Some(client) = self.clients[client_number as usize].take() {
                    self.forget(client.paused);
                    self.hang_up(client.process);
                }
            }
            Node::Server(n) => {
                let server = &mut self.servers[n as usize];
                if server.up {
                    server.model.hang_up(&mut self.outs);
                }
                self.stop_server(n);
                self.server_wants(n);
                self.connections_of(n).into_iter().for_each(|connection| self.close(connection));
            }
            Node::Vault => {}
        }
    }

    /// A server's machine is gone with it: nobody hears a word, and nothing that is sent to it is
    /// answered.
    fn vanish(&mut self, node: Node) {
        let Node::Server(server) = node else { return };
        self.stop_server(server);
        self.servers[server as usize].gone = true;
        for connection in self.connections_of(server) {
            if let Some(wire) = self.connections.get_mut(connection).filter(|w| w.is_open()) {
                wire.line = ConnectionState::Forgotten;
            }
        }
        // What it had sent and nobody has got is not sent again.
        for item in self.network.gates.take(|(from, _)| from == Node::Server(server)) {
            self.in_flight.discard(item);
        }
    }

    /// Fills a server's memory at once: a real one takes some milliseconds. One that does not run,
    /// or whose memory is full of junk already, is not filled.
    fn fill_memory(&mut self, id: FaultId, node: Node) {
        let Node::Server(number) = node else { return };
        let server = &mut self.servers[number as usize];
        if server.up && server.paused.is_none() && server.filled.is_none() {
            server.filled = Some((id, server.model.fill_memory()));
            self.keep_books(number, None);
        }
    }

    /// Takes the junk out of a server's memory that a fault has put there; says how many things
    /// were evicted for it.
    fn take_out_junk(&mut self, id: FaultId, node: Node) -> u64 {
        let Node::Server(number) = node else { return 0 };
        let server = &mut self.servers[number as usize];
        let Some((_, evicted)) = server.filled.take_if(|(by, _)| *by == id) else { return 0 };
        server.model.take_out_junk();
        evicted
    }

    fn stop_server(&mut self, server: u32) {
        let paused = self.servers[server as usize].stop();
        self.forget(paused);
        self.cancel_server_tick(server);
    }

    /// Keeps or drops an item that comes to a server whose machine is gone. Between servers,
    /// nothing of a connection that no longer exists reaches its successor.
    pub(super) fn unheard(&mut self, server: u32, item: Item) {
        match item {
            Item::ToServer { .. } => self.servers[server as usize].unheard.push(item),
            item => self.in_flight.discard(item),
        }
    }

    fn connections_of(&self, server: u32) -> Vec<u64> {
        let all = self.connections.iter();
        all.filter(|(_, wire)| wire.server == server).map(|(number, _)| number).collect()
    }

    /// Discards everything that waits for a node that is gone.
    fn forget(&mut self, paused: Option<Paused>) {
        let waiting = paused.map_or(Vec::new(), |paused| paused.waiting);
        waiting.into_iter().for_each(|item| self.in_flight.discard(item));
    }

    /// A client is gone: its machine closes its connections.
    pub(super) fn hang_up(&mut self, process: u32) {
        let mine = |wire: &Connection| wire.process == process;
        let connections: Vec<u64> =
            self.connections.iter().filter(|(_, wire)| mine(wire)).map(|(n, _)| n).collect();
        for connection in connections {
            self.send_to_server(connection, Payload::Closed);
        }
    }

    /// Starts a server again; says that it was gone.
    fn restart(&mut self, node: Node, data: Data) -> u64 {
        let Node::Server(number) = node else { return 1 };
        let now = self.now.get();
        let server = &mut self.servers[number as usize];
        server.up = true;
        server.gone = false;
        let unheard = std::mem::take(&mut server.unheard);
        let clocks = server.clocks(now);
        server.model.restart(clocks, data);
        // Its first tick enters into the ledger what it has lost.
        self.tick_server(number);
        for item in unheard {
            let Item::ToServer { connection, .. } = item else { continue };
            match self.connections.get(connection).map(Connection::ends) {
                Some(ends) => drop(self.set_off(ends, item)),
                None => self.in_flight.discard(item),
            }
        }
        self.ask_again();
        1
    }

    fn link_fault(&mut self, id: FaultId, links: &[(Node, Node)], link_fault: LinkFault) {
        let done = match link_fault {
            LinkFault::Reset => self.reset(links),
            _ => 0,
        };
        self.network.link_faults.begin(id, links, link_fault, done);
    }

    /// Ends a fault of links; says how much it did.
    fn end_link_fault(&mut self, id: FaultId, links: &[(Node, Node)], ended: LinkFault) -> u64 {
        let done = self.network.link_faults.end(id);
        if let LinkFault::Throttle(_) = ended {
            self.flush(links);
        }
        done
    }

    /// Has packets on their way over these links set off anew, in their order: the limit has ended
    /// for which they waited.
    fn flush(&mut self, links: &[(Node, Node)]) {
        let connections = &self.connections;
        let ends = |item: &Item| match *item {
            Item::ToServer { connection, .. } => connections.get(connection).map(Connection::ends),
            Item::ToClient { connection, .. } => {
                connections.get(connection).map(|wire| (wire.ends().1, wire.ends().0))
            }
            Item::Between { from, to, .. } => Some((Node::Server(from), Node::Server(to))),
            _ => None,
        };
        let is_over = |&(a, b): &(Node, Node)| links.contains(&(a, b)) || links.contains(&(b, a));
        let waiting = self.queue.extract(|item| ends(item).as_ref().is_some_and(is_over));
        let waiting: Vec<_> =
            waiting.into_iter().filter_map(|item| Some((ends(&item)?, item))).collect();
        for (_, item) in &waiting {
            if let Some(order) = self.order_of(item) {
                *order = PacketOrder::default();
            }
        }
        for (ends, item) in waiting {
            self.set_off(ends, item);
        }
    }

    /// Breaks the connections over these links; says how many there were.
    fn reset(&mut self, links: &[(Node, Node)]) -> u64 {
        let hit = |wire: &Connection| {
            let ends = wire.ends();
            let over = matches!(wire.line, ConnectionState::Closed);
            !over && (links.contains(&ends) || links.contains(&(ends.1, ends.0)))
        };
        let connections: Vec<(u64, bool)> = self
            .connections
            .iter()
            .filter(|(_, wire)| hit(wire))
            .map(|(n, wire)| (n, matches!(wire.line, ConnectionState::Opening(_))))
            .collect();
        for (connection, opening) in &connections {
            match opening {
                true => self.refuse(*connection),
                false => self.snap(*connection),
            }
        }
        connections.len() as u64
    }

    fn change_clock(&mut self, node: Node, change: ClockChange) {
        let now = self.now.get();
        self.with_clock(node, |clock| clock.change(change, now));
    }

    /// Sets a clock right; says by how many microseconds it was off.
    fn undo_clock(&mut self, node: Node, change: ClockChange) -> u64 {
        let now = self.now.get();
        let off = self.with_clock(node, |clock| clock.undo(change, now)).unwrap_or_default();
        off.as_micros() as u64
    }

    /// Does something to a node's clocks, and has its timers go by them from now on.
    fn with_clock<T>(&mut self, node: Node, act: impl FnOnce(&mut Clock) -> T) -> Option<T> {
        match node {
            Node::Client(client_number) => {
                let mut clock = self.clocks[client_number as usize].get();
                let done = act(&mut clock);
                self.clocks[client_number as usize].set(clock);
                self.plan_anew(client_number);
                Some(done)
            }
            Node::Server(number) => {
                let server = &mut self.servers[number as usize];
                let done = act(&mut server.clock);
                if let Some((next, _)) = server.tick {
                    self.plan_server_tick(number, next);
                }
                Some(done)
            }
            Node::Vault => None,
        }
    }

    /// Delivers what was held over cut links; says how much it was.
    fn uncut(&mut self, fault: &Fault) -> u64 {
        let held = self.network.gates.held(fault);
        for (ends, item) in self.network.gates.heal(fault) {
            let reply = match item {
                Item::ToClient { connection, .. } => {
                    self.connections.get(connection).map(|wire| (wire.process, wire.server))
                }
                _ => None,
            };
            self.set_off(ends, item);
            if let Some((process, server)) = reply {
                self.notify_passed(process, server);
            }
        }
        self.ask_again();
        held
    }
}
