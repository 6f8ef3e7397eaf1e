//! Store facts: what the store said about a grant or a release, as far as the recipe knows it, and
//! the vault about a write that comes late.
//!
//! They stand beside what a client believes, and each is optional: a recipe says what it knows, and
//! a checker that misses a fact says so.

use serde::{Deserialize, Serialize};

/// What the store said about an acquire or a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// When the request that took the lock was sent. In the history: nanoseconds since the run
    /// began; from a client: its CLOCK_MONOTONIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    /// When the grant runs out, on the same clock. `None`: not by time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The grant's place in the store's queue: who joined later has a greater one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// What the release removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<Removed>,
    /// Of a write that arrives late: the index of its `invoke`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun: Option<u64>,
    /// After an acquire that failed: whether the store counts the client as the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
}

impl Facts {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads every time in it on another clock.
    pub fn on_clock(&mut self, read: impl Fn(u64) -> u64) {
        for time in [&mut self.asked, &mut self.expires].into_iter().flatten() {
            *time = read(*time);
        }
    }
}

/// What the store said that a release removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Removed {
    /// Nothing: there was nothing of this client's, or nothing at all.
    Nothing,
    /// What this very grant had put there: the store compared a mark that no other grant has, or
    /// the name is of this grant alone.
    Own,
    /// Whatever stood there. Nobody looked whose it was, or the mark is one that others have too.
    Any,
}
