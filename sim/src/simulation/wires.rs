//! The wires: connections between clients and servers, and what is sent over them and between
//! servers. Each packet passes the network, which delays or holds it, and keeps its place in order.

use base::{Node, Notice};
use std::time::Duration;

use super::item::{Connection, Item, Payload};
use super::{PacketOf, Simulation};
use crate::library::SimStore;
use crate::network::Order;

impl<S: SimStore> Simulation<S> {
    pub(super) fn connect(&mut self, process: u32, local: u64, server: usize) {
        let wire = Connection {
            process,
            server: server as u32,
            local,
            to_server: Order::default(),
            to_client: Order::default(),
            open: true,
        };
        let number = self.connections.insert(wire);
        if let Some(client) = self.client(process) {
            client.wires.push((local, number));
        }
    }

    pub(super) fn wire(&mut self, process: u32, local: u64) -> Option<u64> {
        let wires = &self.client(process)?.wires;
        wires.iter().find(|(known, _)| *known == local).map(|(_, number)| *number)
    }

    pub(super) fn schedule_between(
        &mut self,
        from: u32,
        to: u32,
        delay: Duration,
        item: Item<PacketOf<S>>,
    ) {
        let order = self.between.entry((from, to)).or_default();
        let at = order.arrival(self.now.get(), delay);
        self.agenda.push(at, item);
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

    pub(super) fn send_to_client(&mut self, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(connection) else { return };
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

    pub(super) fn send_to_server(&mut self, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(connection) else { return };
        let server = wire.server;
        let ends = (Node::Client(self.seat(wire.process) as u32), Node::Server(server));
        let item = Item::ToServer { server, connection, payload };
        if let Some((delay, item)) = self.network.send(ends.0, ends.1, item) {
            self.schedule_on_wire(connection, delay, item);
        }
    }

    pub(super) fn schedule_on_wire(
        &mut self,
        connection: u64,
        delay: Duration,
        item: Item<PacketOf<S>>,
    ) {
        let Some(wire) = self.connections.get_mut(connection) else { return };
        let order = match item {
            Item::ToServer { .. } => &mut wire.to_server,
            _ => &mut wire.to_client,
        };
        let at = order.arrival(self.now.get(), delay);
        self.agenda.push(at, item);
    }
}
