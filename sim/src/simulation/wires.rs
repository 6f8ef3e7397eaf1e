//! The wires: connections between clients and servers, and what is sent over them and between
//! servers. Each packet passes the network, which delays or holds it, and keeps its place in order.
//!
//! A handshake takes no time where both ways are open. Where one is cut, or the server's machine is
//! gone, it waits, and with it all that its client wants to send: the client's machine asks again
//! once that is over, and a client that has hung up by then has sent nothing. The machine of a
//! server that is down refuses.

use base::{Mono, Node};
use stores::model::ServerModel;

use super::item::{Connection, ConnectionState, Item, Payload};
use super::{PacketOf, Simulation};
use crate::network::PacketOrder;
use stores::Store;

impl<S: Store> Simulation<S> {
    pub(super) fn connect(&mut self, client_number: usize, local: u64, server: usize) {
        let Some(client) = &mut self.clients[client_number] else { return };
        let wire = Connection {
            process: client.process,
            client: client_number as u32,
            server: server as u32,
            local,
            to_server: PacketOrder::default(),
            to_client: PacketOrder::default(),
            line: ConnectionState::Opening(Vec::new()),
        };
        let connection = self.connections.insert(wire);
        client.wires.push((local, connection));
        self.shake_hands(connection);
        let waits = self.connections.get(connection).is_some_and(|wire| !wire.is_open());
        if let (true, Some(client)) = (waits, &mut self.clients[client_number]) {
            client.library.waits(local);
        }
    }

    /// Opens a connection that its client has asked for, or has it refused, if its server's machine
    /// can be reached and can answer.
    fn shake_hands(&mut self, connection: u64) {
        let Some(wire) = self.connections.get_mut(connection) else { return };
        let (client, server) = wire.ends();
        let node = &self.servers[wire.server as usize];
        if node.gone || self.network.gates.stop(client, server) {
            return;
        }
        if self.network.link_faults.refuses(client, server) || !node.up {
            return self.refuse(connection);
        }
        if let ConnectionState::Opening(waiting) =
            std::mem::replace(&mut wire.line, ConnectionState::Open)
        {
            for packet in waiting {
                let packet = self.in_flight.packets.take(packet);
                self.send_to_server(connection, Payload::Data(packet));
            }
        }
    }

    /// A client's machine asks again for a connection.
    pub(super) fn connect_again(&mut self, client_number: usize, local: u64) {
        let Some(connection) = self.wire(client_number, local) else { return };
        let opening = |wire: &&Connection| matches!(wire.line, ConnectionState::Opening(_));
        if self.connections.get(connection).filter(opening).is_none() {
            return;
        }
        self.shake_hands(connection);
        let open = self.connections.get(connection).is_some_and(Connection::is_open);
        if let (true, Some(client)) = (open, &mut self.clients[client_number]) {
            client.library.opened(local);
        }
    }

    /// Has the machines of clients ask again for all connections that can be had by now.
    pub(super) fn ask_again(&mut self) {
        let waiting = |wire: &Connection| {
            let (client, server) = wire.ends();
            let gone = self.servers[wire.server as usize].gone;
            matches!(wire.line, ConnectionState::Opening(_))
                && !gone
                && !self.network.gates.is_cut(client, server)
        };
        let waiting: Vec<_> = self.connections.iter().filter(|(_, wire)| waiting(wire)).collect();
        let again: Vec<_> = waiting.iter().map(|(_, w)| (w.ends(), w.process, w.local)).collect();
        for (ends, process, local) in again {
            let at = self.round_trip(ends);
            self.queue.push(at, Item::Connect { process, local });
        }
    }

    /// Returns the time at which a packet that leaves now has been answered.
    fn round_trip(&mut self, (client, server): (Node, Node)) -> Mono {
        let now = self.now.get();
        let there = self.network.delay(client, server, now);
        now.after(there.saturating_add(self.network.delay(server, client, now)))
    }

    /// A connection is refused: nothing that was to go over it has left.
    pub(super) fn refuse(&mut self, connection: u64) {
        let Some(wire) = self.drop_unsent(connection) else { return };
        let at = self.round_trip(wire.ends());
        self.queue.push(at, Item::Refused { process: wire.process, local: wire.local });
    }

    /// A connection will never be made: what was to go over it is gone with it.
    fn drop_unsent(&mut self, connection: u64) -> Option<Connection> {
        let mut wire = self.connections.remove(connection)?;
        if let Some(client) = &mut self.clients[wire.client as usize]
            && client.process == wire.process
        {
            client.hang_up(wire.local);
        }
        if let ConnectionState::Opening(waiting) = &mut wire.line {
            waiting.drain(..).for_each(|packet| drop(self.in_flight.packets.take(packet)));
        }
        Some(wire)
    }

    pub(super) fn wire(&self, client_number: usize, local: u64) -> Option<u64> {
        let wires = &self.clients[client_number].as_ref()?.wires;
        wires.iter().find(|(known, _)| *known == local).map(|(_, number)| *number)
    }

    /// Sends an item on its way, or has it wait behind a closed gate. Says which: true, on its way.
    pub(super) fn send_item(&mut self, ends: (Node, Node), item: Item) -> bool {
        if let Some(held) = self.network.gates.closed(ends.0, ends.1, self.now.get()) {
            held.push(item);
            return false;
        }
        self.set_off(ends, item)
    }

    /// Sends an item on its way, behind what was sent before it. False when its connection is no
    /// more.
    pub(super) fn set_off(&mut self, ends: (Node, Node), item: Item) -> bool {
        let now = self.now.get();
        let delay = self.network.delay(ends.0, ends.1, now);
        let Some(order) = self.order_of(&item) else {
            self.in_flight.discard(item);
            return false;
        };
        let at = order.arrival(now, delay);
        self.queue.push(at, item);
        true
    }

    /// The order that packets keep on the way of this one.
    pub(super) fn order_of(&mut self, item: &Item) -> Option<&mut PacketOrder> {
        match *item {
            Item::ToServer { connection, .. } => {
                self.connections.get_mut(connection).map(|wire| &mut wire.to_server)
            }
            Item::ToClient { connection, .. } => {
                self.connections.get_mut(connection).map(|wire| &mut wire.to_client)
            }
            Item::Between { from, to, .. } => Some(self.between.entry((from, to)).or_default()),
            _ => None,
        }
    }

    /// The server's end closes a connection: what is still on its way to it is dropped.
    pub(super) fn close(&mut self, connection: u64) {
        if let Some(wire) = self.connections.get_mut(connection)
            && matches!(wire.line, ConnectionState::Open | ConnectionState::Forgotten)
        {
            wire.line = ConnectionState::Closed;
            self.send_to_client(connection, Payload::Closed);
        }
    }

    /// A connection breaks in the middle: both ends are notified, and what is on its way is
    /// lost, because whatever arrives over a connection that is no more is dropped.
    pub(super) fn snap(&mut self, connection: u64) {
        let Some(wire) = self.connections.remove(connection) else { return };
        let Connection { process, server, local, .. } = wire;
        self.queue.push(self.now.get(), Item::Gone { server, connection });
        self.queue.push(self.now.get(), Item::Broken { process, local });
    }

    /// Returns true if this is the request or the reply that a fault loses. Its connection is then
    /// gone.
    fn is_lost(
        &mut self,
        connection: u64,
        (from, to): (Node, Node),
        payload: &Payload<PacketOf<S>>,
    ) -> bool {
        let is_call = matches!(payload, Payload::Data(packet) if S::Server::is_call(packet));
        let lost = is_call && self.network.link_faults.loses(from, to);
        if lost {
            self.snap(connection);
        }
        lost
    }

    pub(super) fn send_to_client(&mut self, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(connection) else { return };
        let (process, server, (client, from)) = (wire.process, wire.server, wire.ends());
        let ends = (from, client);
        if self.is_lost(connection, ends, &payload) {
            return;
        }
        let payload = self.in_flight.load(payload);
        let passed = self.send_item(ends, Item::ToClient { connection, payload });
        if let (true, Payload::Data(_)) = (passed, payload) {
            self.notify_passed(process, server);
        }
    }

    pub(super) fn send_to_server(&mut self, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get_mut(connection) else { return };
        let ends = wire.ends();
        if let ConnectionState::Opening(waiting) = &mut wire.line {
            match payload {
                Payload::Data(packet) => waiting.push(self.in_flight.packets.put(packet)),
                Payload::Closed => drop(self.drop_unsent(connection)),
            }
            return;
        }
        if self.is_lost(connection, ends, &payload) {
            return;
        }
        let payload = self.in_flight.load(payload);
        self.send_item(ends, Item::ToServer { connection, payload });
    }
}
