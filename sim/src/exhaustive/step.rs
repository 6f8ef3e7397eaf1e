//! One step: what an action does to a state.

use base::{
    Acquire, Command, Effect, Event, F, Facts, Fault, Key, Kind, LinkTrouble, Mode, Mono, Node,
    Reply, Request, Response,
};
use std::rc::Rc;
use std::time::Duration;
use stores::driver::Do;
use stores::model::{Clocks, Out, Peer, ServerModel};
use stores::{Enumerable, PacketOf, Store};

use super::action::{Action, client_of, connection, connections, local_of};
use super::actor::{Input, NEVER};
use super::state::{Attempt, Hold, Printed, Stage, State, Stored, Up, VAIN, Wire};
use super::story::{LAPSE, Seen};
use super::{Explorer, Sign};
use crate::clock::Clock;

type Outbox<S> = Vec<Out<PacketOf<S>>>;

impl<S: Store> Explorer<S> {
    pub(super) fn key(&self, client: u32) -> Key {
        format!("k{}", client % self.case.keys).into()
    }

    fn about(&self, client: u32, mode: Mode) -> impl Fn(&mut Event) + use<S> {
        let key = self.key(client);
        move |event: &mut Event| {
            event.key = Some(key);
            event.mode = Some(mode);
        }
    }

    /// Lets an action happen.
    pub(super) fn apply(&mut self, state: &mut State<S>, action: Action, seen: &mut Seen) {
        if let Some(story) = &mut seen.story {
            story.actions.push(action);
        }
        match action {
            Action::Begin(client, mode) => self.begin(state, client, mode, seen),
            Action::Hear(connection) => self.hear(state, connection, seen),
            Action::Ring(client, timer) => self.ring(state, client, timer, seen),
            Action::Tick(client) => self.tick(state, client, seen),
            Action::Enter(client) => self.enter(state, client, seen),
            Action::Leave(client) => self.leave(state, client, seen),
            Action::Arrive(connection) => self.arrive(state, connection, seen),
            Action::Lapse => self.lapse(state, seen),
            Action::Expire(client) => self.expire(state, client, seen),
            Action::Crash(client, kept) => self.crash(state, client, kept, seen),
            Action::Reset(connection, kept) => self.reset(state, connection, kept, seen),
        }
        state.tidy();
    }

    // Clients.

    fn begin(&mut self, state: &mut State<S>, client: u32, mode: Mode, seen: &mut Seen) {
        let seat = &mut state.seats[client as usize];
        (seat.stage, seat.mode, seat.attempt) = (Stage::Acquiring, mode, Attempt::Unseen);
        seat.turns += 1;
        let patience = u64::try_from(NEVER.as_nanos()).unwrap_or(u64::MAX);
        seen.event(client, Kind::Invoke, F::Acquire, self.about(client, mode));
        seen.line(|| format!("client {client} asks for the lock{}", shared(mode)));
        let wanted = Acquire { key: self.key(client), mode, patience_ns: patience };
        self.ask(state, client, Command::Acquire(Box::new(wanted)), seen);
    }

    fn ask(&mut self, state: &mut State<S>, client: u32, command: Command, seen: &mut Seen) {
        let seat = &mut state.seats[client as usize];
        seat.asked += 1;
        let request = Request { id: seat.asked, command };
        self.feed(state, client, Input::Request(request), seen);
    }

    /// Feeds an input to a client, which does what it does then.
    pub(super) fn feed(
        &mut self,
        state: &mut State<S>,
        client: u32,
        input: Input<PacketOf<S>>,
        seen: &mut Seen,
    ) {
        let seat = &mut state.seats[client as usize];
        let rang = matches!(input, Input::Ring(..));
        if matches!(input, Input::Closed(_)) {
            seat.attempt = Attempt::Unseen;
        }
        seat.log = seat.log.and(input);
        let in_vain = self.react(state, client, seen) && rang;
        let seat = &mut state.seats[client as usize];
        seat.vain = if in_vain { seat.vain + 1 } else { 0 };
        if seat.vain >= VAIN {
            seat.attempt = Attempt::Vain;
        } else if seat.attempt == Attempt::Vain {
            seat.attempt = Attempt::Unseen;
        }
    }

    /// Lets a client react to what came to it last. Returns true if it neither sent nor said
    /// anything.
    pub(super) fn react(&mut self, state: &mut State<S>, client: u32, seen: &mut Seen) -> bool {
        let log = state.seats[client as usize].log.clone();
        let reaction = self.actors.react(client, &log);
        let seat = &mut state.seats[client as usize];
        seat.timers.clone_from(&reaction.timers);
        seat.tick = reaction.tick;
        for wish in &reaction.wants {
            wire(state, client, wish);
        }
        for response in &reaction.said {
            self.said(state, client, response, seen);
        }
        reaction.wants.is_empty() && reaction.said.is_empty()
    }

    fn said(&self, state: &mut State<S>, client: u32, response: &Response, seen: &mut Seen) {
        let seat = &mut state.seats[client as usize];
        let about = self.about(client, seat.mode);
        let (kind, error) = match &response.reply {
            Reply::Notified { .. } => return seen.event(client, Kind::Info, F::Notified, about),
            Reply::Ok { .. } => (Kind::Ok, None),
            Reply::Fail { error, .. } => (Kind::Fail, Some(error.clone())),
            Reply::Info { error } | Reply::Lost { error, .. } => (Kind::Info, Some(error.clone())),
        };
        let facts = facts(&response.reply);
        let because = error.clone().unwrap_or_default();
        let told = |event: &mut Event| {
            about(event);
            event.error = error;
            event.facts.clone_from(&facts);
        };
        match (&mut seat.stage, &response.reply) {
            // Its `init`, and what nobody listens to any more.
            (Stage::Idle | Stage::Done | Stage::Gone, _) => {}
            (Stage::Holding(hold), Reply::Lost { .. }) => {
                hold.lost = true;
                seen.event(client, Kind::Info, F::Lost, told);
                seen.line(|| {
                    format!("client {client} knows that it may have lost the lock: {because}")
                });
            }
            (Stage::Granted { lost, .. }, Reply::Lost { .. }) => *lost = true,
            (_, Reply::Lost { .. }) => {}
            (Stage::Acquiring, Reply::Ok { token, .. }) => {
                seat.stage = Stage::Granted { token: *token, lost: false };
                seat.facts = facts.map(Rc::from);
            }
            (stage, _) => {
                let f = if *stage == Stage::Acquiring { F::Acquire } else { F::Release };
                *stage = match kind {
                    Kind::Info => Stage::Gone,
                    _ if seat.turns == self.case.cycles => Stage::Done,
                    _ => Stage::Idle,
                };
                seen.event(client, kind, f, told);
                seen.line(|| match kind {
                    Kind::Ok => format!("client {client}: {f} ok"),
                    Kind::Fail => format!("client {client}: {f} failed: {because}"),
                    _ => format!("client {client}: {f} ended in doubt: {because}"),
                });
            }
        }
    }

    fn ring(&mut self, state: &mut State<S>, client: u32, timer: u64, seen: &mut Seen) {
        let seat = &mut state.seats[client as usize];
        let Some(timer) = seat.timers.iter().find(|t| t.id == timer).copied() else { return };
        seat.attempt = Attempt::Unseen;
        seen.line(|| format!("client {client} has waited long enough"));
        self.feed(state, client, Input::Ring(timer.id, timer.at), seen);
    }

    fn tick(&mut self, state: &mut State<S>, client: u32, seen: &mut Seen) {
        let Some(at) = state.seats[client as usize].tick else { return };
        seen.line(|| format!("client {client} tries to connect again"));
        self.feed(state, client, Input::Tick(at), seen);
    }

    fn hear(&mut self, state: &mut State<S>, connection: u64, seen: &mut Seen) {
        let client = client_of(connection);
        let Some(wire) = state.wires.get_mut(&connection) else { return };
        let Some(packet) = wire.down.pop_front() else { return };
        let input = match packet {
            Some(packet) => {
                // The answer to a request was told where the server gave it.
                if !S::Alone::answers(&packet.packet) {
                    seen.line(|| {
                        format!("client {client} hears: {}", S::Alone::words(&packet.packet))
                    });
                }
                Input::Packet(local_of(connection), packet.packet.clone())
            }
            None => {
                seen.line(|| format!("client {client} notices that its connection is lost"));
                Input::Closed(local_of(connection))
            }
        };
        self.feed(state, client, input, seen);
    }

    /// The hold begins, and the client reads what the lock guards.
    fn enter(&mut self, state: &mut State<S>, client: u32, seen: &mut Seen) {
        let seat = &state.seats[client as usize];
        let Stage::Granted { token, lost } = seat.stage else { return };
        let (mode, key) = (seat.mode, self.key(client));
        let about = self.about(client, mode);
        let told = |event: &mut Event| {
            about(event);
            event.token = token;
        };
        let facts = seat.facts.as_deref().cloned();
        seen.event(client, Kind::Ok, F::Acquire, |event| {
            told(event);
            event.facts = facts.map(Box::new);
        });
        seen.line(|| format!("client {client} holds the lock{}", shared(mode)));
        let mut hold = Hold { token, read: None, lost, overtaken: false, stolen: false };
        if lost {
            // It had learnt so before it could enter.
            seen.event(client, Kind::Info, F::Lost, told);
        } else {
            self.overlap(state, client, &mut hold, seen);
            let read = state.vault.read(key, mode, token);
            seen.event(client, Kind::Invoke, F::Read, told);
            let kind = if read.is_ok() { Kind::Ok } else { Kind::Fail };
            seen.event(client, kind, F::Read, |event| {
                told(event);
                event.value = read.ok();
                event.error = read.err().map(|fenced| fenced.to_string());
            });
            hold.read = read.ok();
        }
        state.seats[client as usize].stage = Stage::Holding(hold);
    }

    /// Notes every client that holds the lock now though this grant excludes it.
    fn overlap(&self, state: &mut State<S>, client: u32, mine: &mut Hold, seen: &mut Seen) {
        let mode = state.seats[client as usize].mode;
        for (other, seat) in (0..).zip(&mut state.seats) {
            let Stage::Holding(theirs) = &mut seat.stage else { continue };
            let excludes = mode == Mode::Exclusive || seat.mode == Mode::Exclusive;
            if other == client || theirs.lost || !excludes || self.key(other) != self.key(client) {
                continue;
            }
            seen.signs.push(Sign::Overlap);
            seen.line(|| format!("  while client {other} holds it as well{}", shared(seat.mode)));
            // The later grant is the one with the higher token: news of it can come first.
            match (self.case.fenced, mine.token, theirs.token) {
                (true, Some(mine_is), Some(theirs_is)) if mine_is < theirs_is => {
                    mine.overtaken = true
                }
                _ => theirs.overtaken = true,
            }
        }
    }

    /// The client writes, if it holds the lock alone, and releases.
    fn leave(&mut self, state: &mut State<S>, client: u32, seen: &mut Seen) {
        let seat = &mut state.seats[client as usize];
        let Stage::Holding(hold) = seat.stage else { return };
        let mode = seat.mode;
        seat.stage = Stage::Releasing;
        if let (Some(read), Mode::Exclusive, false) = (hold.read, mode, hold.lost) {
            self.write(state, client, &hold, read + 1, seen);
        }
        let about = self.about(client, mode);
        seen.event(client, Kind::Invoke, F::Release, about);
        seen.line(|| format!("client {client} releases"));
        self.ask(state, client, Command::Release { key: self.key(client) }, seen);
    }

    fn write(&self, state: &mut State<S>, client: u32, hold: &Hold, value: u64, seen: &mut Seen) {
        let key = self.key(client);
        let about = self.about(client, Mode::Exclusive);
        let told = |event: &mut Event| {
            about(event);
            event.token = hold.token;
            event.value = Some(value);
        };
        seen.event(client, Kind::Invoke, F::Write, told);
        let written = state.vault.write(key, hold.token, value);
        let kind = if written.is_ok() { Kind::Ok } else { Kind::Fail };
        seen.event(client, kind, F::Write, |event| {
            told(event);
            event.error = written.err().map(|fenced| fenced.to_string());
        });
        if let Err(fenced) = written {
            return seen.line(|| format!("client {client} writes {value}: {fenced}"));
        }
        seen.line(|| format!("client {client} writes {value}"));
        if hold.overtaken {
            seen.signs.push(Sign::StaleWrite);
        }
        if hold.stolen {
            seen.signs.push(Sign::LostUpdate);
        }
        for (other, seat) in (0..).zip(&mut state.seats) {
            if let Stage::Holding(theirs) = &mut seat.stage
                && self.key(other) == key
            {
                theirs.stolen = true;
            }
        }
    }

    // The server.

    fn arrive(&mut self, state: &mut State<S>, number: u64, seen: &mut Seen) {
        let client = client_of(number);
        let Some(wire) = state.wires.get_mut(&number) else { return };
        let Some(Up { packet, releasing }) = wire.up.pop_front() else { return };
        let answers = wire.open;
        let at = clocks(state);
        let Some(packet) = packet.map(|packet| packet.packet.clone()) else {
            self.serve(state, None, seen, |server, _| server.disconnected(at, number));
            return;
        };
        let attempt = &mut state.seats[client as usize].attempt;
        // An attempt whose answer is lost tells its client nothing.
        if *attempt == Attempt::Unseen && answers && !S::Alone::opens(&packet) {
            *attempt = Attempt::Fresh;
        }
        let asked = seen.story.is_some().then(|| S::Alone::words(&packet));
        let by = Some((client, releasing));
        let from = Peer::Connection(number);
        let (out, robbed) =
            self.serve(state, by, seen, |server, out| server.receive(at, from, packet, out));
        let answer = out.iter().find_map(|out| match out {
            Out::Send(to, reply) if asked.is_some() && *to == from => Some(S::Alone::words(reply)),
            _ => None,
        });
        seen.line(|| {
            let (asked, answer) = (asked.unwrap_or_default(), answer.unwrap_or_default());
            format!("server, for client {client}: {asked} → {answer}")
        });
        if let Some(other) = robbed {
            seen.signs.push(Sign::ForeignRelease);
            seen.line(|| format!("  which frees the lock that client {other} holds"));
        }
        route(state, out);
    }

    /// Lets the server do something and looks what that did to the store; `by`: for which client,
    /// and whether as part of its release. Says whose hold a release has ended.
    fn serve(
        &self,
        state: &mut State<S>,
        by: Option<(u32, bool)>,
        seen: &mut Seen,
        work: impl FnOnce(&mut S::Alone, &mut Outbox<S>),
    ) -> (Outbox<S>, Option<u32>) {
        let stored = state.store.clone();
        let mut server = stored.server.clone();
        let mut out = Vec::new();
        work(&mut server, &mut out);
        let mut noted = Vec::new();
        server.take_journal(&mut noted);
        seen.note(by.map(|(client, _)| client), noted);
        let (before, after) = (&stored.things, S::Alone::things(&server));
        let mut owners = stored.owners.clone();
        let mut robbed = None;
        if *before != after {
            state.changed();
            for name in before.keys().filter(|name| !after.contains_key(*name)) {
                let owner = owners.remove(name);
                robbed = robbed.or(owner.filter(|owner| state.robs(by, *owner)));
            }
            if let Some((client, _)) = by {
                let made = after.iter().filter(|(name, stamp)| before.get(*name) != Some(*stamp));
                owners.extend(made.map(|(name, _)| (name.clone(), client)));
            }
        }
        state.store = Rc::new(Stored::new(server, after, owners));
        (out, robbed)
    }

    // Time and faults.

    fn lapse(&mut self, state: &mut State<S>, seen: &mut Seen) {
        if !self.may_lapse(state) {
            state.faults += 1;
            let alive = (0..).zip(&state.seats).filter(|(_, seat)| !seat.is_over());
            seen.pause(alive.map(|(client, _)| client));
        }
        state.lapses += 1;
        let at = clocks(state);
        let (out, _) = self.serve(state, None, seen, |server, out| {
            server.tick(at, out);
        });
        seen.line(|| "time passes, beyond every ttl".into());
        route(state, out);
        // Whoever looks at a clock may find the store another one.
        state.changed();
        state.lapsed = true;
        for client in 0..state.seats.len() as u32 {
            if !state.seats[client as usize].is_over() {
                self.feed(state, client, Input::Later(LAPSE), seen);
            }
        }
    }

    fn expire(&mut self, state: &mut State<S>, client: u32, seen: &mut Seen) {
        let Some(session) = S::Alone::session(state.server(), connections(client)) else { return };
        if state.seats[client as usize].stage != Stage::Gone {
            state.faults += 1;
            seen.pause(std::iter::once(client));
        }
        let (out, _) =
            self.serve(state, None, seen, |server, out| S::Alone::expire(server, session, out));
        seen.line(|| format!("the session of client {client} expires"));
        route(state, out);
    }

    fn crash(&mut self, state: &mut State<S>, client: u32, kept: usize, seen: &mut Seen) {
        state.faults += 1;
        let seat = &mut state.seats[client as usize];
        seat.stage = Stage::Gone;
        let about = self.about(client, seat.mode);
        let kill = Fault::at(Node::Client(client), base::Action::Kill);
        seen.fault(|| (kill, Effect::of(base::Action::Kill, 1)));
        seen.event(client, Kind::Info, F::Death, about);
        seen.line(|| format!("client {client} dies"));
        for wire in state.wires.range_mut(connections(client)).map(|(_, wire)| wire) {
            wire.up.truncate(kept);
        }
    }

    fn reset(&mut self, state: &mut State<S>, connection: u64, kept: usize, seen: &mut Seen) {
        state.faults += 1;
        let Some(wire) = state.wires.get_mut(&connection) else { return };
        wire.up.truncate(kept);
        wire.down.clear();
        wire.down.push_back(None);
        wire.open = false;
        let client = client_of(connection);
        let links = vec![(Node::Client(client), Node::Server(0))];
        let reset = base::Action::Link(LinkTrouble::Reset);
        seen.fault(|| (Fault::over(links, reset), Effect::of(reset, 1)));
        seen.line(|| match kept {
            0 => format!("the connection of client {client} is lost"),
            _ => format!("the connection of client {client} is lost, but not its last request"),
        });
    }
}

/// Returns the readings of the server's clocks.
fn clocks<S: Store>(state: &State<S>) -> Clocks {
    let (clock, now) = (Clock::up_for(Duration::ZERO), Mono::ZERO + LAPSE * state.lapses);
    Clocks { wall: clock.wall(now), mono: clock.mono(now) }
}

/// Sends what the server wants sent.
fn route<S: Store>(state: &mut State<S>, out: Outbox<S>) {
    for out in out {
        match out {
            Out::Send(Peer::Connection(to), packet) => {
                if let Some(wire) = state.wires.get_mut(&to).filter(|wire| wire.open) {
                    wire.down.push_back(Some(Printed::new(packet)));
                }
            }
            Out::Close(connection) => {
                if let Some(wire) = state.wires.get_mut(&connection) {
                    wire.up.clear();
                    if std::mem::replace(&mut wire.open, false) {
                        wire.down.push_back(None);
                    }
                }
            }
            Out::Send(Peer::Server(_), _) => {}
        }
    }
}

/// Does what a client wants done to its wires.
fn wire<S: Store>(state: &mut State<S>, client: u32, wish: &Do<PacketOf<S>>) {
    let releasing = state.seats[client as usize].stage == Stage::Releasing;
    let (local, packet) = match wish {
        Do::Open { connection: local, .. } => {
            let fresh = Wire { up: Default::default(), down: Default::default(), open: true };
            state.wires.insert(connection(client, *local), fresh);
            return;
        }
        Do::Close { connection } => (*connection, None),
        Do::Send { connection, packet } => (*connection, Some(Printed::new(packet.clone()))),
    };
    // What is sent over a connection that is lost is lost, too.
    if let Some(wire) = state.wires.get_mut(&connection(client, local)).filter(|wire| wire.open) {
        wire.open = packet.is_some();
        wire.up.push_back(Up { packet, releasing });
    }
}

/// Returns the facts that the store gave with an answer. Times mean nothing here.
fn facts(reply: &Reply) -> Option<Box<Facts>> {
    let (Reply::Ok { facts, .. } | Reply::Fail { facts, .. }) = reply else { return None };
    let timeless = Facts { asked_ns: None, expires_ns: None, ..*facts.clone()? };
    (!timeless.is_empty()).then(|| Box::new(timeless))
}

fn shared(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "",
        Mode::Shared => " as a reader",
    }
}
