//! `partition`: links hold what is sent over them and deliver it late, as TCP does.
//!
//! A client is cut from what the lock guards, from some or all of its servers, or a server from its
//! peers, both ways or one way, for half a ttl to two and a half; a holder for longer than its ttl.

use std::time::Duration;

use base::{
    Ability, Action, Cause, Direction, Fault, Nemesis, NemesisSpec, Next, Node, Rng, ServersNeeded,
    View,
};

use crate::aim::{self, Deck};

pub(crate) const OF_CLIENTS: &[Cause] = &[
    Cause::HolderCutOff,
    Cause::LateGrant,
    Cause::LateRequest,
    Cause::ReplyLost,
    Cause::ReleaseLost,
    Cause::ClientDied,
];
pub(crate) const OF_SERVERS: &[Cause] =
    &[Cause::ServerForgets, Cause::ServersApart, Cause::ShortSession, Cause::ServerSilent];

pub const PARTITION: NemesisSpec = NemesisSpec {
    name: "partition",
    needs: &[Ability::Cut, Ability::CutServers],
    servers: ServersNeeded::ANY,
    causes: &[OF_CLIENTS, OF_SERVERS],
    make: || Box::new(Partition::new(ALL)),
};

pub const CLIENT: NemesisSpec = NemesisSpec {
    name: "partition-client",
    needs: &[Ability::Cut],
    servers: ServersNeeded::ANY,
    causes: &[OF_CLIENTS],
    make: || Box::new(Partition::new(CLIENTS)),
};

pub const SERVER: NemesisSpec = NemesisSpec {
    name: "partition-server",
    needs: &[Ability::CutServers],
    servers: ServersNeeded::ANY,
    causes: &[OF_CLIENTS, OF_SERVERS],
    make: || Box::new(Partition::new(SERVERS)),
};

pub const VAULT: NemesisSpec = NemesisSpec {
    name: "partition-vault",
    needs: &[Ability::Vault],
    servers: ServersNeeded::ANY,
    causes: &[&[Cause::WriteDelayed]],
    make: || Box::new(Partition::new(&[Aim::Vault])),
};

/// The target of the next cut.
#[derive(Clone, Copy)]
enum Aim {
    /// A client in the middle of a long hold, for longer than its ttl: will it stop in time?
    Holder,
    Anybody,
    Server,
    /// A holder, and only from what the lock guards.
    Vault,
}

type CutLinks = Vec<(Node, Node)>;

const CLIENTS: &[Aim] = &[Aim::Holder, Aim::Holder, Aim::Anybody];
const SERVERS: &[Aim] = &[Aim::Server];
const ALL: &[Aim] = &[Aim::Holder, Aim::Holder, Aim::Anybody, Aim::Server, Aim::Server];

struct Partition {
    aims: Deck<Aim>,
    aim: Option<Aim>,
}

impl Partition {
    fn new(aims: &'static [Aim]) -> Self {
        Self { aims: Deck::new(aims), aim: None }
    }

    /// The links to cut, and the least number of ttls for which to cut them.
    fn links(aim: Aim, view: &View<'_>, rng: &mut Rng) -> Option<(CutLinks, f64)> {
        match aim {
            Aim::Holder => {
                let client_number = aim::long_holder(view, view.ttl / 10..Duration::MAX)?;
                Some((client(client_number, None, view), 1.25))
            }
            Aim::Anybody => {
                let client_number = aim::anybody(view, rng)?;
                let only =
                    rng.chance(0.5).then(|| rng.below(u64::from(view.server_count())) as u32);
                Some((client(client_number, only, view), 0.5))
            }
            Aim::Server => Some((server(view, rng), 0.5)),
            Aim::Vault => {
                let client_number = aim::holder(view, rng)?;
                Some((vec![(Node::Client(client_number), Node::Vault)], 1.25))
            }
        }
    }
}

/// The links of a client to all servers, or to one.
fn client(client_number: u32, only: Option<u32>, view: &View<'_>) -> CutLinks {
    let servers = (0..view.server_count()).filter(|n| only.is_none_or(|only| only == *n));
    servers.map(|n| (Node::Client(client_number), Node::Server(n))).collect()
}

/// The links of a server to all its peers; without peers to talk to, to all clients.
pub(crate) fn server(view: &View<'_>, rng: &mut Rng) -> CutLinks {
    let cut = rng.below(u64::from(view.server_count())) as u32;
    if !view.peers {
        let clients = 0..view.clients.len() as u32;
        return clients
            .map(|client_number| (Node::Client(client_number), Node::Server(cut)))
            .collect();
    }
    let peers = (0..view.server_count()).filter(|n| *n != cut);
    peers.map(|n| (Node::Server(cut), Node::Server(n))).collect()
}

impl Nemesis for Partition {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        let Some(aim) = self.aim else {
            self.aim = Some(self.aims.draw(rng));
            return Next::At(aim::gap(view, rng));
        };
        let Some((links, least)) = Self::links(aim, view, rng) else {
            return Next::At(view.now + view.ttl / 50);
        };
        self.aim = None;
        let cut = Action::Cut(direction(rng));
        let lasts = rng.between(view.ttl.mul_f64(least), view.ttl * 5 / 2);
        Next::Inject { fault: Fault::over(links, cut), lasts }
    }
}

/// Draws a direction: both in half of all cases.
pub fn direction(rng: &mut Rng) -> Direction {
    match rng.below(4) {
        0 => Direction::Forward,
        1 => Direction::Backward,
        _ => Direction::Both,
    }
}
