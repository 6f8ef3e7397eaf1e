//! The links between servers that talk to each other: a link proxy for each port of each server,
//! and for each server that connects to it.

use super::front::Front;
use super::socks::Socks;
use base::{BackendError, Direction, Rng};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Weak;
use stores::Endpoint;
use testbed::broken;
use testbed::callers::ClientEntrances;
use testbed::link_proxy::{Delay, HeldDirection, LinkProxy};

/// The links between the servers of a run.
pub struct Peers {
    /// The links, by who connects and to whom.
    links: BTreeMap<(u32, u32), Vec<PeerLink>>,
    /// The ports at which all others know each server, where they tell each other of third ones.
    fronts: Vec<Vec<Front>>,
    /// The proxies through which they call each other, where they do not.
    proxies: Vec<Socks>,
}

/// A link to one port of a server.
struct PeerLink {
    proxy: LinkProxy,
    target: SocketAddr,
}

impl Peers {
    /// Opens the links to servers with these ports, by number.
    pub fn open(ports: &[Vec<u16>]) -> Result<Self, BackendError> {
        let mut links = BTreeMap::new();
        let count = ports.len() as u32;
        for (to, ports) in (0..count).zip(ports) {
            for from in (0..count).filter(|from| *from != to) {
                let link: io::Result<_> = ports.iter().map(|port| PeerLink::open(*port)).collect();
                links.insert((from, to), link.map_err(no_link)?);
            }
        }
        Ok(Self { links, fronts: Vec::new(), proxies: Vec::new() })
    }

    /// Opens, for each port of each server, one at which all others know it. They have their
    /// folders in this one.
    pub fn with_fronts(mut self, ports: &[Vec<u16>], folder: &Path) -> Result<Self, BackendError> {
        let count = ports.len() as u32;
        let front = |to: u32, place: usize| {
            let callers = (0..count).filter(|from| *from != to);
            let entrance = |from| (from, self.links[&(from, to)][place].proxy.entrance());
            Front::open(to, callers.map(entrance).collect(), folder)
        };
        let fronts_of =
            |to: u32| (0..ports[to as usize].len()).map(|place| front(to, place)).collect();
        self.fronts = (0..count).map(fronts_of).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The ports at which all others know a server.
    pub fn fronts(&self, server: u32) -> Vec<u16> {
        self.fronts[server as usize].iter().map(Front::number).collect()
    }

    /// Leads clients that call a server at the first of these ports to their own links.
    pub fn lead(&self, clients: &Weak<dyn ClientEntrances>) {
        for front in self.fronts.iter().filter_map(|fronts| fronts.first()) {
            front.lead(clients.clone());
        }
    }

    /// Opens, for each server, a proxy that takes its calls of the others to their links.
    pub fn with_proxies(mut self) -> Result<Self, BackendError> {
        let servers: BTreeSet<u32> = self.links.keys().map(|(from, _)| *from).collect();
        let of = |server: u32| {
            let own = self.links.iter().filter(|((from, _), _)| *from == server);
            let ports = |link: &PeerLink| (link.target.port(), link.proxy.address().port());
            Socks::open(own.flat_map(|(_, links)| links).map(ports).collect())
        };
        self.proxies = servers.into_iter().map(of).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The port of the proxy of a server, if there is one.
    pub fn proxy(&self, server: u32) -> Option<u16> {
        self.proxies.get(server as usize).map(Socks::port)
    }

    /// Holds what a pair of servers sends to each other, in this direction.
    pub fn hold(&self, (a, b): (u32, u32), direction: Direction) -> Vec<HeldDirection> {
        let to_b = self.between(a, b).map(|link| link.proxy.hold(direction));
        let to_a = self.between(b, a).map(|link| link.proxy.hold(direction.reversed()));
        to_b.chain(to_a).collect()
    }

    /// Holds all that one server sends and is sent.
    pub fn hold_all(&self, server: u32) -> Vec<HeldDirection> {
        self.of(server).map(|link| link.proxy.hold(Direction::Both)).collect()
    }

    /// Breaks all connections of a server.
    pub fn reset(&self, server: u32) {
        self.of(server).for_each(|link| _ = link.proxy.reset());
    }

    /// Makes the links to a server lead to it.
    pub fn aim(&self, server: u32) -> Result<(), BackendError> {
        let mut links = self.to(server);
        links
            .try_for_each(|link| link.proxy.set_target(Some(Endpoint::without_login(link.target))))
            .map_err(no_link)
    }

    /// Makes the links to a server refuse connections, as its machine does while it is down.
    pub fn loosen(&self, server: u32) -> Result<(), BackendError> {
        self.to(server).try_for_each(|link| link.proxy.set_target(None)).map_err(no_link)
    }

    /// The links between two servers, of both ways.
    pub fn both_ways(&self, a: u32, b: u32) -> impl Iterator<Item = &LinkProxy> {
        self.between(a, b).chain(self.between(b, a)).map(|link| &link.proxy)
    }

    fn between(&self, from: u32, to: u32) -> impl Iterator<Item = &PeerLink> {
        self.links.get(&(from, to)).into_iter().flatten()
    }

    fn to(&self, server: u32) -> impl Iterator<Item = &PeerLink> {
        self.links.iter().filter(move |((_, to), _)| *to == server).flat_map(|(_, links)| links)
    }

    fn of(&self, server: u32) -> impl Iterator<Item = &PeerLink> {
        let of = move |(from, to): (u32, u32)| from == server || to == server;
        self.links.iter().filter(move |(pair, _)| of(**pair)).flat_map(|(_, links)| links)
    }
}

impl PeerLink {
    fn open(port: u16) -> io::Result<Self> {
        // Nothing is drawn without a delay.
        let proxy = LinkProxy::open(Delay::default(), Rng::new(0), |_| false, Box::new(()))?;
        Ok(Self { proxy, target: (Ipv4Addr::LOCALHOST, port).into() })
    }
}

fn no_link(error: io::Error) -> BackendError {
    broken("cannot open a link between servers", error)
}
