//! The description of the world that a backend is asked to set up.

use crate::zookeeper::Timing;
use crate::{Cluster, StoreId, Topology};
use base::ProgramCommand;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The distribution of the delays of the links between clients and servers, in the simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkDelays {
    /// All links have the same steady delay.
    #[default]
    Alike,
    /// All links have the same delay, and now and then a message takes long.
    HeavyTailed,
    /// Each link, each way, has a character of its own: steady, far away, or with a heavy tail.
    Uneven,
}

/// The world of one run.
#[derive(Clone, Debug)]
pub struct WorldSpec {
    /// The store that the servers belong to.
    pub store: StoreId,
    /// The layout of the servers.
    pub topology: &'static Topology,
    /// The number of clients.
    pub clients: u32,
    /// The number of workers in each client.
    pub workers: u32,
    /// The number of keys that the clients are asked for.
    pub keys: u32,
    /// The lock that the clients use.
    pub algo: String,
    /// The number of its permits.
    pub permits: u32,
    /// The lock's time to live, or its session time-out.
    pub ttl: Duration,
    /// The settings of a ZooKeeper ensemble; other stores have no use for them.
    pub timing: Timing,
    /// The longest time that a call to a server may take.
    pub call_timeout: Duration,
    /// The delay of each link between a client and a server, each way.
    pub link_delay: Duration,
    /// The distribution of these delays.
    pub links: LinkDelays,
    /// True if faults of the run set the wall clocks of servers.
    pub sets_clocks: bool,
    /// True if the clients tell the name of each command that they send.
    pub names_calls: bool,
    /// The addresses of servers that somebody else runs, `host:port` by number; none if they are to
    /// be started.
    pub given: Vec<String>,
    /// True if those are observed.
    pub observes_given: bool,
    /// The Toxiproxy server that the links of clients lead through; `None` for links of our own
    /// alone.
    pub toxiproxy: Option<SocketAddr>,
    /// The command that starts a server of somebody else's.
    pub server: Option<ProgramCommand>,
    /// The program of the clients. `None`: picklock itself.
    pub client: Option<ProgramCommand>,
    /// Seeds everything that is drawn.
    pub seed: u64,
    /// The folder for logs (`log/` of the run folder). `None`: no logs are kept.
    pub logs: Option<PathBuf>,
}

impl WorldSpec {
    /// The default world of one client of this lock, on servers of its own.
    pub fn new(store: StoreId, topology: &'static Topology, algo: &str, ttl: Duration) -> Self {
        Self {
            store,
            topology,
            clients: 1,
            workers: 1,
            keys: 1,
            algo: algo.into(),
            permits: 1,
            ttl,
            timing: Timing::of(ttl),
            call_timeout: ttl,
            link_delay: Duration::ZERO,
            links: LinkDelays::default(),
            sets_clocks: false,
            names_calls: false,
            given: Vec::new(),
            observes_given: false,
            toxiproxy: None,
            server: None,
            client: None,
            seed: 1,
            logs: None,
        }
    }

    /// Returns the servers of the world.
    pub fn cluster(&self) -> Cluster {
        Cluster {
            sets_clocks: self.sets_clocks,
            given: self.given.clone(),
            command: self.server.clone(),
            permits: self.permits,
            ..Cluster::new(self.topology, self.ttl, self.timing)
        }
    }
}
