//! Events at a client: its task and its library run until neither has anything to do.

use base::{Node, Rng, World};
use std::time::Duration;

use super::Simulation;
use super::item::{Item, Payload};
use crate::chance::ChoiceLog;
use stores::Store;
use stores::driver::Do;

impl<S: Store> Simulation<S> {
    pub(super) fn at_client(&mut self, process: u32, mut item: Item) {
        let client_number = self.client_number(process);
        let Some(client) = self.clients[client_number].as_mut().filter(|c| c.process == process)
        else {
            return self.in_flight.discard(item);
        };
        if let Item::Alarm { timer, .. } = item {
            let timers = &mut client.machine.timers.borrow_mut();
            if !timers.alarm(timer, &mut self.queue, |timer| Item::Alarm { process, timer }) {
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
        if let Item::Connect { local, .. } = item {
            self.connect_again(client_number, local);
            return self.run_client(client_number);
        }
        let out = &mut self.wishes;
        match item {
            Item::Timer { timer, .. } => client.machine.timers.borrow_mut().wake(timer),
            Item::Request { .. } => client.machine.deliver(),
            Item::LibraryTick { .. } => {
                client.tick = None;
                client.library.tick(client.machine.monotonic(), out);
            }
            Item::Broken { local, .. } => {
                client.hang_up(local);
                client.library.closed(client.machine.monotonic(), local, out);
            }
            Item::Refused { local, .. } => {
                client.library.refused(client.machine.monotonic(), local, out)
            }
            Item::ToClient { connection, payload } => {
                let Some(local) = self.connections.get(connection).map(|wire| wire.local) else {
                    return self.in_flight.discard(item);
                };
                match payload {
                    Payload::Data(packet) => {
                        let packet = self.in_flight.packets.take(packet);
                        client.library.receive(client.machine.monotonic(), local, packet, out);
                    }
                    Payload::Closed => {
                        client.hang_up(local);
                        client.library.closed(client.machine.monotonic(), local, out);
                        self.connections.remove(connection);
                    }
                }
            }
            _ => {}
        }
        self.run_client(client_number);
    }

    /// Lets a client's task and its library run until neither has anything to do.
    pub(super) fn run_client(&mut self, client_number: usize) {
        while let Some(client) = &mut self.clients[client_number] {
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
            self.library_wants(client_number);
        }
        self.plan_ahead(client_number);
    }

    /// Puts into the event queue what a client that has run waits for, and its responses.
    fn plan_ahead(&mut self, client_number: usize) {
        let now = self.now.get();
        let Some(client) = &mut self.clients[client_number] else { return };
        let (process, machine) = (client.process, &client.machine);
        let due = |reading| machine.clock().due(reading, now);
        let alarm = |timer| Item::Alarm { process, timer };
        machine.timers.borrow_mut().sync(&mut self.queue, due, alarm);
        while let Some(mut response) = machine.next_response() {
            // The harness knows the time of the world alone.
            response.reply.on_clock(|reading| machine.clock().translate(reading, now));
            let at = now.after(pipe(&mut self.rng, self.choice_log.as_deref(), client_number));
            let response = self.in_flight.responses.put(response);
            self.queue.push(at, Item::Response { process, response });
        }
        let Some(deadline) = client.library.deadline() else { return };
        if let Some((tick, ticket)) = client.tick {
            // One that comes too early asks again; one that would come too late is of no use.
            if tick <= deadline {
                return;
            }
            self.queue.cancel(ticket);
        }
        let ticket = self.queue.push(due(deadline), Item::LibraryTick { process });
        client.tick = Some((deadline, ticket));
    }

    /// The clocks of a client go at another rate from now on: what it waits for comes at
    /// another time.
    pub(super) fn plan_anew(&mut self, client_number: u32) {
        let Some(client) = &mut self.clients[client_number as usize] else { return };
        client.machine.timers.borrow_mut().unplan(&mut self.queue);
        if let Some((_, ticket)) = client.tick.take() {
            self.queue.cancel(ticket);
        }
        self.plan_ahead(client_number as usize);
    }

    /// Carries out what a client's library wants.
    fn library_wants(&mut self, client_number: usize) {
        // The first one last; most of the time there is one.
        self.wishes.reverse();
        while let Some(wish) = self.wishes.pop() {
            match wish {
                Do::Open { connection: local, server } => {
                    self.connect(client_number, local, server)
                }
                Do::Send { connection: local, packet } => {
                    if let Some(connection) = self.wire(client_number, local) {
                        self.send_to_server(connection, Payload::Data(packet));
                    }
                }
                Do::Close { connection: local } => {
                    if let Some(connection) = self.wire(client_number, local) {
                        self.send_to_server(connection, Payload::Closed);
                    }
                }
            }
        }
    }
}

/// Returns the delay of a line between the harness and a client, in nanoseconds.
pub fn pipe(rng: &mut Rng, choice_log: Option<&ChoiceLog>, client_number: usize) -> u64 {
    let mut draw = || rng.nanos_between(Duration::from_micros(10), Duration::from_micros(50));
    let client = Node::Client(client_number as u32);
    match choice_log {
        Some(choice_log) => choice_log.delay(client, client, draw),
        None => draw(),
    }
}
