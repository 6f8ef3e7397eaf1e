//! All servers of one run.

use super::faked_clock::FakedClock;
use super::folder::Folder;
use super::front::source;
use super::peers::Peers;
use super::port::Port;
use super::server::{LocalServer, ServerSetup};
use super::server_user::ServerUser;
use super::socket_forwarder::SocketForwarder;
use super::{clean, programs};
use async_trait::async_trait;
use base::{Ability, BackendError};
use futures_util::Stream;
use futures_util::future::join_all;
use std::iter::once;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;
use stores::{Cluster, Member, Place, Secrets, StoreId, node_address};
use testbed::callers::ClientEntrances;
use testbed::owner::Certainty;
use testbed::{CLIENTS, Lack, Servers, StartedServer, broken, secrets_of, start_all};

/// The servers of a run, as processes.
pub struct LocalServers {
    all: Vec<Arc<LocalServer>>,
    /// The ports on which they listen for each other.
    _peer_ports: Vec<Vec<Port>>,
    peers: Arc<Peers>,
    secrets: Option<Secrets>,
    _folder: Folder,
}

#[async_trait(?Send)]
impl Servers for LocalServers {
    const BACKEND: &'static str = "local";
    /// As often as at the clients: it is the same question to the kernel.
    const LOOKS: Duration = CLIENTS;
    type Server = LocalServer;

    fn can_set_clocks(store: StoreId, ability: Ability) -> Result<(), Lack> {
        FakedClock::check(store, ability)
    }

    fn can_delay_peers(_: Ability) -> Result<(), Lack> {
        Ok(())
    }

    fn can_lead_programs(_: Ability) -> Result<(), Lack> {
        Ok(())
    }

    fn can_run_servers(_: Ability) -> Result<(), Lack> {
        Ok(())
    }

    async fn start(
        store: StoreId,
        cluster: Cluster,
        progress: &dyn for<'a> Fn(&'a str),
    ) -> Result<Self, BackendError> {
        clean::remove_abandoned(Certainty::Ended).await;
        programs::check(store, cluster.topology)?;
        let count = cluster.servers();
        progress(&format!("starting {count} server{}", if count == 1 { "" } else { "s" }));
        let user = ServerUser::of(store)?;
        let folder = Folder::make()?;
        if let Some(user) = &user {
            user.admit(folder.path())?;
        }
        let peer_ports = peer_ports(store, &cluster)?;
        let numbers: Vec<Vec<u16>> =
            peer_ports.iter().map(|ports| ports.iter().map(Port::number).collect()).collect();
        let tell = !store.advertised_ports(cluster.topology).is_empty();
        let peers = Peers::open(&numbers)?;
        let peers = Arc::new(if tell {
            peers.with_fronts(&numbers, folder.path())?
        } else {
            peers.with_proxies()?
        });
        let secrets = secrets_of(&cluster)?;
        let making = Making { store, cluster, user, peers, numbers, peer_ports, tell, secrets };
        let start = async |number| making.start(number, folder.path());
        let mut all = Vec::new();
        let started = start_all(store, &making.cluster, &mut all, start).await;
        let Making { peer_ports, peers, secrets, .. } = making;
        let servers = Self { all, _peer_ports: peer_ports, peers, secrets, _folder: folder };
        match started {
            Ok(()) => Ok(servers),
            Err(error) => {
                servers.remove().await?;
                Err(error)
            }
        }
    }

    fn all(&self) -> &[Arc<LocalServer>] {
        &self.all
    }

    fn password(&self) -> Option<&str> {
        self.secrets.as_ref().map(|secrets| &*secrets.password)
    }

    fn lead(&self, clients: Weak<dyn ClientEntrances>) {
        self.peers.lead(&clients);
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
    /// The user that they run as, if they cannot be what picklock is.
    user: Option<ServerUser>,
    peers: Arc<Peers>,
    /// The ports on which they listen for each other.
    numbers: Vec<Vec<u16>>,
    peer_ports: Vec<Vec<Port>>,
    /// True if they tell each other the addresses of third ones.
    tell: bool,
    /// The secrets of the servers that have some.
    secrets: Option<Secrets>,
}

impl Making {
    fn start(&self, number: u32, folder: &Path) -> Result<LocalServer, BackendError> {
        let folder = folder.join(format!("server-{number}"));
        let made = std::fs::create_dir(&folder);
        made.map_err(|e| broken(format!("cannot make the folder `{}`", folder.display()), e))?;
        let own = &self.peer_ports[number as usize];
        // The first one that they tell each other is that for clients.
        let port = match own.first().filter(|_| self.tell) {
            Some(port) => port.clone(),
            None => Port::take(Ipv4Addr::LOCALHOST)?,
        };
        let data = LocalServer::data(&folder);
        let sockets = self.store.can_use_sockets();
        let place = Place {
            data: data.display().to_string(),
            host: "127.0.0.1",
            port: port.number(),
            members: (0..self.cluster.servers()).map(|other| self.member(other)).collect(),
            peer_ports: self.numbers[number as usize].clone(),
            source: self.tell.then(|| source(number).to_string()),
            proxy: self.peers.proxy(number),
            sockets,
            secrets: self.secrets.clone(),
        };
        let others = own.iter().filter(|other| other.number() != port.number());
        let ports = once(&port).chain(others).filter(|_| sockets);
        let forwarders = ports.map(|port| SocketForwarder::open(port, &data));
        let launch = self.store.launch(&self.cluster, number, &place);
        let probe = self.store.probe(&self.cluster, number);
        let clock = self.cluster.sets_clocks.then(|| FakedClock::new(self.store, &folder));
        self.peers.aim(number)?;
        LocalServer::start(ServerSetup {
            number,
            launch,
            user: self.user.clone(),
            login: self.secrets.as_ref().and_then(|it| self.store.login(&it.password)),
            probe,
            forwarders: forwarders.collect::<Result<_, _>>()?,
            port,
            folder,
            peers: self.peers.clone(),
            clock: clock.transpose()?,
        })
    }

    /// A server, as all of them name it.
    fn member(&self, number: u32) -> Member {
        match self.tell {
            true => {
                Member { host: node_address(number).to_string(), ports: self.peers.fronts(number) }
            }
            false => {
                let ports = self.numbers[number as usize].clone();
                Member { host: "127.0.0.1".into(), ports }
            }
        }
    }
}

/// The ports on which the servers listen for each other.
fn peer_ports(store: StoreId, cluster: &Cluster) -> Result<Vec<Vec<Port>>, BackendError> {
    let ports = match store.advertised_ports(cluster.topology) {
        [] => store.ports().peers,
        advertised => advertised,
    };
    let of_one = || ports.iter().map(|_| Port::take(Ipv4Addr::LOCALHOST)).collect();
    (0..cluster.servers()).map(|_| of_one()).collect()
}
