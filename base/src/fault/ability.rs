//! Abilities that a fault needs of a backend: checked before a run, so that a fault that the
//! backend lacks is refused by name and not met in the middle.

use super::{Fault, Node, Target};
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
    /// Hold what is sent over the link of a client.
    Cut,
    /// Hold what servers send each other.
    CutServers,
    /// Delay what servers send each other.
    DelayServers,
    /// Set the wall clock of a server.
    ServerClock,
    /// Set the wall clock of a client.
    ClientClock,
    /// Have the clocks of a server run fast or slow, or stand still.
    ServerClockRate,
    /// Have the clocks of a client run fast or slow, or stand still.
    ClientClockRate,
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
    /// Delay what a link carries, each message by another time.
    Jitter,
    /// Limit what a link carries in a second.
    Throttle,
    /// Do to the links of the vault what can be done to a link.
    Vault,
}

impl Ability {
    /// The ability that the same action takes when it hits a client.
    #[must_use]
    pub const fn at_client(self) -> Self {
        match self {
            Self::ServerClock => Self::ClientClock,
            Self::ServerClockRate => Self::ClientClockRate,
            other => other,
        }
    }

    /// The ability that the same action takes when it hits a link between servers.
    #[must_use]
    pub const fn between_servers(self) -> Self {
        match self {
            Self::Cut => Self::CutServers,
            Self::Slow | Self::Jitter | Self::Throttle => Self::DelayServers,
            other => other,
        }
    }

    /// The ability that the same nemesis takes where servers do not talk to each other: a server is cut from
    /// the clients there.
    #[must_use]
    pub const fn without_peers(self) -> Self {
        match self {
            Self::CutServers => Self::Cut,
            other => other,
        }
    }
}

impl Fault {
    /// The ability that a backend needs for this fault.
    pub fn ability(&self) -> Ability {
        let ability = self.action.spec().ability;
        let is_server = |node: &Node| matches!(node, Node::Server(_));
        match &self.target {
            _ if self.is_at_vault() => Ability::Vault,
            Target::Node(Node::Client(_)) => ability.at_client(),
            Target::Links(links) if links.iter().all(|(a, b)| is_server(a) && is_server(b)) => {
                ability.between_servers()
            }
            _ => ability,
        }
    }

    /// Returns true if it hits clients and their links only: no server, and no link between servers.
    pub fn is_of_clients(&self) -> bool {
        let is_client = |node: &Node| matches!(node, Node::Client(_));
        match &self.target {
            Target::Node(node) => is_client(node),
            Target::Links(links) => links.iter().all(|(a, b)| is_client(a) || is_client(b)),
        }
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
            Self::CutServers => "cut a link between servers",
            Self::DelayServers => "slow or throttle a link between servers",
            Self::ServerClock => "set the clock of a server",
            Self::ClientClock => "set the clock of a client",
            Self::ServerClockRate => "have the clock of a server run fast or slow, or stand still",
            Self::ClientClockRate => "have the clocks of a client run fast or slow, or stand still",
            Self::Reset => "reset a connection",
            Self::Refuse => "refuse a connection",
            Self::LoseRequest => "lose exactly one request",
            Self::LoseReply => "lose exactly one reply",
            Self::Slow => "slow a link",
            Self::Jitter => "delay messages over a link by chance",
            Self::Throttle => "limit the bandwidth of a link",
            Self::Vault => "disturb the links of the vault",
        })
    }
}
