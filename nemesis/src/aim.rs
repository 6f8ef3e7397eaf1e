//! Aims: nodes to hit, chosen by what the clients are doing with the lock.

use base::{ClientState, Mono, Node, Rng, ServerStanding, View};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// The numbers of clients that no fault hits yet and that are in such a state.
fn clients(view: &View<'_>, wanted: impl Fn(&ClientState) -> bool) -> Vec<u32> {
    let hit = |(number, client): (usize, &base::ClientView)| {
        (!client.faulted && wanted(&client.state)).then_some(number as u32)
    };
    view.clients.iter().enumerate().filter_map(hit).collect()
}

/// A client that holds the lock.
pub fn holder(view: &View<'_>, rng: &mut Rng) -> Option<u32> {
    rng.pick(&clients(view, |state| matches!(state, ClientState::Holding { .. }))).copied()
}

/// A client that has asked for the lock and waits.
pub fn asking(view: &View<'_>, rng: &mut Rng) -> Option<u32> {
    rng.pick(&clients(view, |state| matches!(state, ClientState::Acquiring { .. }))).copied()
}

/// The client that has waited longest for the lock.
pub fn next_waiter(view: &View<'_>) -> Option<u32> {
    waiters(view).first().copied()
}

/// A waiter with others before and behind it.
pub fn middle_waiter(view: &View<'_>) -> Option<u32> {
    let waiters = waiters(view);
    waiters.get(waiters.len() / 2).copied().filter(|_| waiters.len() >= 3)
}

/// The clients that wait for the lock, in the order in which they asked.
fn waiters(view: &View<'_>) -> Vec<u32> {
    let since = |client: &u32| match view.clients[*client as usize].state {
        ClientState::Acquiring { since, .. } => Some(since),
        _ => None,
    };
    let mut waiters = clients(view, |state| matches!(state, ClientState::Acquiring { .. }));
    waiters.sort_by_key(since);
    waiters
}

/// A client that has held the lock for so long: it is in what is, most likely, a long hold.
pub fn long_holder(view: &View<'_>, held: Range<Duration>) -> Option<u32> {
    let long = |state: &ClientState| match state {
        ClientState::Holding { since } => held.contains(&view.now.since(*since)),
        _ => false,
    };
    clients(view, long).first().copied()
}

/// The client whose acquire was the first to be answered after a release was: it has got the
/// lock, most likely, and does not know it yet.
pub fn half_granted(view: &View<'_>) -> Option<u32> {
    just_answered(view, free_since(view).filter(|at| *at > Mono::ZERO)?).first().copied()
}

/// A client in an open acquire to which a server has just replied, while nobody is known to hold
/// the lock: it may have got it.
pub fn answered(view: &View<'_>) -> Option<u32> {
    all_answered(view).first().copied()
}

/// The clients that ask for the lock while it is free, as far as is known: one of them gets it.
pub fn asking_while_free(view: &View<'_>) -> Vec<u32> {
    match free_since(view) {
        Some(_) => clients(view, |state| matches!(state, ClientState::Acquiring { .. })),
        None => Vec::new(),
    }
}

/// All of these clients.
pub fn all_answered(view: &View<'_>) -> Vec<u32> {
    free_since(view).map_or_else(Vec::new, |free_since| just_answered(view, free_since))
}

fn just_answered(view: &View<'_>, free_since: Mono) -> Vec<u32> {
    let replied = |state: &ClientState| match state {
        ClientState::Acquiring { last_reply: Some(at), .. } => {
            *at > free_since && view.now.since(*at) <= view.ttl / 100
        }
        _ => false,
    };
    clients(view, replied)
}

/// The time at which a server answered the release that is still on its way back to its client;
/// zero if there is none. `None`: a client holds the lock, or is only about to free it.
fn free_since(view: &View<'_>) -> Option<Mono> {
    let mut since = Mono::ZERO;
    for client in view.clients {
        match client.state {
            ClientState::Holding { .. } | ClientState::Releasing { last_reply: None } => {
                return None;
            }
            ClientState::Releasing { last_reply: Some(at) } => since = since.max(at),
            _ => {}
        }
    }
    Some(since)
}

/// Any client that runs; `None` if there is none.
pub fn anybody(view: &View<'_>, rng: &mut Rng) -> Option<u32> {
    rng.pick(&clients(view, |state| *state != ClientState::Down)).copied()
}

/// Any server; `None` if there is none.
pub fn server(view: &View<'_>, rng: &mut Rng) -> Option<Node> {
    (!view.servers.is_empty())
        .then(|| Node::Server(rng.below(u64::from(view.server_count())) as u32))
}

/// The server that leads the others: of several, each for a share, that of the lock.
pub fn leader(view: &View<'_>) -> Option<u32> {
    let leaders = standing(view, ServerStanding::Leader);
    view.answering.filter(|it| leaders.contains(it)).or_else(|| leaders.first().copied())
}

/// A server that follows another one.
pub fn follower(view: &View<'_>, rng: &mut Rng) -> Option<u32> {
    rng.pick(&standing(view, ServerStanding::Follower)).copied()
}

/// Returns true if a server leads or follows others.
pub fn stands(view: &View<'_>, server: u32) -> bool {
    view.standings.get(server as usize).is_some_and(Option::is_some)
}

fn standing(view: &View<'_>, wanted: ServerStanding) -> Vec<u32> {
    let servers = (0..).zip(view.standings);
    servers.filter(|(_, it)| **it == Some(wanted)).map(|(number, _)| number).collect()
}

/// Servers drawn of each group, as many as this makes of the number of its servers.
pub fn some_of_each_group(
    view: &View<'_>,
    rng: &mut Rng,
    share: impl Fn(usize) -> usize,
) -> Vec<u32> {
    let mut groups: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for (number, server) in (0..).zip(view.servers) {
        groups.entry(server.group).or_default().push(number);
    }
    let mut drawn = Vec::new();
    for mut left in groups.into_values() {
        for _ in 0..share(left.len()) {
            drawn.push(left.swap_remove(rng.below(left.len() as u64) as usize));
        }
    }
    drawn.sort_unstable();
    drawn
}

/// Draws without putting back, as from a deck of cards: a short run, too, sees every kind of fault.
pub struct Deck<T: 'static> {
    all: &'static [T],
    left: Vec<T>,
}

impl<T: Copy> Deck<T> {
    /// A full deck.
    pub const fn new(all: &'static [T]) -> Self {
        Self { all, left: Vec::new() }
    }

    /// Returns true if a card of the full deck is such a one.
    pub fn has(&self, is: impl Fn(&T) -> bool) -> bool {
        self.all.iter().any(is)
    }

    /// The next card; a new deck when the last one is used up.
    pub fn draw(&mut self, rng: &mut Rng) -> T {
        if self.left.is_empty() {
            self.left = self.all.to_vec();
        }
        let place = rng.below(self.left.len() as u64) as usize;
        self.left.swap_remove(place)
    }
}

/// A pause between two faults, of a quarter of a ttl to one.
pub fn gap(view: &View<'_>, rng: &mut Rng) -> Mono {
    view.now + rng.between(view.ttl / 4, view.ttl)
}
