//! Watches what happens to the clients and the lock, from one look to the next.

use base::{ClientState, Mono, View};
use nemesis::aim;
use std::mem::discriminant;

use super::LockEvent;

/// A client to whom something has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHit {
    /// The number of the client.
    pub client: u32,
    /// The time at which it happened.
    pub at: Mono,
    /// The state that it came into then.
    state: ClientState,
}

impl ClientHit {
    /// Returns true if the client is still in that state.
    pub fn stands(&self, view: &View<'_>) -> bool {
        let client = view.clients.get(self.client as usize);
        client.is_some_and(|client| is_same(client.state, self.state))
    }
}

/// Returns true if a client has not left a state since. What came back to it is the same acquire.
fn is_same(now: ClientState, then: ClientState) -> bool {
    match (now, then) {
        (ClientState::Acquiring { since: a, .. }, ClientState::Acquiring { since: b, .. })
        | (ClientState::Holding { since: a }, ClientState::Holding { since: b }) => a == b,
        (now, then) => discriminant(&now) == discriminant(&then),
    }
}

/// The clients as they were at the last look.
#[derive(Debug, Default)]
pub struct ClientsSeen {
    states: Vec<ClientState>,
    /// The last acquire of each client of which an answer was noted.
    answered: Vec<Option<Mono>>,
    /// The last acquire of each client that a majority was noted to have answered.
    majority: Vec<Option<Mono>>,
}

impl ClientsSeen {
    /// Returns what has happened since the last look, in the order of its time.
    pub fn look(&mut self, view: &View<'_>) -> Vec<(LockEvent, ClientHit)> {
        self.states.resize(view.clients.len(), ClientState::Idle);
        self.answered.resize(view.clients.len(), None);
        self.majority.resize(view.clients.len(), None);
        let mut seen = Vec::new();
        for (client, (was, now)) in (0..).zip(self.states.iter_mut().zip(view.clients)) {
            let state = now.state;
            if let Some((trigger, at)) = begun(*was, state, view.now) {
                seen.push((trigger, ClientHit { client, at, state }));
            }
            *was = state;
        }
        let rounds = self.majority.iter_mut().zip(view.clients);
        for (noted, _) in rounds.filter(|(_, client)| !is_majority(client.state, view)) {
            *noted = None;
        }
        for client in aim::all_answered(view) {
            self.answered(client, view, &mut seen);
        }
        seen.sort_by_key(|(_, candidate)| candidate.at);
        seen
    }

    /// Notes an acquire that a server has just answered, once; and each round that a majority has.
    fn answered(&mut self, client: u32, view: &View<'_>, seen: &mut Vec<(LockEvent, ClientHit)>) {
        let place = client as usize;
        let state = view.clients[place].state;
        let ClientState::Acquiring { since, last_reply: Some(at), .. } = state else { return };
        let candidate = ClientHit { client, at, state };
        if self.answered[place].replace(since) != Some(since) {
            seen.push((LockEvent::Answered, candidate));
        }
        if is_majority(state, view) && self.majority[place].replace(since) != Some(since) {
            seen.push((LockEvent::Majority, candidate));
        }
    }
}

/// Returns true if a majority of the servers has answered a client's last round of requests.
fn is_majority(state: ClientState, view: &View<'_>) -> bool {
    matches!(state, ClientState::Acquiring { answers, .. } if answers * 2 > view.server_count())
}

/// Returns what has happened to a client that was in one state and is in another.
fn begun(was: ClientState, now: ClientState, at: Mono) -> Option<(LockEvent, Mono)> {
    match now {
        _ if is_same(now, was) => None,
        ClientState::Acquiring { since, .. } => Some((LockEvent::Asked, since)),
        ClientState::Holding { since } => Some((LockEvent::Granted, since)),
        ClientState::Releasing { last_reply: None } => Some((LockEvent::BeforeRelease, at)),
        _ => None,
    }
}
