//! A simulated server: a model, its clocks, and whether it runs.

use base::{Mono, Node};
use std::collections::BTreeSet;
use std::time::Duration;
use stores::model::Clocks;

use crate::agenda::Ticket;
use crate::clock::Clock;
use crate::pause::Paused;

pub struct Server<M, I> {
    pub model: M,
    pub clock: Clock,
    /// How far its wall clock is ahead without any fault.
    skew: Duration,
    /// It is not crashed.
    pub up: bool,
    /// What waits for a paused server. `None`: it runs.
    pub paused: Option<Paused<I>>,
    /// The connections that it knows.
    pub connections: BTreeSet<u64>,
    /// When its next tick is due, by its monotonic clock, and where it stands on the agenda.
    pub tick: Option<(Mono, Ticket)>,
}

impl<M, I> Server<M, I> {
    pub fn new(number: u32, model: M, skew: Duration) -> Self {
        Self {
            model,
            clock: Clock::of(Node::Server(number)),
            skew,
            up: true,
            paused: None,
            connections: BTreeSet::new(),
            tick: None,
        }
    }

    pub fn clocks(&self, now: Mono) -> Clocks {
        Clocks { wall: self.clock.wall(now) + self.skew, mono: self.clock.mono(now) }
    }
}
