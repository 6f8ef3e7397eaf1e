//! `clock`: the clocks of a node go wrong while it runs on: a wall clock that is set, an oscillator
//! that drifts, clocks that stand still as in a machine that is being moved.
//!
//! Jumps are of half a ttl to two and a half: beyond that a server forgets every time to live that
//! it keeps by its wall clock, and a client takes every time that it reads for past. What follows
//! one bad time server jumps together. Drifts are what `adjtimex` can do, a tenth at most. That
//! clocks stand still takes more than bad time servers, and is only in the nemesis of that name.

use base::{
    Ability, Action, Cause, ClockChange, Fault, Nemesis, NemesisSpec, Next, Node, Rng,
    ServersNeeded, View,
};
use std::time::Duration;

use crate::aim::{self, Deck};

pub const SET: &[Ability] = &[Ability::ServerClock, Ability::ClientClock];
const BENT: &[Ability] = &[Ability::ServerClockRate, Ability::ClientClockRate];

pub const WRONG: &[Cause] = &[Cause::ServerClock, Cause::ClientClock];

/// Causes that a server brings about whose clock stands still: its clients take it for gone.
const UNHEARD: &[Cause] = &[Cause::ReplyLost, Cause::ReleaseLost, Cause::ClientDied];

pub const CLOCK: NemesisSpec = NemesisSpec {
    name: "clock",
    needs: &[
        Ability::ServerClock,
        Ability::ClientClock,
        Ability::ServerClockRate,
        Ability::ClientClockRate,
    ],
    servers: ServersNeeded::ANY,
    causes: &[WRONG],
    make: || Box::new(ClockFaults::new(&[Wrong::Jump, Wrong::Jump, Wrong::Drift], ALL)),
};

pub const JUMP: NemesisSpec = NemesisSpec {
    name: "clock-jump",
    needs: SET,
    servers: ServersNeeded::ANY,
    causes: &[WRONG],
    make: || Box::new(ClockFaults::new(&[Wrong::Jump], ALL)),
};

pub const JUMP_SERVER: NemesisSpec = NemesisSpec {
    name: "clock-jump-server",
    needs: &[Ability::ServerClock],
    servers: ServersNeeded::ANY,
    causes: &[&[Cause::ServerClock]],
    make: || Box::new(ClockFaults::new(&[Wrong::Jump], &[Aim::Server])),
};

pub const JUMP_CLIENT: NemesisSpec = NemesisSpec {
    name: "clock-jump-client",
    needs: &[Ability::ClientClock],
    servers: ServersNeeded::ANY,
    causes: &[&[Cause::ClientClock]],
    make: || Box::new(ClockFaults::new(&[Wrong::Jump], &[Aim::Holder, Aim::Anybody])),
};

pub const DRIFT: NemesisSpec = NemesisSpec {
    name: "clock-drift",
    needs: BENT,
    servers: ServersNeeded::ANY,
    causes: &[WRONG],
    make: || Box::new(ClockFaults::new(&[Wrong::Drift], ALL)),
};

pub const DRIFT_SERVER: NemesisSpec = NemesisSpec {
    name: "clock-drift-server",
    needs: &[Ability::ServerClockRate],
    servers: ServersNeeded::ANY,
    causes: &[&[Cause::ServerClock]],
    make: || Box::new(ClockFaults::new(&[Wrong::Drift], &[Aim::Server])),
};

pub const FREEZE: NemesisSpec = NemesisSpec {
    name: "clock-freeze",
    needs: BENT,
    servers: ServersNeeded::ANY,
    causes: &[WRONG, UNHEARD],
    make: || Box::new(ClockFaults::new(&[Wrong::Freeze], ALL)),
};

pub const FREEZE_SERVER: NemesisSpec = NemesisSpec {
    name: "clock-freeze-server",
    needs: &[Ability::ServerClockRate],
    servers: ServersNeeded::ANY,
    causes: &[&[Cause::ServerClock], UNHEARD],
    make: || Box::new(ClockFaults::new(&[Wrong::Freeze], &[Aim::Server])),
};

/// A way in which clocks go wrong.
#[derive(Clone, Copy)]
enum Wrong {
    Jump,
    Drift,
    Freeze,
}

/// A choice of nodes whose clocks go wrong.
#[derive(Clone, Copy)]
pub enum Aim {
    /// One server, while a client is in a long hold.
    Server,
    /// All servers at once.
    Servers,
    Holder,
    Anybody,
}

pub const ALL: &[Aim] = &[Aim::Server, Aim::Server, Aim::Servers, Aim::Holder, Aim::Anybody];

struct ClockFaults {
    wrongs: Deck<Wrong>,
    aims: Deck<Aim>,
    next: Option<(Wrong, Aim)>,
    /// Nodes that are hit together with the last one.
    too: Vec<(Node, ClockChange, Duration)>,
}

impl ClockFaults {
    fn new(wrongs: &'static [Wrong], aims: &'static [Aim]) -> Self {
        Self { wrongs: Deck::new(wrongs), aims: Deck::new(aims), next: None, too: Vec::new() }
    }
}

/// The nodes to hit, if the chance is there.
pub fn nodes(aim: Aim, view: &View<'_>, rng: &mut Rng) -> Vec<Node> {
    let long_hold = || aim::long_holder(view, view.ttl / 20..view.ttl / 2).is_some();
    match aim {
        Aim::Server if long_hold() => aim::server(view, rng).into_iter().collect(),
        Aim::Servers if long_hold() => (0..view.server_count()).map(Node::Server).collect(),
        Aim::Server | Aim::Servers => Vec::new(),
        Aim::Holder => aim::holder(view, rng).into_iter().map(Node::Client).collect(),
        Aim::Anybody => aim::anybody(view, rng).into_iter().map(Node::Client).collect(),
    }
}

/// A change to the clocks, and the time for which it lasts.
fn change(wrong: Wrong, view: &View<'_>, rng: &mut Rng) -> (ClockChange, Duration) {
    let lasts = rng.between(view.ttl / 2, view.ttl * 5 / 2);
    let change = match wrong {
        Wrong::Jump => {
            // In tenths of a second, which are easier to read.
            let tenths = rng.between(view.ttl / 2, view.ttl * 5 / 2).as_millis() as i64 / 100 + 1;
            let ahead = rng.chance(0.75);
            ClockChange::Jump(tenths * 100_000_000 * if ahead { 1 } else { -1 })
        }
        Wrong::Drift => {
            let thousands = 10f64.powf(rng.unit() * 2.0) as i32;
            ClockChange::Drift(thousands * 1_000 * if rng.chance(0.5) { 1 } else { -1 })
        }
        Wrong::Freeze => ClockChange::Freeze,
    };
    (change, lasts)
}

fn inject((node, change, lasts): (Node, ClockChange, Duration)) -> Next {
    Next::Inject { fault: Fault::at(node, Action::Clock(change)), lasts }
}

impl Nemesis for ClockFaults {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if let Some(hit) = self.too.pop() {
            return inject(hit);
        }
        if view.active > 0 {
            return Next::Watch;
        }
        let Some((wrong, aim)) = self.next else {
            self.next = Some((self.wrongs.draw(rng), self.aims.draw(rng)));
            return Next::At(aim::gap(view, rng));
        };
        let nodes = nodes(aim, view, rng);
        if nodes.is_empty() {
            return Next::At(view.now + view.ttl / 50);
        }
        self.next = None;
        let (change, lasts) = change(wrong, view, rng);
        self.too = nodes.into_iter().map(|node| (node, change, lasts)).collect();
        self.too.pop().map_or(Next::Watch, inject)
    }
}
