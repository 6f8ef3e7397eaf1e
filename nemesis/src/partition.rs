//! `partition`: links hold what is sent over them and deliver it late, as TCP does.
//!
//! A client is cut from some or all of its servers, or a server from its peers, both ways or one
//! way, for half a ttl to two and a half.

use base::{Direction, Fault, Nemesis, NemesisSpec, Next, Node, Rng, View};

use crate::aim;

pub const PARTITION: NemesisSpec = NemesisSpec {
    name: "partition",
    summary: "cuts clients from servers and servers from servers, both ways or one way",
    make: || Box::new(Partition { servers: 0.5, wait: true }),
};

pub const CLIENT: NemesisSpec = NemesisSpec {
    name: "partition-client",
    summary: "cuts clients from servers, preferring the holder",
    make: || Box::new(Partition { servers: 0.0, wait: true }),
};

pub const SERVER: NemesisSpec = NemesisSpec {
    name: "partition-server",
    summary: "cuts a server from its peers; a server without peers is cut from the clients",
    make: || Box::new(Partition { servers: 1.0, wait: true }),
};

struct Partition {
    /// The share of partitions that run between servers.
    servers: f64,
    /// A gap comes before the next fault.
    wait: bool,
}

impl Partition {
    /// A client, the holder in most cases, from all servers or from one.
    fn client(view: &View<'_>, rng: &mut Rng) -> Option<Vec<(Node, Node)>> {
        let holder = rng.chance(0.6).then(|| aim::holder(view, rng)).flatten();
        let seat = holder.or_else(|| aim::anybody(view, rng))?;
        let only = rng.chance(0.2).then(|| rng.below(u64::from(view.servers)) as u32);
        let servers = (0..view.servers).filter(|n| only.is_none_or(|only| only == *n));
        Some(servers.map(|n| (Node::Client(seat), Node::Server(n))).collect())
    }

    /// A server from all its peers; without peers, from all clients.
    fn server(view: &View<'_>, rng: &mut Rng) -> Vec<(Node, Node)> {
        let cut = rng.below(u64::from(view.servers)) as u32;
        if view.servers == 1 {
            let seats = 0..view.clients.len() as u32;
            return seats.map(|seat| (Node::Client(seat), Node::Server(cut))).collect();
        }
        let peers = (0..view.servers).filter(|n| *n != cut);
        peers.map(|n| (Node::Server(cut), Node::Server(n))).collect()
    }
}

impl Nemesis for Partition {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        if std::mem::replace(&mut self.wait, false) {
            return Next::At(aim::gap(view, rng));
        }
        let links = if rng.chance(self.servers) {
            Self::server(view, rng)
        } else {
            let Some(links) = Self::client(view, rng) else { return Next::Watch };
            links
        };
        self.wait = true;
        let direction = match rng.below(4) {
            0 => Direction::Forward,
            1 => Direction::Backward,
            _ => Direction::Both,
        };
        let lasts = rng.between(view.ttl / 2, view.ttl * 5 / 2);
        Next::Inject { fault: Fault::Cut { links, direction }, lasts }
    }
}
