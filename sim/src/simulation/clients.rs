//! What happens at a client: its task and its library run until neither has anything to do.

use std::time::Duration;

use super::item::{Item, Payload};
use super::{PacketOf, Simulation};
use crate::library::{Do, Library, SimStore};

impl<S: SimStore> Simulation<S> {
    pub(super) fn at_client(&mut self, process: u32, item: Item<PacketOf<S>>) {
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
    pub(super) fn run_client(&mut self, process: u32, mut out: Vec<Do<PacketOf<S>>>) {
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

    pub(super) fn library_wants(&mut self, process: u32, out: Vec<Do<PacketOf<S>>>) {
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

    /// How long a line takes between the harness and a client.
    pub(super) fn pipe(&mut self) -> Duration {
        self.rng.between(Duration::from_micros(10), Duration::from_micros(50))
    }
}
