//! A node that is paused: what would have happened to it waits.

use base::{Action, Effect, Mono};

use crate::simulation::Item;

pub struct Paused {
    since: Mono,
    pub waiting: Vec<Item>,
}

impl Paused {
    pub fn new(since: Mono) -> Self {
        Self { since, waiting: Vec::new() }
    }

    /// The measured effect of a pause that ends now.
    pub fn effect(&self, now: Mono) -> Effect {
        Effect::of(Action::Pause, now.since(self.since).as_millis() as u64)
    }
}
