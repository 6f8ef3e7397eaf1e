//! The wires: connections between clients and servers, and what is sent over them and between
//! servers. Each packet passes the network, which delays or holds it, and keeps its place in order.

use base::Node;
use stores::model::ServerModel;

use super::item::{Connection, Item, Payload};
use super::{PacketOf, Simulation};
use crate::library::SimStore;
use crate::network::Order;

impl<S: SimStore> Simulation<S> {
    pub(super) fn connect(&mut self, seat: usize, local: u64, server: usize) {
        let Some(client) = &mut self.clients[seat] else { return };
        let process = client.process;
        let ends = (Node::Client(seat as u32), Node::Server(server as u32));
        if self.network.troubles.refuses(ends.0, ends.1) {
            let round_trip =
                self.network.delay(ends.0, ends.1) + self.network.delay(ends.1, ends.0);
            self.agenda.push(self.now.get().after(round_trip), Item::Refused { process, local });
            return;
        }
        let wire = Connection {
            process,
            seat: seat as u32,
            server: server as u32,
            local,
            to_server: Order::default(),
            to_client: Order::default(),
            open: true,
        };
        client.wires.push((local, self.connections.insert(wire)));
    }

    pub(super) fn wire(&self, seat: usize, local: u64) -> Option<u64> {
        let wires = &self.clients[seat].as_ref()?.wires;
        wires.iter().find(|(known, _)| *known == local).map(|(_, number)| *number)
    }

    /// Sends an item on its way, or has it wait behind a closed gate. Says which: true, on its way.
    pub(super) fn send_item(&mut self, ends: (Node, Node), item: Item) -> bool {
        if let Some(held) = self.network.closed_gate(ends.0, ends.1) {
            held.push(item);
            return false;
        }
        self.set_off(ends, item)
    }

    /// Sends an item on its way, behind what was sent before it. False when its connection is no more.
    pub(super) fn set_off(&mut self, ends: (Node, Node), item: Item) -> bool {
        let delay = self.network.delay(ends.0, ends.1);
        let order = match item {
            Item::ToServer { connection, .. } => {
                self.connections.get_mut(connection).map(|wire| &mut wire.to_server)
            }
            Item::ToClient { connection, .. } => {
                self.connections.get_mut(connection).map(|wire| &mut wire.to_client)
            }
            Item::Between { from, to, .. } => Some(self.between.entry((from, to)).or_default()),
            _ => None,
        };
        let Some(order) = order else {
            self.freight.discard(item);
            return false;
        };
        let at = order.arrival(self.now.get(), delay);
        self.agenda.push(at, item);
        true
    }

    /// The server's end closes a connection: what is still on its way to it is dropped.
    pub(super) fn close(&mut self, connection: u64) {
        if let Some(wire) = self.connections.get_mut(connection)
            && wire.open
        {
            wire.open = false;
            self.send_to_client(connection, Payload::Closed);
        }
    }

    /// A connection breaks in the middle: both ends are told, and what is on its way is lost, because
    /// whatever arrives over a connection that is no more is dropped.
    pub(super) fn snap(&mut self, connection: u64) {
        let Some(wire) = self.connections.remove(connection) else { return };
        let Connection { process, server, local, .. } = wire;
        self.agenda.push(self.now.get(), Item::Gone { server, connection });
        self.agenda.push(self.now.get(), Item::Broken { process, local });
    }

    /// Whether this is the request or the reply that a fault loses. Its connection is no more then.
    fn is_lost(
        &mut self,
        connection: u64,
        (from, to): (Node, Node),
        payload: &Payload<PacketOf<S>>,
    ) -> bool {
        let is_call = matches!(payload, Payload::Data(packet) if S::Server::is_call(packet));
        let lost = is_call && self.network.troubles.loses(from, to);
        if lost {
            self.snap(connection);
        }
        lost
    }

    pub(super) fn send_to_client(&mut self, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(connection) else { return };
        let (process, (client, server)) = (wire.process, wire.ends());
        let ends = (server, client);
        if self.is_lost(connection, ends, &payload) {
            return;
        }
        let payload = self.freight.load(payload);
        let passed = self.send_item(ends, Item::ToClient { connection, payload });
        if let (true, Payload::Data(_)) = (passed, payload) {
            self.notify_passed(process);
        }
    }

    pub(super) fn send_to_server(&mut self, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(connection) else { return };
        let ends = wire.ends();
        if self.is_lost(connection, ends, &payload) {
            return;
        }
        let payload = self.freight.load(payload);
        self.send_item(ends, Item::ToServer { connection, payload });
    }
}
