//! A server that somebody else runs, as `--servers` names it.

use std::fmt;
use std::str::FromStr;

/// A server of the topology, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedServer {
    /// The name in the topology: "server-0".
    pub name: String,
    /// The address, "host:port".
    pub address: String,
}

/// A text that names no server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no server; write it as server-0=host:port, and more of them joined by commas")]
pub struct NoNamedServer(String);

impl FromStr for NamedServer {
    type Err = NoNamedServer;

    fn from_str(text: &str) -> Result<Self, NoNamedServer> {
        let named = || {
            let (name, address) = text.split_once('=')?;
            let (host, port) = address.rsplit_once(':')?;
            let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
            (!name.is_empty() && !host.is_empty() && is_port)
                .then(|| Self { name: name.into(), address: address.into() })
        };
        named().ok_or_else(|| NoNamedServer(text.into()))
    }
}

/// Displays it as it is written.
impl fmt::Display for NamedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_name_a_host_and_a_port() {
        for text in ["server-0=10.0.0.1:6379", "server-1=redis.example:1", "s=[::1]:6379"] {
            assert_eq!(text.parse::<NamedServer>().unwrap().to_string(), text);
        }
        for text in ["", "server-0", "server-0=", "=h:1", "server-0=h", "server-0=h:0", "s=:1"] {
            assert!(text.parse::<NamedServer>().is_err(), "{text}");
        }
    }
}
