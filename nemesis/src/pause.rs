//! `pause`: a node stops running and notices nothing, as in a long garbage collection or a
//! suspended machine. Clients are paused for longer than the ttl, preferably while they hold.

use base::{Fault, Nemesis, NemesisSpec, Next, Node, Rng, View};

use crate::aim;

pub const PAUSE: NemesisSpec = NemesisSpec {
    name: "pause",
    summary: "pauses clients past the ttl, preferring the holder, and now and then a server",
    make: || Box::new(Pause::new(0.2)),
};

pub const CLIENT: NemesisSpec = NemesisSpec {
    name: "pause-client",
    summary: "pauses clients past the ttl, preferring the holder",
    make: || Box::new(Pause::new(0.0)),
};

pub const SERVER: NemesisSpec = NemesisSpec {
    name: "pause-server",
    summary: "pauses servers, for up to two and a half ttls",
    make: || Box::new(Pause::new(1.0)),
};

/// What the next pause hits.
#[derive(Clone, Copy)]
enum Aim {
    Holder,
    Anybody,
    Server,
}

struct Pause {
    /// The share of pauses that hit a server.
    servers: f64,
    aim: Option<Aim>,
}

impl Pause {
    fn new(servers: f64) -> Self {
        Self { servers, aim: None }
    }

    fn draw(&self, rng: &mut Rng) -> Aim {
        if rng.chance(self.servers) {
            Aim::Server
        } else if rng.chance(0.9) {
            Aim::Holder
        } else {
            Aim::Anybody
        }
    }
}

impl Nemesis for Pause {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        let Some(aim) = self.aim else {
            self.aim = Some(self.draw(rng));
            return Next::At(aim::gap(view, rng));
        };
        let (node, shortest) = match aim {
            Aim::Holder => (aim::holder(view, rng).map(Node::Client), view.ttl * 5 / 4),
            Aim::Anybody => (aim::anybody(view, rng).map(Node::Client), view.ttl * 5 / 4),
            Aim::Server => (aim::server(view, rng), view.ttl / 4),
        };
        let Some(node) = node else { return Next::Watch };
        self.aim = None;
        let lasts = rng.between(shortest, view.ttl * 5 / 2);
        Next::Inject { fault: Fault::Pause { node }, lasts }
    }
}
