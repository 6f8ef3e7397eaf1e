//! A simulated server: a model, its clocks, and whether it runs.

use base::{Mono, Wall};
use std::collections::BTreeSet;
use std::time::Duration;
use stores::model::Clocks;

use crate::machine::EPOCH;
use crate::pause::Paused;

pub struct Server<M, I> {
    pub model: M,
    /// How far its wall clock is ahead.
    skew: Duration,
    /// It is not crashed.
    pub up: bool,
    /// What waits for a paused server. `None`: it runs.
    pub paused: Option<Paused<I>>,
    /// The connections that it knows.
    pub connections: BTreeSet<u64>,
    /// Counts its starts: a tick of an earlier life is not for this one.
    pub life: u32,
}

impl<M, I> Server<M, I> {
    pub fn new(model: M, skew: Duration) -> Self {
        Self { model, skew, up: true, paused: None, connections: BTreeSet::new(), life: 0 }
    }

    pub fn clocks(&self, now: Mono) -> Clocks {
        Clocks { wall: Wall::ZERO + EPOCH + self.skew + now.since(Mono::ZERO), mono: now }
    }
}
