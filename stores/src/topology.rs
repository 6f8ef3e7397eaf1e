//! Topologies: the layouts of a store's servers, as data.

use base::{ServerInfo, Shape};
use std::net::Ipv4Addr;
use std::ops::Range;

/// The role of a server that stands for the store at first, where others only hold what it does.
pub const PRIMARY: &str = "primary";

/// A layout of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The name, as `--on` takes it.
    pub name: &'static str,
    /// One line for `picklock list topologies`.
    pub summary: &'static str,
    /// The shape in which a lock sees it.
    pub shape: Shape,
    /// The servers, in groups. Nodes are numbered through all of them.
    pub groups: &'static [Group],
}

/// Servers with the same role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The role: "server", "member", "sentinel".
    pub role: &'static str,
    /// The number of servers.
    pub count: u32,
    /// True if they talk to each other, so that they can be cut off from each other.
    pub peers: bool,
}

impl Topology {
    /// The number of servers.
    pub const fn servers(&self) -> u32 {
        let (mut servers, mut group) = (0, 0);
        while group < self.groups.len() {
            servers += self.groups[group].count;
            group += 1;
        }
        servers
    }

    /// Returns true if its servers talk to each other.
    pub fn has_peers(&self) -> bool {
        self.groups.iter().any(|group| group.peers && group.count > 1)
    }

    /// The servers that stand for the store at first, each for a share of it, where others only
    /// hold what they do. They come first, and the others are dealt out to them in turn.
    pub fn primaries(&self) -> Range<u32> {
        let first = self.groups.first().filter(|group| group.role == PRIMARY);
        0..first.map_or(0, |group| group.count)
    }

    /// Returns the servers, by number.
    pub fn nodes(&self) -> Vec<ServerInfo> {
        let groups = (0..).zip(self.groups);
        let roles = groups.flat_map(|(at, group)| (0..group.count).map(move |_| (at, group.role)));
        let named = |(number, (group, role)): (u32, (u32, &str))| ServerInfo {
            name: node_name(number),
            role: role.into(),
            group,
        };
        (0..).zip(roles).map(named).collect()
    }
}

/// The beginning of a server's name.
const NODE: &str = "server-";

/// Returns the name of a server, by its number.
pub fn node_name(number: u32) -> String {
    format!("{NODE}{number}")
}

/// The beginning of the addresses that stand for servers where nobody looks names up.
const ADDRESSES: [u8; 2] = [127, 78];

/// Returns the address of this machine that stands for a server where nobody looks names up.
pub fn node_address(number: u32) -> Ipv4Addr {
    let [high, low] = (number as u16 + 1).to_be_bytes();
    Ipv4Addr::new(ADDRESSES[0], ADDRESSES[1], high, low)
}

/// Returns the number of a server, by its name or by the address that stands for it.
pub fn node_number(name: &str) -> Option<u32> {
    if let Some(number) = name.strip_prefix(NODE) {
        return number.parse().ok();
    }
    let [first, second, high, low] = name.parse::<Ipv4Addr>().ok()?.octets();
    let number = u16::from_be_bytes([high, low]).checked_sub(1)?;
    (ADDRESSES == [first, second]).then_some(number.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_name_and_an_address_and_nobody_else_has() {
        for number in [0, 5, 254, 255, 1_000] {
            assert_eq!(node_number(&node_name(number)), Some(number));
            assert_eq!(node_number(&node_address(number).to_string()), Some(number));
        }
        for other in ["server-", "127.78.0.0", "127.0.0.1", "10.78.0.1", "127.78.0", "::1", ""] {
            assert_eq!(node_number(other), None, "{other}");
        }
    }
}
