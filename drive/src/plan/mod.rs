//! A run as pure data: its plan, the replay that it follows, and the decisions that
//! were made in it. The rest of the harness stands on this module, and it stands on none.

mod played;
mod replay;
mod replayer;
mod unfit;

use base::{ClientAbility, Load, Promises, RunSpec, ServerInfo};
use std::time::Duration;

pub use played::Played;
pub use replay::{FaultTiming, Planned, PlannedTurn, Replay, Trigger, Victim};
pub use replayer::Replayer;
pub use unfit::UnfitClient;

/// The parameters of the drive loop for one run.
pub struct Plan {
    /// The run as it is made.
    pub run: RunSpec,
    /// The servers, by number.
    pub servers: Vec<ServerInfo>,
    /// True if the servers talk to each other.
    pub peers: bool,
    /// The longest time that clients take until they can be asked for the lock.
    pub start_up: Duration,
    /// The time that the run goes on after the last heal.
    pub quiet: Duration,
    /// The longest time that an acquire waits.
    pub acquire_timeout: Duration,
    /// The longest time that an acquire with a short wait does.
    pub short_wait: Duration,
    /// The load that clients put on the lock.
    pub load: Load,
    /// Turns to take and phases to keep, instead of drawn ones.
    pub replay: Option<Replay>,
    /// The promises of the lock.
    pub promises: Promises,
    /// The delay of a message over a client's link, as far as faults slow it.
    pub link_delay: Duration,
    /// The abilities that its clients need beyond the four requests, if they are a program of
    /// somebody else.
    pub needed: Vec<ClientAbility>,
    /// True if its faults are drawn, and not those of a script or a schedule.
    pub draws_faults: bool,
}
