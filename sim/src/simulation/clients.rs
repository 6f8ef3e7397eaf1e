//! What happens at a client: its task and its library run until neither has anything to do.

use base::{Node, Rng, World};
use std::time::Duration;

use super::item::{Item, Payload};
use super::{PacketOf, Simulation};
use crate::chance::Tape;
use crate::library::{Do, Library, SimStore};

impl<S: SimStore> Simulation<S> {
    pub(super) fn at_client(&mut self, process: u32, mut item: Item<PacketOf<S>>) {
        let local = match &item {
            Item::ToClient { connection, .. } => self.connections.get(*connection).map(|w| w.local),
            _ => None,
        };
        let seat = self.seat(process);
        let Some(client) = self.clients[seat].as_mut().filter(|c| c.process == process) else {
            return;
        };
        if let Item::Alarm { timer, .. } = item {
            let timers = &mut client.machine.timers.borrow_mut();
            if !timers.alarm(timer, &mut self.agenda, |timer| Item::Alarm { process, timer }) {
                // Nothing has happened.
                self.happened -= 1;
                return;
            }
            item = Item::Timer { process, timer };
        }
        if let Some(paused) = &mut client.paused {
            paused.waiting.push(item);
            return;
        }
        let out = &mut self.wishes;
        let now = client.machine.monotonic();
        match item {
            Item::Timer { timer, .. } => client.machine.timers.borrow_mut().ring(timer),
            Item::Request { request, .. } => client.machine.put(request),
            Item::LibraryTick { .. } => {
                client.tick = None;
                client.library.tick(now, out);
            }
            Item::Broken { local, .. } => {
                client.hang_up(local);
                client.library.closed(now, local, out);
            }
            Item::Refused { local, .. } => client.library.refused(now, local, out),
            Item::ToClient { connection, payload } => {
                let Some(local) = local else { return };
                match payload {
                    Payload::Data(packet) => client.library.receive(now, local, packet, out),
                    Payload::Closed => {
                        client.hang_up(local);
                        client.library.closed(now, local, out);
                        self.connections.remove(connection);
                    }
                }
            }
            _ => {}
        }
        self.run_client(process);
    }

    /// Lets a client's task and its library run until neither has anything to do.
    pub(super) fn run_client(&mut self, process: u32) {
        loop {
            let seat = self.seat(process);
            let Some(client) = self.clients[seat].as_mut().filter(|c| c.process == process) else {
                return;
            };
            if client.run() {
                client.library.calls(client.machine.monotonic(), &mut self.wishes);
            }
            if self.wishes.is_empty() {
                // A library that refuses a call at once has woken the task, and wants nothing.
                if client.is_woken() {
                    continue;
                }
                break;
            }
            self.library_wants(process);
        }
        self.plan_ahead(process);
    }

    /// Puts on the agenda what a client that has run waits for and what it has said.
    fn plan_ahead(&mut self, process: u32) {
        let now = self.now.get();
        let seat = self.seat(process);
        let Some(client) = &mut self.clients[seat] else { return };
        let clock = client.machine.clock();
        let due = |reading| clock.due(reading, now);
        let timers = &mut client.machine.timers.borrow_mut();
        timers.sync(&mut self.agenda, due, |timer| Item::Alarm { process, timer });
        while let Some(mut response) = client.machine.said() {
            // The harness knows the time of the world alone.
            response.reply.on_clock(|reading| clock.translate(reading, now));
            let at = now + pipe(&mut self.rng, self.tape.as_deref(), seat);
            self.agenda.push(at, Item::Response { process, response });
        }
        let Some(deadline) = client.library.deadline() else { return };
        if let Some((tick, ticket)) = client.tick {
            // One that comes too early asks again; one that would come too late is of no use.
            if tick <= deadline {
                return;
            }
            self.agenda.cancel(ticket);
        }
        let ticket = self.agenda.push(due(deadline), Item::LibraryTick { process });
        client.tick = Some((deadline, ticket));
    }

    /// The clocks of a seat go at another rate from now on: what its client waits for comes at
    /// another time.
    pub(super) fn plan_anew(&mut self, seat: u32) {
        let Some(client) = &mut self.clients[seat as usize] else { return };
        client.machine.timers.borrow_mut().unplan(&mut self.agenda);
        if let Some((_, ticket)) = client.tick.take() {
            self.agenda.cancel(ticket);
        }
        let process = client.process;
        self.plan_ahead(process);
    }

    /// Carries out what a client's library wants.
    fn library_wants(&mut self, process: u32) {
        let mut wishes = std::mem::take(&mut self.wishes);
        for wish in wishes.drain(..) {
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
        // Kept for its memory.
        self.wishes = wishes;
    }
}

/// How long a line takes between the harness and a client.
pub fn pipe(rng: &mut Rng, tape: Option<&Tape>, seat: usize) -> Duration {
    let mut draw = || rng.between(Duration::from_micros(10), Duration::from_micros(50));
    let client = Node::Client(seat as u32);
    match tape {
        Some(tape) => tape.delay(client, client, draw),
        None => draw(),
    }
}
