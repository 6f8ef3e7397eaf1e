//! A simulated server: a model, its clocks, and whether it runs.

use base::{Clock, FaultId, Mono, Node};
use std::time::Duration;
use stores::model::Clocks;

use crate::clock::clock_of;
use crate::event_queue::Ticket;
use crate::pause::Paused;
use crate::simulation::Item;

pub struct SimulatedServer<M> {
    pub model: M,
    pub clock: Clock,
    /// The lead of its wall clock without any fault.
    skew: Duration,
    /// True unless it is crashed.
    pub up: bool,
    /// Its machine is gone: nothing that is sent to it is heard or answered.
    pub gone: bool,
    /// Packets that clients' machines have sent to it meanwhile, and send again until somebody
    /// answers.
    pub unheard: Vec<Item>,
    /// The fault that has filled its memory, and the number of things that were evicted then.
    pub filled: Option<(FaultId, u64)>,
    /// The items that wait for a paused server; `None` while it runs.
    pub paused: Option<Paused>,
    /// The connections that it knows, in order.
    connections: Vec<u64>,
    /// Its next tick: when it is due, by its monotonic clock, and the ticket in the event queue.
    pub tick: Option<(Mono, Ticket)>,
}

impl<M> SimulatedServer<M> {
    pub fn new(number: u32, model: M, skew: Duration) -> Self {
        Self {
            model,
            clock: clock_of(Node::Server(number)),
            skew,
            up: true,
            gone: false,
            unheard: Vec::new(),
            filled: None,
            paused: None,
            connections: Vec::new(),
            tick: None,
        }
    }

    /// Notes a connection over which something has come.
    pub fn know(&mut self, connection: u64) {
        if let Err(place) = self.connections.binary_search(&connection) {
            self.connections.insert(place, connection);
        }
    }

    /// A connection is no more. Says whether the server knew it.
    pub fn forget(&mut self, connection: u64) -> bool {
        let place = self.connections.binary_search(&connection);
        place.map(|place| self.connections.remove(place)).is_ok()
    }

    /// Stops running, with everything that it has in its head. What waited for it is handed back.
    pub fn stop(&mut self) -> Option<Paused> {
        self.up = false;
        self.connections.clear();
        self.paused.take()
    }

    pub fn clocks(&self, now: Mono) -> Clocks {
        Clocks { wall: self.clock.wall(now) + self.skew, mono: self.clock.mono(now) }
    }
}
