//! `link`: connections between a client and its servers break, are refused, slow or throttled;
//! exactly one request or one reply is lost, which is the case that a client must not guess about:
//! it was carried out, or it was not.
//!
//! Unlike with a cut (`partition`), which TCP sits out, the client notices at once.

use base::{
    Ability, Action, Cause, Fault, LinkFault, Nemesis, NemesisSpec, Next, Node, Rng, ServersNeeded,
    View,
};
use std::time::Duration;

use crate::aim::{self, Deck};
use crate::partition::{self, OF_CLIENTS, OF_SERVERS};

const BROKEN: &[Cause] = &[Cause::ReplyLost, Cause::ReleaseLost, Cause::ClientDied];
const SLOWED: &[Cause] = &[Cause::HolderCutOff, Cause::LateGrant, Cause::LateRequest];

pub const LINK: NemesisSpec = NemesisSpec {
    name: "link",
    needs: &[
        Ability::Reset,
        Ability::Refuse,
        Ability::LoseRequest,
        Ability::LoseReply,
        Ability::Slow,
        Ability::Throttle,
    ],
    servers: ServersNeeded::ANY,
    causes: &[BROKEN, SLOWED],
    make: || Box::new(DisturbedLinks::new(ALL)),
};

pub const RESET: NemesisSpec = NemesisSpec {
    name: "link-reset",
    needs: &[Ability::Reset],
    servers: ServersNeeded::ANY,
    causes: &[BROKEN],
    make: || Box::new(DisturbedLinks::new(&[LinkFaultKind::Reset])),
};

pub const REFUSE: NemesisSpec = NemesisSpec {
    name: "link-refuse",
    needs: &[Ability::Reset, Ability::Refuse],
    servers: ServersNeeded::ANY,
    causes: &[BROKEN, &[Cause::HolderCutOff]],
    make: || Box::new(DisturbedLinks::new(&[LinkFaultKind::Refuse])),
};

pub const LOSE_REQUEST: NemesisSpec = NemesisSpec {
    name: "link-lose-request",
    needs: &[Ability::LoseRequest],
    servers: ServersNeeded::ANY,
    causes: &[BROKEN],
    make: || Box::new(DisturbedLinks::new(&[LinkFaultKind::LoseRequest])),
};

pub const LOSE_REPLY: NemesisSpec = NemesisSpec {
    name: "link-lose-reply",
    needs: &[Ability::LoseReply],
    servers: ServersNeeded::ANY,
    causes: &[BROKEN],
    make: || Box::new(DisturbedLinks::new(&[LinkFaultKind::LoseReply])),
};

pub const SLOW: NemesisSpec = NemesisSpec {
    name: "link-slow",
    needs: &[Ability::Slow],
    servers: ServersNeeded::ANY,
    causes: &[BROKEN, SLOWED],
    make: || Box::new(DisturbedLinks::new(&[LinkFaultKind::Slow])),
};

pub const JITTER: NemesisSpec = NemesisSpec {
    name: "link-jitter",
    needs: &[Ability::Jitter],
    servers: ServersNeeded::ANY,
    causes: &[BROKEN, SLOWED],
    make: || Box::new(DisturbedLinks::new(&[LinkFaultKind::Jitter])),
};

pub const THROTTLE: NemesisSpec = NemesisSpec {
    name: "link-throttle",
    needs: &[Ability::Throttle],
    servers: ServersNeeded::ANY,
    causes: &[BROKEN, SLOWED],
    make: || Box::new(DisturbedLinks::new(&[LinkFaultKind::Throttle])),
};

pub const VAULT: NemesisSpec = NemesisSpec {
    name: "link-vault",
    needs: &[Ability::Vault],
    servers: ServersNeeded::ANY,
    causes: &[&[Cause::WriteDelayed]],
    make: || {
        Box::new(DisturbedLinks {
            to_vault: true,
            aims: Deck::new(&[Aim::Holder]),
            ..DisturbedLinks::new(ALL)
        })
    },
};

pub const SERVER: NemesisSpec = NemesisSpec {
    name: "link-server",
    needs: &[Ability::DelayServers],
    servers: ServersNeeded { least: 2, peers: true },
    causes: &[OF_CLIENTS, OF_SERVERS],
    make: || Box::new(LaggingServers { kinds: Deck::new(DELAYS), next: None }),
};

/// A disturbance of connections.
#[derive(Clone, Copy)]
enum LinkFaultKind {
    Reset,
    Refuse,
    LoseRequest,
    LoseReply,
    Slow,
    Jitter,
    Throttle,
}

/// A choice of the client whose links are disturbed.
#[derive(Clone, Copy)]
enum Aim {
    Holder,
    Asking,
    /// Whoever gets the lock next, if a reply is to be lost: that of the grant.
    Next,
    Anybody,
}

const ALL: &[LinkFaultKind] = &[
    LinkFaultKind::Reset,
    LinkFaultKind::Refuse,
    LinkFaultKind::LoseRequest,
    LinkFaultKind::LoseReply,
    LinkFaultKind::LoseReply,
    LinkFaultKind::Slow,
    LinkFaultKind::Throttle,
];
const DELAYS: &[LinkFaultKind] =
    &[LinkFaultKind::Slow, LinkFaultKind::Jitter, LinkFaultKind::Throttle];
const AIMS: &[Aim] = &[Aim::Asking, Aim::Next, Aim::Holder, Aim::Anybody];

struct DisturbedLinks {
    kinds: Deck<LinkFaultKind>,
    aims: Deck<Aim>,
    next: Option<(LinkFaultKind, Aim)>,
    /// A client whose connections are to be reset right away, so that it needs new ones.
    reset: Option<u32>,
    /// True if it disturbs connections to the vault.
    to_vault: bool,
}

impl DisturbedLinks {
    fn new(kinds: &'static [LinkFaultKind]) -> Self {
        let (kinds, aims) = (Deck::new(kinds), Deck::new(AIMS));
        Self { kinds, aims, next: None, reset: None, to_vault: false }
    }

    fn fault(&self, clients: &[u32], link_fault: LinkFault, view: &View<'_>) -> Fault {
        let ends = match self.to_vault {
            true => vec![Node::Vault],
            false => (0..view.server_count()).map(Node::Server).collect(),
        };
        let links =
            clients.iter().flat_map(|client| ends.iter().map(|end| (Node::Client(*client), *end)));
        Fault::over(links.collect(), Action::Link(link_fault))
    }
}

/// The next disturbance, and the time for which it lasts. One that strikes once waits so long for
/// its chance.
fn draw(kind: LinkFaultKind, view: &View<'_>, rng: &mut Rng) -> (LinkFault, Duration) {
    let once = view.ttl / 2;
    let while_ = rng.between(view.ttl / 2, view.ttl * 5 / 2);
    match kind {
        LinkFaultKind::Reset => (LinkFault::Reset, view.ttl / 50),
        LinkFaultKind::Refuse => (LinkFault::Refuse, while_),
        LinkFaultKind::LoseRequest => (LinkFault::LoseRequest, once),
        LinkFaultKind::LoseReply => (LinkFault::LoseReply, once),
        LinkFaultKind::Slow => (LinkFault::Slow(1 << (1 + rng.below(6))), while_),
        LinkFaultKind::Jitter => {
            let most = view.ttl / (4 << rng.below(5));
            (LinkFault::Jitter(most.as_micros() as u32), while_)
        }
        LinkFaultKind::Throttle => {
            (LinkFault::Throttle(bandwidth(LEAST << rng.below(5), view.ttl)), while_)
        }
    }
}

/// The packets a ttl of the narrowest link.
const LEAST: u64 = 10;

/// The bytes a second of the narrowest link, of which those of the others are multiples.
pub fn least_bandwidth(ttl: Duration) -> u32 {
    bandwidth(LEAST, ttl)
}

/// The bytes a second of a link that carries so many packets a ttl.
fn bandwidth(packets: u64, ttl: Duration) -> u32 {
    (LinkFault::PACKET as f64 * packets as f64 / ttl.as_secs_f64()).ceil() as u32
}

impl Nemesis for DisturbedLinks {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if let Some(client) = self.reset.take() {
            let (link_fault, lasts) = draw(LinkFaultKind::Reset, view, rng);
            return Next::Also { fault: self.fault(&[client], link_fault, view), lasts };
        }
        if view.active > 0 {
            return Next::Watch;
        }
        let Some((what, aim)) = self.next else {
            self.next = Some((self.kinds.draw(rng), self.aims.draw(rng)));
            return Next::At(aim::gap(view, rng));
        };
        let clients = match aim {
            Aim::Next if matches!(what, LinkFaultKind::LoseReply) => aim::asking_while_free(view),
            Aim::Holder => aim::holder(view, rng).into_iter().collect(),
            Aim::Asking | Aim::Next => aim::asking(view, rng).into_iter().collect(),
            Aim::Anybody => aim::anybody(view, rng).into_iter().collect(),
        };
        let Some(client) = clients.first() else { return Next::Watch };
        self.next = None;
        if matches!(what, LinkFaultKind::Refuse) {
            self.reset = Some(*client);
        }
        let (link_fault, lasts) = draw(what, view, rng);
        Next::Inject { fault: self.fault(&clients, link_fault, view), lasts }
    }
}

/// About the time that a message takes from one server to another.
const USUAL: Duration = Duration::from_micros(300);

/// Delays what one server and its peers send each other: replicas lag, votes and heartbeats come
/// late.
struct LaggingServers {
    kinds: Deck<LinkFaultKind>,
    next: Option<LinkFaultKind>,
}

impl LaggingServers {
    /// Draws the delay: up to an eighth of a ttl, and bandwidths that carry what the servers of an
    /// idle store send each other. What is slower than that ends sessions that nobody knows to be
    /// over, by design.
    fn draw(kind: LinkFaultKind, view: &View<'_>, rng: &mut Rng) -> (LinkFault, Duration) {
        let delay = view.ttl / (8 << rng.below(4));
        match draw(kind, view, rng) {
            (LinkFault::Slow(_), lasts) => {
                (LinkFault::Slow((delay.as_micros() / USUAL.as_micros()) as u32), lasts)
            }
            (LinkFault::Jitter(_), lasts) => (LinkFault::Jitter(delay.as_micros() as u32), lasts),
            (LinkFault::Throttle(rate), lasts) => (LinkFault::Throttle(rate * 8), lasts),
            other => other,
        }
    }
}

impl Nemesis for LaggingServers {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        let Some(kind) = self.next.take() else {
            self.next = Some(self.kinds.draw(rng));
            return Next::At(aim::gap(view, rng));
        };
        let (link_fault, lasts) = Self::draw(kind, view, rng);
        let links = partition::server(view, rng);
        Next::Inject { fault: Fault::over(links, Action::Link(link_fault)), lasts }
    }
}
