//! Faults of the connections over a link between a client and a server.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A disturbance of the connections over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkTrouble {
    /// Open ones break at once: both ends are told, and what was on its way is lost.
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
}

impl LinkTrouble {
    /// The unit in which the effect is counted, such as "requests lost".
    pub const fn counted(self) -> &'static str {
        match self {
            Self::Reset => "connections reset",
            Self::Refuse => "connections refused",
            Self::LoseRequest => "requests lost",
            Self::LoseReply => "replies lost",
            Self::Slow(_) => "packets slowed",
        }
    }
}

/// Displays the disturbance as a phrase, to stand before the names of the link's two ends.
impl fmt::Display for LinkTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reset => f.write_str("connections reset"),
            Self::Refuse => f.write_str("connections refused"),
            Self::LoseRequest => f.write_str("a request lost"),
            Self::LoseReply => f.write_str("a reply lost"),
            Self::Slow(times) => write!(f, "link {times} times as slow"),
        }
    }
}
