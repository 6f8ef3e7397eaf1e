//! Whom to hit: by what the clients are doing with the lock.

use base::{ClientState, Mono, Node, Rng, View};
use std::time::Duration;

/// The seats of clients that no fault hits yet and that are in such a state.
fn seats(view: &View<'_>, wanted: impl Fn(&ClientState) -> bool) -> Vec<u32> {
    let hit = |(seat, client): (usize, &base::ClientView)| {
        (!client.faulted && wanted(&client.state)).then_some(seat as u32)
    };
    view.clients.iter().enumerate().filter_map(hit).collect()
}

/// A client that holds the lock.
pub fn holder(view: &View<'_>, rng: &mut Rng) -> Option<u32> {
    rng.pick(&seats(view, |state| matches!(state, ClientState::Holding { .. }))).copied()
}

/// A client that has held the lock for at least so long: it is in the middle of a long hold.
pub fn long_holder(view: &View<'_>, at_least: Duration) -> Option<u32> {
    let long = |state: &ClientState| match state {
        ClientState::Holding { since } => view.now.since(*since) >= at_least,
        _ => false,
    };
    seats(view, long).first().copied()
}

/// A client in an open acquire to which a server has just replied, while nobody is known to hold
/// the lock: it may have got it without knowing it yet.
pub fn half_granted(view: &View<'_>) -> Option<u32> {
    let held = view.clients.iter().any(|c| matches!(c.state, ClientState::Holding { .. }));
    let replied = |state: &ClientState| match state {
        ClientState::Acquiring { last_reply, .. } => *last_reply == Some(view.now),
        _ => false,
    };
    seats(view, replied).first().copied().filter(|_| !held)
}

/// Any client that runs.
pub fn anybody(view: &View<'_>, rng: &mut Rng) -> Option<u32> {
    rng.pick(&seats(view, |state| *state != ClientState::Down)).copied()
}

/// Any server.
pub fn server(view: &View<'_>, rng: &mut Rng) -> Option<Node> {
    (view.servers > 0).then(|| Node::Server(rng.below(u64::from(view.servers)) as u32))
}

/// A pause between two faults, of half a ttl to one and a half.
pub fn gap(view: &View<'_>, rng: &mut Rng) -> Mono {
    view.now + rng.between(view.ttl / 2, view.ttl * 3 / 2)
}
