//! ZooKeeper, as the list of stores knows it.

use base::{Link, LocalFuture, Wakeups, World};
use std::rc::Rc;
use std::time::Duration;

use super::alone::Alone;
use super::model::Server;
use super::{Client, SessionState, Timing, ZooKeeper, ZooKeeperDriver};
use crate::{
    ClientSettings, Cluster, Container, Group, Junk, Probe, Shape, Store, StoreClient, StoreId,
    Topology, node_name,
};

const fn members(count: u32) -> Group {
    Group { role: "member", count, peers: true }
}

impl Store for ZooKeeper {
    const ID: StoreId = StoreId::ZooKeeper;
    const NAME: &'static str = "ZooKeeper";
    const TOPOLOGIES: &'static [Topology] = &[
        Topology {
            name: "zookeeper-x3",
            summary: "a ZooKeeper ensemble of three members",
            shape: Shape::One,
            groups: &[members(3)],
        },
        Topology {
            name: "zookeeper-x5",
            summary: "a ZooKeeper ensemble of five members",
            shape: Shape::One,
            groups: &[members(5)],
        },
    ];
    const TTL: Duration = Duration::from_secs(2);
    const JUNK: Result<Junk, &'static str> = Err("a ZooKeeper evicts no node");

    type Server = Server;
    type Driver = ZooKeeperDriver;
    type Client = Client;
    type Alone = Alone;

    /// An ensemble ends sessions on a tick.
    fn tick(timing: &Timing) -> Duration {
        timing.tick
    }

    fn server(cluster: &Cluster, number: u32) -> Server {
        Server::new(number, cluster.servers(), cluster.timing)
    }

    fn alone() -> Alone {
        Alone::default()
    }

    fn driver(settings: ClientSettings) -> ZooKeeperDriver {
        ZooKeeperDriver::new(settings.servers, settings.ttl, settings.rng)
    }

    fn client(link: Rc<dyn Link<Self>>) -> Client {
        Client::new(link)
    }

    fn container(cluster: &Cluster, number: u32, address: &dyn Fn(u32) -> String) -> Container {
        let timing = &cluster.timing;
        let peers: Vec<String> = (0..cluster.servers()).map(node_name).collect();
        let environment = [
            ("ZOO_ID", (number + 1).to_string()),
            ("ZOO_ADDRESS", address(number)),
            ("ZOO_PEERS", peers.join(" ")),
            ("ZOO_TICK", timing.tick.as_millis().to_string()),
            ("ZOO_INIT_LIMIT", timing.init_limit.to_string()),
            ("ZOO_SYNC_LIMIT", timing.sync_limit.to_string()),
        ];
        Container {
            command: vec!["zookeeper".into()],
            environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
            port: 2181,
            probe: Probe {
                send: b"srvr",
                expect: &["Mode: leader", "Mode: follower", "Mode: standalone"],
            },
        }
    }

    #[cfg(feature = "real")]
    fn connect(settings: crate::RealSettings) -> crate::Connecting<Self> {
        Box::pin(async move {
            let crate::RealSettings { servers, ttl, seed, .. } = settings;
            match super::RealSession::connect(servers, ttl, seed).await {
                Ok(session) => Ok(Rc::new(session) as _),
                Err(error) => Err(crate::ConnectError(error.to_string())),
            }
        })
    }
}

impl StoreClient for Client {
    fn world(&self) -> &dyn World {
        Client::world(self)
    }

    fn wakeups(&self) -> Option<&Wakeups> {
        Some(Client::wakeups(self))
    }

    fn for_worker(&self) -> Self {
        self.with_own_wakeups()
    }

    fn ready(&self) -> LocalFuture<'_, ()> {
        Box::pin(async {
            while self.state() != SessionState::Connected {
                self.changed().await;
            }
        })
    }
}
