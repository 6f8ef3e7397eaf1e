//! Watches what happens to the clients and the lock, from one look to the next.

use base::{CallView, ClientState, ClientView, Mono, View};
use nemesis::aim;
use std::mem::discriminant;
use std::rc::Rc;

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

/// Something that has happened to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientEvent {
    /// The event.
    pub event: LockEvent,
    /// The command, of an event that is one's.
    pub command: Option<Rc<str>>,
    /// The client to whom it has happened.
    pub hit: ClientHit,
}

impl ClientEvent {
    const fn of(event: LockEvent, hit: ClientHit) -> Self {
        Self { event, command: None, hit }
    }

    /// Returns true if a fault that waits for this event, of this command, waits for this one.
    pub fn is(&self, event: LockEvent, command: Option<&str>) -> bool {
        let is_command = |name: &str| match &self.command {
            Some(command) => command.eq_ignore_ascii_case(name),
            None => false,
        };
        self.event == event && command.is_none_or(is_command)
    }
}

impl ClientHit {
    /// Returns true if the client has asked for the lock and was granted none.
    pub const fn asks(&self) -> bool {
        matches!(self.state, ClientState::Acquiring { .. })
    }

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
    /// The last command of each client that was noted.
    calls: Vec<Option<CallView>>,
}

impl ClientsSeen {
    /// Returns what has happened since the last look, in the order of its time.
    pub fn look(&mut self, view: &View<'_>) -> Vec<ClientEvent> {
        self.states.resize(view.clients.len(), ClientState::Idle);
        self.answered.resize(view.clients.len(), None);
        self.majority.resize(view.clients.len(), None);
        self.calls.resize(view.clients.len(), None);
        let mut seen = Vec::new();
        for (client, (was, now)) in (0..).zip(self.states.iter_mut().zip(view.clients)) {
            let state = now.state;
            if let Some((trigger, at)) = begun(*was, state, view.now) {
                seen.push(ClientEvent::of(trigger, ClientHit { client, at, state }));
            }
            *was = state;
        }
        for ((client, noted), now) in (0..).zip(&mut self.calls).zip(view.clients) {
            seen.extend(calls(client, noted.as_ref(), now));
            noted.clone_from(&now.call);
        }
        let rounds = self.majority.iter_mut().zip(view.clients);
        for (noted, _) in rounds.filter(|(_, client)| !is_majority(client.state, view)) {
            *noted = None;
        }
        for client in aim::all_answered(view) {
            self.answered(client, view, &mut seen);
        }
        seen.sort_by_key(|event| event.hit.at);
        seen
    }

    /// Notes an acquire that a server has just answered, once; and each round that a majority has.
    fn answered(&mut self, client: u32, view: &View<'_>, seen: &mut Vec<ClientEvent>) {
        let place = client as usize;
        let state = view.clients[place].state;
        let ClientState::Acquiring { since, last_reply: Some(at), .. } = state else { return };
        let candidate = ClientHit { client, at, state };
        if self.answered[place].replace(since) != Some(since) {
            seen.push(ClientEvent::of(LockEvent::Answered, candidate));
        }
        if is_majority(state, view) && self.majority[place].replace(since) != Some(since) {
            seen.push(ClientEvent::of(LockEvent::Majority, candidate));
        }
    }
}

/// Returns what has become of a client's last command since it was noted.
fn calls(client: u32, noted: Option<&CallView>, now: &ClientView) -> Vec<ClientEvent> {
    let Some(call) = &now.call else { return Vec::new() };
    let event = |event, at| ClientEvent {
        event,
        command: Some(call.command.clone()),
        hit: ClientHit { client, at, state: now.state },
    };
    let noted = noted.filter(|noted| (&noted.command, noted.sent) == (&call.command, call.sent));
    let sent = noted.is_none().then(|| event(LockEvent::CommandSent, call.sent));
    let answered = call.answered.filter(|_| noted.is_none_or(|noted| noted.answered.is_none()));
    let answered = answered.map(|at| event(LockEvent::CommandAnswered, at));
    sent.into_iter().chain(answered).collect()
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
