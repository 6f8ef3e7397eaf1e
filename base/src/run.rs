//! What was run: everything that a checker may know besides the history.

use crate::History;
use serde::{Deserialize, Serialize};

/// What a lock promises. A property that it does not promise is `not applicable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promises {
    /// It can be held by several readers at once.
    pub shared: bool,
    /// Its grants carry fencing tokens, and the vault checks them.
    pub fenced: bool,
    /// It is free again, after a holder's death, within this many of its ttls (or session
    /// time-outs). `None`: never promised.
    pub recovers: Option<u32>,
    /// It is granted in the order in which clients joined its queue.
    #[serde(default)]
    pub fifo: bool,
    /// Whoever waits sleeps until the store wakes him. `None`: clients ask again and again.
    #[serde(default)]
    pub wakes: Option<Wakes>,
    /// Its holder may acquire it again.
    #[serde(default)]
    pub reentrant: bool,
    /// It goes on being granted while a minority of its servers is down.
    #[serde(default)]
    pub available: bool,
}

/// Whom a store wakes when a lock changes hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wakes {
    /// Everybody who waits: a herd.
    All,
    /// Those whose turn it is, and at most one other.
    Next,
}

impl Promises {
    /// What the least lock promises: one holder at a time.
    pub const MUTEX: Self = Self {
        shared: false,
        fenced: false,
        recovers: None,
        fifo: false,
        wakes: None,
        reentrant: false,
        available: false,
    };
}

/// What is known to break a lock, and why that is no surprise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The nemesis that breaks it, or its family (`pause` covers `pause-client`).
    pub nemesis: String,
    /// The anomaly that is seen.
    pub anomaly: String,
    /// Why, in a sentence, with the hazard's number in the catalogue.
    pub why: String,
}

/// The settings of a run, stored as `run.json` beside its history. Durations are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of this format.
    pub version: u32,
    /// The lock.
    pub algo: String,
    /// The nemesis; several are joined by a comma.
    pub nemesis: String,
    /// The backend.
    pub backend: String,
    /// The seed of the schedule.
    pub seed: u64,
    /// How many clients contended.
    pub clients: u32,
    /// How many servers there were.
    pub servers: u32,
    /// How many keys.
    pub keys: u32,
    /// The lock's time to live, or its session time-out.
    pub ttl: u64,
    /// How long faults were injected.
    pub time_limit: u64,
    /// How long the run went on after the last heal.
    pub quiet: u64,
    /// How long each client-server link delays, each way.
    pub link_delay: u64,
    /// How long an acquire may wait before it gives up.
    pub patience: u64,
    /// What the lock promises.
    pub promises: Promises,
    /// What is known to break it.
    pub known: Vec<Known>,
    /// The command that runs it again.
    pub command: String,
}

/// A run as a checker sees it.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was run.
    pub info: RunInfo,
    /// What happened.
    pub history: History,
}
