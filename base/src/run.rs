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
