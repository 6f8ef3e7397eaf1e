//! Topologies: the layouts of a store's servers, as data.

use base::ServerInfo;

/// The role of the server that stands for the store at first, where others only hold what it does.
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

/// The shape in which a lock sees the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One store, whichever server answers for it.
    One,
    /// Servers that know nothing of each other, which the lock itself combines.
    Several,
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

    /// Returns the server that stands for the store at first, where others only hold what it does.
    pub fn primary(&self) -> Option<u32> {
        let at = self.groups.iter().position(|group| group.role == PRIMARY)?;
        Some(self.groups[..at].iter().map(|group| group.count).sum())
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

/// Returns the number of a server, by its name.
pub fn node_number(name: &str) -> Option<u32> {
    name.strip_prefix(NODE)?.parse().ok()
}
