//! `pause`: a node stops running and notices nothing, as in a long garbage collection or a
//! suspended machine. Clients are paused for longer than the ttl, preferably while they hold.

use base::{
    Ability, Action, Cause, Fault, Nemesis, NemesisSpec, Next, Node, Rng, ServersNeeded, View,
};

use crate::aim::{self, Deck};

const NEEDS: &[Ability] = &[Ability::Pause];

const OF_CLIENTS: &[Cause] = &[
    Cause::HolderPaused,
    Cause::LateGrant,
    Cause::LateRequest,
    Cause::ReplyLost,
    Cause::ClientDied,
];
const OF_SERVERS: &[Cause] = &[
    Cause::LateGrant,
    Cause::LateRequest,
    Cause::ReplyLost,
    Cause::ClientDied,
    Cause::ServersApart,
    // Where another server is promoted meanwhile.
    Cause::ReleaseLost,
    Cause::ServerForgets,
    Cause::OnlyServerDown,
    Cause::ShortSession,
    Cause::ServerSilent,
];

pub const PAUSE: NemesisSpec = NemesisSpec {
    name: "pause",
    needs: NEEDS,
    servers: ServersNeeded::ANY,
    causes: &[OF_CLIENTS, OF_SERVERS],
    make: || Box::new(Pause::new(ALL)),
};

pub const CLIENT: NemesisSpec = NemesisSpec {
    name: "pause-client",
    needs: NEEDS,
    servers: ServersNeeded::ANY,
    causes: &[OF_CLIENTS],
    make: || Box::new(Pause::new(CLIENTS)),
};

pub const SERVER: NemesisSpec = NemesisSpec {
    name: "pause-server",
    needs: NEEDS,
    servers: ServersNeeded::ANY,
    causes: &[OF_SERVERS],
    make: || Box::new(Pause::new(SERVERS)),
};

pub const LEADER: NemesisSpec = NemesisSpec {
    name: "pause-leader",
    needs: NEEDS,
    servers: ServersNeeded { least: 3, peers: true },
    causes: &[OF_SERVERS],
    make: || Box::new(Pause::new(&[Aim::Leader])),
};

/// The target of the next pause.
#[derive(Clone, Copy)]
enum Aim {
    Holder,
    Anybody,
    Server,
    /// The server that leads the others.
    Leader,
}

const CLIENTS: &[Aim] = &[Aim::Holder, Aim::Holder, Aim::Holder, Aim::Anybody];
const SERVERS: &[Aim] = &[Aim::Server];
const ALL: &[Aim] = &[Aim::Holder, Aim::Holder, Aim::Holder, Aim::Anybody, Aim::Server];

struct Pause {
    aims: Deck<Aim>,
    aim: Option<Aim>,
}

impl Pause {
    fn new(aims: &'static [Aim]) -> Self {
        Self { aims: Deck::new(aims), aim: None }
    }
}

impl Nemesis for Pause {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        let Some(aim) = self.aim else {
            self.aim = Some(self.aims.draw(rng));
            return Next::At(aim::gap(view, rng));
        };
        let (node, shortest) = match aim {
            Aim::Holder => (aim::holder(view, rng).map(Node::Client), view.ttl * 5 / 4),
            Aim::Anybody => (aim::anybody(view, rng).map(Node::Client), view.ttl * 5 / 4),
            Aim::Server => (aim::server(view, rng), view.ttl / 4),
            Aim::Leader => (aim::leader(view).map(Node::Server), view.ttl / 4),
        };
        let Some(node) = node else {
            return match aim {
                // There is none between two elections.
                Aim::Leader => Next::At(view.now + view.ttl / 50),
                _ => Next::Watch,
            };
        };
        self.aim = None;
        let lasts = rng.between(shortest, view.ttl * 5 / 2);
        Next::Inject { fault: Fault::at(node, Action::Pause), lasts }
    }
    fn looks_at_standings(&self) -> bool {
        self.aims.has(|aim| matches!(aim, Aim::Leader))
    }
}
