//! `crash`: a node dies without a word (SIGKILL, `docker kill`) and is started again.
//!
//! Clients die while they hold, or in an open acquire to which a server has just replied: between
//! two commands of a recipe, where a slow link leaves time for it. Servers die one at a time.

use base::{Data, Fault, Nemesis, NemesisSpec, Next, Node, Rng, View};

use crate::aim;

pub const CRASH: NemesisSpec = NemesisSpec {
    name: "crash",
    summary: "kills clients (the holder, or in an open acquire) and servers, which keep their data",
    make: || Box::new(Crash::new(0.25, Data::Kept)),
};

pub const CLIENT: NemesisSpec = NemesisSpec {
    name: "crash-client",
    summary: "kills clients: the holder, or in an open acquire after a server's reply",
    make: || Box::new(Crash::new(0.0, Data::Kept)),
};

pub const SERVER: NemesisSpec = NemesisSpec {
    name: "crash-server",
    summary: "kills servers, one at a time; they come back with their data",
    make: || Box::new(Crash::new(1.0, Data::Kept)),
};

pub const SERVER_LOSE_DATA: NemesisSpec = NemesisSpec {
    name: "crash-server-lose-data",
    summary: "kills servers during long holds; they come back at once, without their data",
    make: || Box::new(Crash::new(1.0, Data::Lost)),
};

/// What the next crash hits.
#[derive(Clone, Copy)]
enum Aim {
    Holder,
    HalfGranted,
    Server,
}

struct Crash {
    /// The share of crashes that hit a server.
    servers: f64,
    data: Data,
    aim: Option<Aim>,
}

impl Crash {
    fn new(servers: f64, data: Data) -> Self {
        Self { servers, data, aim: None }
    }

    fn draw(&self, rng: &mut Rng) -> Aim {
        if rng.chance(self.servers) {
            Aim::Server
        } else if rng.chance(0.4) {
            Aim::Holder
        } else {
            Aim::HalfGranted
        }
    }

    fn client(seat: u32, view: &View<'_>, rng: &mut Rng) -> Next {
        let fault = Fault::Crash { node: Node::Client(seat), data: Data::Lost };
        Next::Inject { fault, lasts: rng.between(view.ttl / 20, view.ttl / 2) }
    }

    /// A server that loses its data must be back while somebody still holds, so it dies early in a
    /// long hold and stays down for as short a time as can be.
    fn server(&self, view: &View<'_>, rng: &mut Rng) -> Next {
        let node = Node::Server(rng.below(u64::from(view.servers)) as u32);
        let fault = Fault::Crash { node, data: self.data };
        match self.data {
            Data::Kept => Next::Inject { fault, lasts: rng.between(view.ttl / 10, view.ttl * 2) },
            Data::Lost => match aim::long_holder(view, view.ttl / 20) {
                Some(_) => Next::Inject { fault, lasts: view.ttl / 50 },
                None => Next::At(view.now + view.ttl / 50),
            },
        }
    }
}

impl Nemesis for Crash {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        let Some(aim) = self.aim else {
            self.aim = Some(self.draw(rng));
            return Next::At(aim::gap(view, rng));
        };
        let next = match aim {
            Aim::Server => self.server(view, rng),
            Aim::Holder => match aim::holder(view, rng) {
                Some(seat) => Self::client(seat, view, rng),
                None => Next::Watch,
            },
            Aim::HalfGranted => match aim::half_granted(view) {
                Some(seat) => Self::client(seat, view, rng),
                None => Next::Watch,
            },
        };
        if matches!(next, Next::Inject { .. }) {
            self.aim = None;
        }
        next
    }
}
