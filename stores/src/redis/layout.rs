//! The places of the servers in a topology with Sentinels: first the data servers, of which the
//! first is the primary, and then the Sentinels.

use crate::Topology;

/// The role of Sentinels.
pub const SENTINEL: &str = "sentinel";

/// The numbers of servers in a topology with Sentinels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of data servers.
    pub data: u32,
    /// The number of all servers.
    pub servers: u32,
}

impl Layout {
    /// The layout of a topology; `None` if it has no Sentinels.
    pub fn of(topology: &Topology) -> Option<Self> {
        let sentinels = topology.groups.iter().filter(|group| group.role == SENTINEL);
        let sentinels: u32 = sentinels.map(|group| group.count).sum();
        let servers = topology.servers();
        (sentinels > 0).then_some(Self { data: servers - sentinels, servers })
    }

    /// Returns true if the server with this number is a Sentinel.
    pub const fn is_sentinel(&self, number: u32) -> bool {
        number >= self.data
    }
}
