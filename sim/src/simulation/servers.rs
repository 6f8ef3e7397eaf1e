//! What happens at a server: a packet or a tick comes, its model answers, its wishes are carried out.

use base::{Mono, Node};
use stores::model::{Out, Peer, ServerModel};

use super::item::{Item, Payload};
use super::{PacketOf, Simulation};
use crate::library::SimStore;

impl<S: SimStore> Simulation<S> {
    pub(super) fn at_server(&mut self, number: u32, item: Item<PacketOf<S>>) {
        let node = &mut self.servers[number as usize];
        if let Item::ServerTick { .. } = item {
            node.tick = None;
        }
        if let Some(paused) = &mut node.paused {
            paused.waiting.push(item);
            return;
        }
        match item {
            Item::ServerTick { .. } if node.up => self.tick_server(number),
            Item::ToServer { connection, payload, .. } => {
                self.packet_at_server(number, connection, payload);
            }
            Item::Gone { connection, .. } => {
                let known = node.connections.remove(&connection);
                if known && node.up {
                    let clocks = node.clocks(self.now.get());
                    node.model.disconnected(clocks, connection);
                }
            }
            Item::Between { from, packet, .. } if node.up => {
                let clocks = node.clocks(self.now.get());
                node.model.receive(clocks, Peer::Server(from), packet, &mut self.outs);
                self.server_wants(number);
            }
            _ => {}
        }
    }

    fn packet_at_server(&mut self, number: u32, connection: u64, payload: Payload<PacketOf<S>>) {
        let Some(wire) = self.connections.get(connection).filter(|wire| wire.open) else { return };
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
                let outs = &mut self.outs;
                node.model.receive(clocks, Peer::Connection(connection), packet, outs);
                self.server_wants(number);
            }
            Payload::Closed => {
                node.connections.remove(&connection);
                node.model.disconnected(clocks, connection);
                self.connections.remove(connection);
            }
        }
    }

    pub(super) fn tick_server(&mut self, number: u32) {
        let node = &mut self.servers[number as usize];
        let clocks = node.clocks(self.now.get());
        if let Some(next) = node.model.tick(clocks, &mut self.outs) {
            self.plan_server_tick(number, next);
        }
        self.server_wants(number);
    }

    /// Puts a server's next tick on the agenda, in place of the one that stands there.
    pub(super) fn plan_server_tick(&mut self, number: u32, next: Mono) {
        self.cancel_server_tick(number);
        let node = &mut self.servers[number as usize];
        let due = node.clock.due(next, self.now.get());
        node.tick = Some((next, self.agenda.push(due, Item::ServerTick { server: number })));
    }

    pub(super) fn cancel_server_tick(&mut self, number: u32) {
        if let Some((_, ticket)) = self.servers[number as usize].tick.take() {
            self.agenda.cancel(ticket);
        }
    }

    /// Carries out what a server's model wants.
    fn server_wants(&mut self, number: u32) {
        let mut outs = std::mem::take(&mut self.outs);
        for out in outs.drain(..) {
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
        // Kept for its memory.
        self.outs = outs;
    }
}
