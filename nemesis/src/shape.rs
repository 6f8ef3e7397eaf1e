//! Partitions with a shape: halves, a ring of majorities, a bridge, and a group of clients.
//!
//! **Source.** Jepsen's `partition-halves`, `majorities-ring` and `bridge`. There only servers are
//! cut, since its clients are beside them; here half of the clients are on either side of a cut in
//! halves.

use base::{
    Ability, Action, Cause, Fault, Nemesis, NemesisSpec, Next, Node, Rng, ServersNeeded, View,
};

use crate::{aim, partition};

const CAUSES: &[&[Cause]] = &[partition::OF_CLIENTS, partition::OF_SERVERS];

pub const HALVES: NemesisSpec = NemesisSpec {
    name: "partition-halves",
    needs: &[Ability::Cut],
    servers: ServersNeeded { least: 2, peers: false },
    causes: CAUSES,
    make: || Box::new(Shaped::new(halves)),
};

pub const RING: NemesisSpec = NemesisSpec {
    name: "partition-ring",
    needs: &[Ability::CutServers],
    servers: ServersNeeded { least: 5, peers: true },
    causes: CAUSES,
    make: || Box::new(Shaped::new(ring)),
};

pub const BRIDGE: NemesisSpec = NemesisSpec {
    name: "partition-bridge",
    needs: &[Ability::CutServers],
    servers: ServersNeeded { least: 3, peers: true },
    causes: CAUSES,
    make: || Box::new(Shaped::new(bridge)),
};

pub const GROUP: NemesisSpec = NemesisSpec {
    name: "partition-group",
    needs: &[Ability::Cut],
    servers: ServersNeeded::ANY,
    causes: &[partition::OF_CLIENTS],
    make: || Box::new(Shaped::new(group)),
};

type Links = Vec<(Node, Node)>;

/// A partition of one shape, drawn anew each time.
struct Shaped {
    draw: fn(&View<'_>, &mut Rng) -> Links,
    /// True while the gap before the next one lasts.
    due: bool,
}

impl Shaped {
    const fn new(draw: fn(&View<'_>, &mut Rng) -> Links) -> Self {
        Self { draw, due: false }
    }
}

impl Nemesis for Shaped {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if view.active > 0 {
            return Next::Watch;
        }
        self.due = !self.due;
        if self.due {
            return Next::At(aim::gap(view, rng));
        }
        let fault = Fault::over((self.draw)(view, rng), Action::Cut(partition::direction(rng)));
        Next::Inject { fault, lasts: rng.between(view.ttl, view.ttl * 5 / 2) }
    }
}

/// The servers in a random order.
fn shuffled(view: &View<'_>, rng: &mut Rng) -> Vec<u32> {
    shuffle(view.server_count(), rng)
}

/// The numbers below this one, in a random order.
fn shuffle(count: u32, rng: &mut Rng) -> Vec<u32> {
    let mut left: Vec<u32> = (0..count).collect();
    let mut draw = |left: &mut Vec<u32>| left.swap_remove(rng.below(left.len() as u64) as usize);
    (0..count).map(|_| draw(&mut left)).collect()
}

/// All pairs of a node of one side and a node of the other.
fn between(one: &[Node], other: &[Node]) -> impl Iterator<Item = (Node, Node)> {
    one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b)))
}

fn servers(numbers: &[u32]) -> Vec<Node> {
    numbers.iter().copied().map(Node::Server).collect()
}

fn clients(numbers: &[u32]) -> Vec<Node> {
    numbers.iter().copied().map(Node::Client).collect()
}

fn halves(view: &View<'_>, rng: &mut Rng) -> Links {
    let (all, shuffled_clients) = (shuffled(view, rng), shuffle(view.clients.len() as u32, rng));
    let (few, many) = all.split_at(all.len() / 2);
    let (left, right) = shuffled_clients.split_at(shuffled_clients.len() / 2);
    let ((few, many), (left, right)) =
        ((servers(few), servers(many)), (clients(left), clients(right)));
    let peers = between(&few, &many).filter(|_| view.peers);
    peers.chain(between(&left, &many)).chain(between(&few, &right)).collect()
}

/// Each server keeps its neighbours in a ring on both sides, as many as make a majority with
/// itself.
fn ring(view: &View<'_>, rng: &mut Rng) -> Links {
    let all = shuffled(view, rng);
    let reach = (all.len() / 2).div_ceil(2);
    let apart = |a: usize, b: usize| (b - a).min(all.len() - (b - a)) > reach;
    let pairs = (0..all.len()).flat_map(|a| (a + 1..all.len()).map(move |b| (a, b)));
    let cut = pairs.filter(|(a, b)| apart(*a, *b));
    cut.map(|(a, b)| (Node::Server(all[a]), Node::Server(all[b]))).collect()
}

fn bridge(view: &View<'_>, rng: &mut Rng) -> Links {
    let all = servers(&shuffled(view, rng));
    let (few, rest) = all.split_at((all.len() - 1) / 2);
    between(few, &rest[1..]).collect()
}

fn group(view: &View<'_>, rng: &mut Rng) -> Links {
    let shuffled_clients = shuffle(view.clients.len() as u32, rng);
    let all: Vec<u32> = (0..view.server_count()).collect();
    between(&clients(&shuffled_clients[..shuffled_clients.len().div_ceil(2)]), &servers(&all))
        .collect()
}
