//! Abilities that a fault needs of a backend: checked before a run, so that a fault that the
//! backend lacks is refused by name and not met in the middle.

use super::{Fault, Node, Target};
use std::fmt;

/// Makes the list of abilities, each with its verb phrase.
macro_rules! abilities {
    ($($name:ident: $words:literal,)*) => {
        /// A power over the world that a backend has or lacks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Ability {
            $(#[doc = concat!("The power to ", $words, ".")] $name,)*
        }

        /// Displays the ability as a verb phrase, to stand after "cannot".
        impl fmt::Display for Ability {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$name => $words,)*
                })
            }
        }
    };
}

abilities! {
    Pause: "pause a node",
    Crash: "kill a node",
    CutPower: "take the power from a server",
    Vanish: "take a machine from the network",
    Evict: "make a server evict what it stores",
    Cut: "cut a link",
    CutServers: "cut a link between servers",
    DelayServers: "slow or throttle a link between servers",
    ServerClock: "set the clock of a server",
    ClientClock: "set the clock of a client",
    ServerClockRate: "have the clock of a server run fast or slow, or stand still",
    ClientClockRate: "have the clocks of a client run fast or slow, or stand still",
    Reset: "reset a connection",
    Refuse: "refuse a connection",
    LoseRequest: "lose exactly one request",
    LoseReply: "lose exactly one reply",
    Slow: "slow a link",
    Jitter: "delay messages over a link by chance",
    Throttle: "limit the bandwidth of a link",
    Vault: "disturb the links of the vault",
    RunServer: "start a server by a command of yours",
    LeadPrograms: "lead a program over its own links to where servers tell it to go",
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

    /// The ability that the same nemesis takes where servers do not talk to each other: a server is
    /// cut from the clients there.
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

    /// Returns true if it hits clients and their links only: no server, and no link between
    /// servers.
    pub fn is_of_clients(&self) -> bool {
        let is_client = |node: &Node| matches!(node, Node::Client(_));
        match &self.target {
            Target::Node(node) => is_client(node),
            Target::Links(links) => links.iter().all(|(a, b)| is_client(a) || is_client(b)),
        }
    }
}
