//! etcd, as the list of stores knows it.

use base::{Link, Wakeups, World};
use std::rc::Rc;
use std::time::Duration;

use super::alone::AloneMember;
use super::timing::{EXPIRY_CHECK, ElectionTiming};
use super::{Client, Etcd, EtcdDriver, Server};
use crate::zookeeper::Timing;
use crate::{
    ClientSettings, Cluster, Group, Junk, Launch, Need, Place, Ports, Probe, SettableClock, Shape,
    Store, StoreClient, StoreId, Topology,
};

impl Store for Etcd {
    const ID: StoreId = StoreId::Etcd;
    const NAME: &'static str = "etcd";
    const TOPOLOGIES: &'static [Topology] = &[Topology {
        name: "etcd-x3",
        summary: "an etcd cluster of three members",
        shape: Shape::One,
        groups: &[Group { role: "member", count: 3, peers: true }],
    }];
    const TTL: Duration = Duration::from_secs(2);
    const JUNK: Result<Junk, &'static str> = Err("an etcd evicts no key");
    const SETTABLE_CLOCK: Result<SettableClock, &'static str> =
        Err("etcd counts by its monotonic clock, and asks the kernel for it past every library");
    const PORTS: Ports = Ports { clients: 2379, peers: &[2380] };

    type Server = Server;
    type Driver = EtcdDriver;
    type Client = Client;
    type Alone = AloneMember;

    /// A leader looks for leases that have run out now and then.
    fn tick(_: &Timing) -> Duration {
        EXPIRY_CHECK
    }

    fn server(cluster: &Cluster, number: u32) -> Server {
        Server::new(number, cluster.servers(), ElectionTiming::of(cluster.ttl))
    }

    fn alone() -> AloneMember {
        AloneMember::default()
    }

    fn driver(settings: ClientSettings) -> EtcdDriver {
        EtcdDriver::new(settings.servers, settings.rng)
    }

    fn client(link: Rc<dyn Link<Self>>, _: &Topology) -> Client {
        Client::new(link)
    }

    fn needs(_: &Topology) -> Result<&'static [Need], &'static str> {
        Ok(&[Need { what: "etcd", package: "etcd-server" }])
    }

    fn probe(_: &Cluster, _number: u32) -> Probe {
        Probe { send: b"GET /health HTTP/1.0\r\n\r\n", expect: &["\"health\":\"true\""] }
    }

    fn launch(cluster: &Cluster, number: u32, place: &Place) -> Launch {
        let _ = (cluster, number, place);
        Launch { command: Vec::new(), files: Vec::new() }
    }

    #[cfg(feature = "real")]
    fn connect(_: crate::RealSettings) -> crate::Connecting<Self> {
        Box::pin(std::future::ready(Err(crate::ConnectError("not yet".into()))))
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
}
