//! Faults as plain data. A nemesis yields them, a backend applies them, the history records them.

mod ability;
mod clock;
mod link;

pub use ability::Ability;
pub use clock::ClockChange;
pub use link::LinkTrouble;

use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a fault within its run.
pub type FaultId = u32;

/// Something that a fault can hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// A client, by its seat: a crashed client comes back in the same seat under a new process
    /// number.
    Client(u32),
    /// A server, from 0.
    Server(u32),
    /// The resource that the lock guards. Only its links can be hit.
    Vault,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(n) => write!(f, "client {n}"),
            Self::Server(n) => write!(f, "server {n}"),
            Self::Vault => f.write_str("the vault"),
        }
    }
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

/// One fault. Its heal undoes it: a paused node goes on, a crashed one is started again, a cut
/// link delivers what it held, a wall clock is set right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Fault {
    /// The node stops running and notices nothing (SIGSTOP, `docker pause`).
    Pause {
        /// The node to pause.
        node: Node,
    },
    /// The node's process dies (SIGKILL, `docker kill`): its machine closes its connections, and
    /// refuses new ones to a server that is down.
    Crash {
        /// The node to kill.
        node: Node,
        /// The state in which a server starts again. A client always loses its memory.
        data: Data,
    },
    /// The machine of a server is gone, as when its power fails or its network card dies: nobody
    /// hears a word of it, and what is sent to it is lost until it is started again, with its data.
    Vanish {
        /// The number of the server.
        server: u32,
    },
    /// Links hold what is sent over them, as TCP does, and deliver it late, after the heal.
    Cut {
        /// The links, each a pair of nodes.
        links: Vec<(Node, Node)>,
        /// The direction in which bytes are held.
        direction: Direction,
    },
    /// The clocks of a node go wrong, and with them its timers. The heal sets the wall clock right,
    /// as NTP does; a monotonic clock goes on from where it stands, at the right rate.
    Clock {
        /// The node whose clocks go wrong.
        node: Node,
        /// The change to its clocks.
        change: ClockChange,
    },
    /// Connections between clients and servers suffer.
    Link {
        /// The links, each a pair of nodes.
        links: Vec<(Node, Node)>,
        /// The kind of disturbance.
        trouble: LinkTrouble,
    },
}

impl Fault {
    /// The name of its kind, as the reports say it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            // A machine that is gone is drawn as what it is to its clients: a server that is.
            Self::Crash { .. } | Self::Vanish { .. } => "crash",
            Self::Cut { .. } => "cut",
            Self::Clock { .. } => "clock",
            Self::Link { .. } => "link",
        }
    }

    /// A copy of the fault at other nodes.
    #[must_use]
    pub fn map(&self, at: impl Fn(Node) -> Node) -> Self {
        match self {
            Self::Pause { node } => Self::Pause { node: at(*node) },
            Self::Crash { node, data } => Self::Crash { node: at(*node), data: *data },
            Self::Vanish { server } => Self::Vanish { server: *server },
            Self::Cut { links, direction } => {
                Self::Cut { links: moved(links, at), direction: *direction }
            }
            Self::Link { links, trouble } => {
                Self::Link { links: moved(links, at), trouble: *trouble }
            }
            Self::Clock { node, change } => Self::Clock { node: at(*node), change: *change },
        }
    }

    /// The nodes that it hits, each once, in order.
    pub fn nodes(&self) -> Vec<Node> {
        let mut nodes = match self {
            Self::Pause { node } | Self::Crash { node, .. } | Self::Clock { node, .. } => {
                vec![*node]
            }
            Self::Vanish { server } => vec![Node::Server(*server)],
            Self::Cut { links, .. } | Self::Link { links, .. } => {
                links.iter().flat_map(|(a, b)| [*a, *b]).collect()
            }
        };
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Returns true if the fault hits links of the vault. These are the same in every world: the
    /// drive loop applies it, and the backend hears nothing of it.
    pub fn is_at_vault(&self) -> bool {
        self.nodes().contains(&Node::Vault)
    }

    /// Returns true if all links of the fault join a client and the vault, or if it leaves the
    /// vault alone.
    pub fn is_sound(&self) -> bool {
        let to_vault = |link: &(Node, Node)| {
            matches!(link, (Node::Client(_), Node::Vault) | (Node::Vault, Node::Client(_)))
        };
        match self {
            Self::Cut { links, .. } | Self::Link { links, .. } => {
                links.iter().all(to_vault) || !self.is_at_vault()
            }
            _ => !self.is_at_vault(),
        }
    }

    /// The links that it hits; `None` for a fault that does not name links.
    pub fn links_mut(&mut self) -> Option<&mut Vec<(Node, Node)>> {
        match self {
            Self::Cut { links, .. } | Self::Link { links, .. } => Some(links),
            _ => None,
        }
    }
}

/// A copy of the links between other nodes.
fn moved(links: &[(Node, Node)], at: impl Fn(Node) -> Node) -> Vec<(Node, Node)> {
    links.iter().map(|(a, b)| (at(*a), at(*b))).collect()
}

/// Displays the fault in words, for witnesses and reports: "client 3 paused".
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pause { node } => write!(f, "{node} paused"),
            Self::Crash { node: node @ Node::Client(_), .. } => write!(f, "{node} killed"),
            Self::Crash { node, data: Data::Kept } => write!(f, "{node} crashed, data kept"),
            Self::Crash { node, data: Data::Lost } => write!(f, "{node} crashed, data lost"),
            Self::Crash { node, data: Data::Unsynced } => {
                write!(f, "{node} crashed, its last second lost")
            }
            Self::Vanish { server } => write!(f, "machine of server {server} gone"),
            Self::Cut { links, direction } => {
                let arrow = match direction {
                    Direction::Both => "and",
                    Direction::Forward => "to",
                    Direction::Backward => "from",
                };
                f.write_str("link cut")?;
                write_links(f, links, arrow)
            }
            Self::Clock { node, change } => write!(f, "clock of {node} {change}"),
            Self::Link { links, trouble } => {
                write!(f, "{trouble}")?;
                write_links(f, links, "and")
            }
        }
    }
}

/// ": client 0 and server 0, client 0 and server 1"; nothing for no links, as a foreign history may
/// have it.
fn write_links(f: &mut fmt::Formatter<'_>, links: &[(Node, Node)], arrow: &str) -> fmt::Result {
    for (place, (a, b)) in links.iter().enumerate() {
        let before = if place == 0 { ": " } else { ", " };
        write!(f, "{before}{a} {arrow} {b}")?;
    }
    Ok(())
}

/// The measured effect of a fault. A fault without one did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The quantity measured, in words: "process state T", "bytes held".
    pub what: String,
    /// The amount of it; 0 means that the fault had no effect.
    pub amount: u64,
}

impl Effect {
    /// An effect of this amount.
    pub fn new(what: impl Into<String>, amount: u64) -> Self {
        Self { what: what.into(), amount }
    }
}
