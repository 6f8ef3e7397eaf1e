//! The nodes of a world, which faults hit.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that a fault can hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// A client, by its number: a crashed client comes back with the same number under a new
    /// process number.
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
