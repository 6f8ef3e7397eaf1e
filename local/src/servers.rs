//! All servers of one run.

use super::folder::Folder;
use super::peers::Peers;
use super::port::Port;
use super::server::LocalServer;
use super::{clean, programs};
use base::BackendError;
use futures_util::Stream;
use futures_util::future::{join_all, try_join_all};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stores::{Cluster, Member, Place, StoreId};
use testbed::{CLIENTS, Servers, StartedServer, broken};

/// The servers of a run, as processes.
pub struct LocalServers {
    all: Vec<Arc<LocalServer>>,
    /// The ports on which they listen for each other.
    _peer_ports: Vec<Vec<Port>>,
    _folder: Folder,
}

impl Servers for LocalServers {
    const BACKEND: &'static str = "local";
    /// As often as at the clients: it is the same question to the kernel.
    const LOOKS: Duration = CLIENTS;
    type Server = LocalServer;

    async fn start(
        store: StoreId,
        cluster: Cluster,
        progress: &dyn Fn(&str),
    ) -> Result<Self, BackendError> {
        clean::remove_abandoned().await;
        programs::check(store, cluster.topology)?;
        let count = cluster.servers();
        progress(&format!("starting {count} server{}", if count == 1 { "" } else { "s" }));
        let folder = Folder::make()?;
        let peer_ports = peer_ports(store, &cluster)?;
        let numbers: Vec<Vec<u16>> =
            peer_ports.iter().map(|ports| ports.iter().map(Port::number).collect()).collect();
        let making = Making { store, cluster, peers: Arc::new(Peers::open(&numbers)?), numbers };
        let start = |number| making.start(number, folder.path()).map(Arc::new);
        let all = (0..count).map(start).collect::<Result<Vec<_>, _>>()?;
        let servers = Self { all, _peer_ports: peer_ports, _folder: folder };
        match try_join_all(servers.all.iter().map(|server| server.until_serving())).await {
            Ok(_) => Ok(servers),
            Err(error) => {
                servers.remove().await?;
                Err(error)
            }
        }
    }

    fn all(&self) -> &[Arc<LocalServer>] {
        &self.all
    }

    /// Nothing: what is done to a process has to be asked for.
    fn reports(&self) -> impl Stream<Item = String> + Send + 'static {
        futures_util::stream::empty()
    }

    async fn remove(self) -> Result<(), BackendError> {
        join_all(self.all.iter().map(|server| server.kill())).await.into_iter().collect()
    }
}

/// The servers in the making.
struct Making {
    store: StoreId,
    cluster: Cluster,
    peers: Arc<Peers>,
    /// The ports on which they listen for each other.
    numbers: Vec<Vec<u16>>,
}

impl Making {
    fn start(&self, number: u32, folder: &Path) -> Result<LocalServer, BackendError> {
        let folder = folder.join(format!("server-{number}"));
        let made = std::fs::create_dir(&folder);
        made.map_err(|e| broken(format!("cannot make the folder `{}`", folder.display()), e))?;
        let port = Port::take(Ipv4Addr::LOCALHOST)?;
        let place = Place {
            data: LocalServer::data(&folder).display().to_string(),
            host: "127.0.0.1",
            port: port.number(),
            members: (0..self.cluster.servers()).map(|other| self.member(number, other)).collect(),
        };
        let launch = self.store.launch(&self.cluster, number, &place);
        let probe = self.store.probe(&self.cluster, number);
        self.peers.aim(number)?;
        LocalServer::start(number, launch, probe, port, folder, self.peers.clone())
    }

    /// A server, as another one names it: by the links that lead there.
    fn member(&self, from: u32, to: u32) -> Member {
        if from != to {
            return Member { host: "127.0.0.1".into(), ports: self.peers.ports(from, to) };
        }
        // A member tells others to call it back at the address by which it names itself; with this
        // one they go on to use their own links.
        Member { host: "0.0.0.0".into(), ports: self.numbers[to as usize].clone() }
    }
}

/// The ports on which the servers listen for each other, at all addresses of this machine.
fn peer_ports(store: StoreId, cluster: &Cluster) -> Result<Vec<Vec<Port>>, BackendError> {
    let of_one = || store.ports().peers.iter().map(|_| Port::take(Ipv4Addr::UNSPECIFIED)).collect();
    (0..cluster.servers()).map(|_| of_one()).collect()
}
