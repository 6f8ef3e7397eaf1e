//! A run as pure data: its options, its plan, the script that it follows, and the decisions that were
//! made in it. The rest of the harness stands on this module, and it stands on none.

mod options;
mod played;
mod script;
mod scripted;

use base::Promises;
use std::time::Duration;
use workloads::task::Contend;

pub use options::{Options, UNLIMITED};
pub use played::Played;
pub use script::{Aim, Moment, Planned, Script, Turn, Victim};
pub use scripted::Scripted;

/// What to drive.
pub struct Plan {
    /// How many clients.
    pub clients: u32,
    /// How many servers.
    pub servers: u32,
    /// Whether they talk to each other.
    pub peers: bool,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// How long faults are injected.
    pub time_limit: Duration,
    /// How long the run goes on after the last heal.
    pub quiet: Duration,
    /// How long an acquire may wait.
    pub patience: Duration,
    /// What clients do.
    pub task: Contend,
    /// Turns to take and phases to keep, instead of drawn ones.
    pub script: Option<Script>,
    /// What the lock promises.
    pub promises: Promises,
    /// How long a message takes over a client's link, as far as faults slow it.
    pub link_delay: Duration,
    /// Seeds what is drawn here: turns and faults.
    pub seed: u64,
}
