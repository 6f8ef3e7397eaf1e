//! Faults of the connections over a link.

use super::{Ability, Action};
use serde::{Deserialize, Serialize};

/// A disturbance of the connections over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkFault {
    /// Open ones break at once: both ends are notified, and what was on its way is lost.
    Reset,
    /// New ones are refused; those that are open go on.
    Refuse,
    /// The next request is lost and its connection breaks: the client cannot know that it never
    /// arrived.
    LoseRequest,
    /// The next reply is lost and its connection breaks: what was asked is done, and the client
    /// cannot know it.
    LoseReply,
    /// Every message takes so many times as long.
    Slow(u32),
    /// Every message takes up to so many microseconds longer, drawn for each. Their order is kept.
    #[serde(rename = "jitter_us")]
    Jitter(u32),
    /// Each direction carries so many bytes a second and no more; what is sent faster waits.
    Throttle(u32),
}

impl LinkFault {
    /// The size of a packet, in bytes, where packets have none of their own: about that of a
    /// request with its headers.
    pub const PACKET: u64 = 100;

    /// Returns true if it only delays what a link carries, so that servers, too, can be hit by it.
    #[must_use]
    pub fn is_delay(self) -> bool {
        let ability = Action::Link(self).spec().ability;
        ability.between_servers() == Ability::DelayServers
    }
}
