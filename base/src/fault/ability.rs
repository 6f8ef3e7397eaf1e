//! Abilities that a fault needs of a backend: checked before a run, so that a fault that the
//! backend lacks is refused by name and not met in the middle.

use super::Fault;
use std::fmt;

/// A power over the world that a backend has or lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// Pause a node.
    Pause,
    /// Kill a node, and start a server again with or without its data.
    Crash,
    /// Take the power from a server.
    CutPower,
    /// Take a server's machine from the network without a word, and bring it back.
    Vanish,
    /// Fill the memory of a server, so that it evicts what is stored there.
    Evict,
    /// Hold what is sent over a link.
    Cut,
    /// Set, bend or stop the clocks of a node.
    Clock,
    /// Break the connections over a link.
    Reset,
    /// Refuse new connections over a link.
    Refuse,
    /// Lose exactly one request.
    LoseRequest,
    /// Lose exactly one reply.
    LoseReply,
    /// Slow a link.
    Slow,
    /// Limit what a link carries in a second.
    Throttle,
    /// Do to the links of the vault what can be done to a link.
    Vault,
}

impl Fault {
    /// The ability that a backend needs for this fault.
    pub fn ability(&self) -> Ability {
        if self.is_at_vault() { Ability::Vault } else { self.action.spec().ability }
    }
}

/// Displays the ability as a verb phrase, to stand after "cannot".
impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pause => "pause a node",
            Self::Crash => "kill a node",
            Self::CutPower => "take the power from a server",
            Self::Vanish => "take a machine from the network",
            Self::Evict => "make a server evict what it stores",
            Self::Cut => "cut a link",
            Self::Clock => "change the clock of a node",
            Self::Reset => "reset a connection",
            Self::Refuse => "refuse a connection",
            Self::LoseRequest => "lose exactly one request",
            Self::LoseReply => "lose exactly one reply",
            Self::Slow => "slow a link",
            Self::Throttle => "limit the bandwidth of a link",
            Self::Vault => "disturb the links of the vault",
        })
    }
}
