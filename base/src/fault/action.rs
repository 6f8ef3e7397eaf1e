//! Actions: the things that a fault does to its target. Each is described by its [`Action::spec`].

use super::{ClockChange, LinkFault};
use serde::{Deserialize, Serialize};

/// Something that is done to a target until it is healed: a paused node goes on then, one that is
/// down is started again, a cut link delivers what it held, a wall clock is set right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The node stops running and notices nothing (SIGSTOP, `docker pause`).
    Pause,
    /// The process of a client dies (SIGKILL) and loses its memory; its machine closes its
    /// connections.
    Kill,
    /// The process of a server dies (`docker kill`): its machine closes its connections, and
    /// refuses new ones until it is started again.
    Crash(Data),
    /// The machine of a server is gone, as when its power fails or its network card dies: nobody
    /// hears a word of it, and what is sent to it is lost until it is started again, with its data.
    Vanish,
    /// The memory of a server is filled with junk, so that it evicts what clients have stored. The
    /// heal takes out what is left of the junk.
    Evict,
    /// Links hold what is sent over them, as TCP does, and deliver it late, after the heal.
    Cut(Direction),
    /// The clocks of a node go wrong, and with them its timers. The heal sets the wall clock right,
    /// as NTP does; a monotonic clock goes on from where it stands, at the right rate.
    Clock(ClockChange),
    /// Connections between clients and servers suffer.
    Link(LinkFault),
}

/// The fate of a crashed server's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// The server comes back with everything it had acknowledged.
    Kept,
    /// The server comes back empty.
    Lost,
    /// The server comes back without what was not yet certain to be on the disk, as a machine does
    /// that loses its power: up to the last second, for a Redis with `appendfsync everysec`.
    Unsynced,
}

/// The direction in which a cut link holds its bytes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Both directions at once.
    Both,
    /// The direction from the first node of each pair to the second: requests, from client to
    /// server.
    Forward,
    /// The direction from the second node of each pair to the first: replies, from server to
    /// client.
    Backward,
}

impl Direction {
    /// The same direction of a pair whose nodes have changed places.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Both => Self::Both,
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}
