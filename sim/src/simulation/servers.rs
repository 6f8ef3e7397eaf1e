//! Events at a server: a packet or a tick comes, its model answers, its wishes are carried out.

use base::{Mono, Node};
use stores::model::{Out, Peer, ServerModel};

use super::Simulation;
use super::item::{InFlightPlace, Item, Payload};
use stores::Store;

impl<S: Store> Simulation<S> {
    pub(super) fn at_server(&mut self, number: u32, item: Item) {
        let node = &mut self.servers[number as usize];
        if let Item::ServerTick { .. } = item {
            node.tick = None;
        }
        if node.gone {
            return self.unheard(number, item);
        }
        if let Some(paused) = &mut node.paused {
            paused.waiting.push(item);
            return;
        }
        match item {
            Item::ServerTick { .. } if node.up => self.tick_server(number),
            Item::ToServer { connection, payload } => match self.connections.get(connection) {
                Some(wire) if wire.is_open() && node.up => {
                    self.packet_at_server(number, connection, payload);
                }
                _ => {
                    self.in_flight.discard(item);
                    // The client of one that is closed already is not notified again.
                    self.close(connection);
                }
            },
            Item::Gone { connection, .. } => {
                let known = node.forget(connection);
                if known && node.up {
                    let clocks = node.clocks(self.now.get());
                    node.model.disconnected(clocks, connection, &mut self.outs);
                    self.carry_out(number, None);
                }
            }
            Item::Between { from, packet, .. } if node.up => {
                let packet = self.in_flight.packets.take(packet);
                let clocks = node.clocks(self.now.get());
                node.model.receive(clocks, Peer::Server(from), packet, &mut self.outs);
                self.carry_out(number, None);
            }
            _ => self.in_flight.discard(item),
        }
    }

    fn packet_at_server(&mut self, number: u32, connection: u64, payload: Payload<InFlightPlace>) {
        let node = &mut self.servers[number as usize];
        let clocks = node.clocks(self.now.get());
        match payload {
            Payload::Data(packet) => {
                node.know(connection);
                let packet = self.in_flight.packets.take(packet);
                let outs = &mut self.outs;
                node.model.receive(clocks, Peer::Connection(connection), packet, outs);
                self.carry_out(number, Some(connection));
            }
            Payload::Closed => {
                node.forget(connection);
                node.model.disconnected(clocks, connection, &mut self.outs);
                self.connections.remove(connection);
                self.carry_out(number, None);
            }
        }
    }

    /// Enters what a server has just done, carries out what it wants, and ticks it sooner if it
    /// wants that.
    fn carry_out(&mut self, number: u32, connection: Option<u64>) {
        self.keep_books(number, connection);
        self.server_wants(number);
        let node = &self.servers[number as usize];
        if let Some(due) = node.model.due()
            && node.tick.as_ref().is_none_or(|(tick, _)| due < *tick)
        {
            self.plan_server_tick(number, due);
        }
    }

    pub(super) fn tick_server(&mut self, number: u32) {
        let node = &mut self.servers[number as usize];
        let clocks = node.clocks(self.now.get());
        if let Some(next) = node.model.tick(clocks, &mut self.outs) {
            self.plan_server_tick(number, next);
        }
        self.keep_books(number, None);
        self.server_wants(number);
    }

    /// Enters what a server has just done to its store into the ledger.
    pub(super) fn keep_books(&mut self, number: u32, connection: Option<u64>) {
        let model = &mut self.servers[number as usize].model;
        model.take_journal(&mut self.noted);
        let now = self.now.get();
        if !self.noted.is_empty() {
            let wire = connection.and_then(|connection| self.connections.get(connection));
            self.ledger.enter(now, number, wire.map(|wire| wire.process), &mut self.noted);
        }
        if let Some(standing) = model.restated() {
            self.ledger.restate(now, standing);
        }
        if let Some(primary) = model.take_appointed() {
            self.go_over_to(primary);
        }
    }

    /// Enters into the ledger what the store loses because it goes on with another server's data.
    fn go_over_to(&mut self, primary: u32) {
        let Some(before) = self.ledger.before(primary) else { return };
        let model = |server: u32| &self.servers[server as usize].model;
        model(primary).succeeds(model(before), &mut self.noted);
        self.ledger.go_over_to(self.now.get(), primary, &mut self.noted);
    }

    /// Puts a server's next tick into the event queue, in place of the one that stands there.
    pub(super) fn plan_server_tick(&mut self, number: u32, next: Mono) {
        self.cancel_server_tick(number);
        let node = &mut self.servers[number as usize];
        let due = node.clock.due(next, self.now.get());
        node.tick = Some((next, self.queue.push(due, Item::ServerTick { server: number })));
    }

    pub(super) fn cancel_server_tick(&mut self, number: u32) {
        if let Some((_, ticket)) = self.servers[number as usize].tick.take() {
            self.queue.cancel(ticket);
        }
    }

    /// Carries out what a server's model wants.
    pub(super) fn server_wants(&mut self, number: u32) {
        // The first one last; most of the time there is one.
        self.outs.reverse();
        while let Some(out) = self.outs.pop() {
            match out {
                Out::Send(Peer::Connection(connection), packet) => {
                    self.send_to_client(connection, Payload::Data(packet));
                }
                Out::Send(Peer::Server(to), packet) => {
                    let packet = self.in_flight.packets.put(packet);
                    let item = Item::Between { from: number, to, packet };
                    self.send_item((Node::Server(number), Node::Server(to)), item);
                }
                Out::Close(connection) => {
                    self.servers[number as usize].forget(connection);
                    self.close(connection);
                }
            }
        }
    }
}
