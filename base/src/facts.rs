//! Store facts: statements of the store about a grant or a release, as far as the recipe knows
//! them, of the vault about a write that arrives late, and of the machine about a stall.
//!
//! They stand beside what a client believes, and each is optional: a recipe reports what it knows,
//! and a checker that misses a fact says so.

use crate::Node;
use serde::{Deserialize, Serialize};

/// The store's statements about an acquire or a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The time at which the request that took the lock was sent. In the history: since the run
    /// began; from a client: its CLOCK_MONOTONIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_ns: Option<u64>,
    /// The time at which the grant runs out, on the same clock. `None`: it does not run out by
    /// time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_ns: Option<u64>,
    /// The grant's place in the store's queue: whoever joined later has a greater one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// True if the grant took the place of an older one, which seemed to have run out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    /// The extent of a release: nothing, this grant's own entry, or any entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<Removed>,
    /// The index of the `invoke` of a write that arrives late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun: Option<u64>,
    /// True if the store counts the client as the holder, after an acquire that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// The stall of the machine that a `stall` records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
}

/// A stall: a time for which the machine did not run what was ready to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// The node that waited; absent where it was the harness, with the links in it, or all
    /// together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<Node>,
    /// The time for which it waited.
    pub lasted_ns: u64,
}

impl Stall {
    /// The shortest stall that is reported: the waits on the machines of locks are longer.
    pub const LEAST_NS: u64 = 100_000_000;
    /// The interval between two looks. A stall is reported at the first look after it, so it may
    /// have ended up to this long before.
    pub const LOOK_NS: u64 = 200_000_000;

    /// The one that waited: "server 0", "the harness".
    pub fn waited(&self) -> String {
        self.node.map_or("the harness".into(), |node| node.to_string())
    }
}

impl Facts {
    /// Returns true if no fact is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Converts every time in the facts to another clock.
    pub fn on_clock(&mut self, read: impl Fn(u64) -> u64) {
        for time in [&mut self.asked_ns, &mut self.expires_ns].into_iter().flatten() {
            *time = read(*time);
        }
    }
}

/// The extent of a release, by the store's own answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Removed {
    /// Nothing: there was nothing of this client's, or nothing at all.
    Nothing,
    /// The entry of this very grant: the store compared a mark that no other grant has, or the name
    /// belongs to this grant alone.
    Own,
    /// Any entry that stood there. Nobody checked its owner, or others have the same mark.
    Any,
    /// Nothing, as it should: it gave an inner hold back, and the outer one goes on.
    Kept,
}

impl Removed {
    /// The words behind a release, where it did more or less than it should.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Nothing => ", which removed nothing",
            Self::Own | Self::Kept => "",
            Self::Any => ", which removed whatever stood there",
        }
    }
}
