//! One step: what an action does to a state.

use base::{
    ClientReply, ClientRequest, Effect, Event, F, Facts, Fault, Key, Kind, LinkFault, Mode, Mono,
    Node, ReplyOutcome, Response, Wait, WorkerMachine, WorkerRequest, WorkerStep,
};
use std::rc::Rc;
use std::time::Duration;
use stores::driver::Do;
use stores::model::{Clocks, Out, Peer, ServerModel};
use stores::{Enumerable, PacketOf, Store};

use super::action::{Move, client_of, connection, connections, local_of};
use super::actor::{ClientInput, NEVER};
use super::state::{
    Attempt, ClientStage, GrantMarks, Printed, StoredServer, Up, VAIN, WireState, WorldState,
};
use super::story::{LAPSE, SeenStep};
use super::{Explorer, Sign, TTL};
use crate::clock::up_for;

type Outgoing<S> = Vec<Out<PacketOf<S>>>;

impl<S: Store> Explorer<S> {
    /// Lets an action happen.
    pub(super) fn apply(&mut self, state: &mut WorldState<S>, action: Move, seen: &mut SeenStep) {
        if let Some(story) = &mut seen.story {
            story.actions.push(action);
        }
        match action {
            Move::Begin(client, mode, script) => self.begin(state, client, (mode, script), seen),
            Move::Hear(connection) => self.hear(state, connection, seen),
            Move::Wake(client, timer) => self.wake(state, client, timer, seen),
            Move::Tick(client) => self.tick(state, client, seen),
            Move::Enter(client) => self.enter(state, client, seen),
            Move::Leave(client) => self.leave(state, client, seen),
            Move::Arrive(connection) => self.arrive(state, connection, seen),
            Move::Lapse => self.lapse(state, seen),
            Move::Expire(client) => self.expire(state, client, seen),
            Move::Crash(client, kept) => self.crash(state, client, kept, seen),
            Move::Reset(connection, kept) => self.reset(state, connection, kept, seen),
        }
        state.tidy();
    }

    // Clients.

    fn begin(
        &mut self,
        state: &mut WorldState<S>,
        client: u32,
        (mode, script): (Mode, u32),
        seen: &mut SeenStep,
    ) {
        let part = &mut state.clients[client as usize];
        part.turns += 1;
        part.worker.begin(self.task.scripts[script as usize], client, mode);
        self.proceed(state, client, seen);
    }

    /// Takes the next steps of a client's script, until it works or waits for an answer.
    fn proceed(&mut self, state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
        loop {
            let part = &mut state.clients[client as usize];
            match part.worker.step() {
                WorkerStep::End => {
                    part.stage = match part.turns == self.case.cycles {
                        true => ClientStage::Done,
                        false => ClientStage::Idle,
                    };
                    return;
                }
                WorkerStep::Work(_) => {
                    part.stage = ClientStage::Working;
                    return;
                }
                WorkerStep::Request(operation) => match operation.f {
                    // Time stands still: what a shared holder reads again is what it has read.
                    F::Read if operation.again => part.worker.ended(Kind::Ok, None),
                    F::Read => {
                        if !access(state, client, operation, seen) {
                            // Fenced off: it notices when it has nothing else to do.
                            state.clients[client as usize].stage = ClientStage::Working;
                            return;
                        }
                    }
                    F::Write => drop(access(state, client, operation, seen)),
                    _ => return self.ask(state, client, operation, seen),
                },
            }
        }
    }

    /// Has a client make a request.
    fn ask(
        &mut self,
        state: &mut WorldState<S>,
        client: u32,
        operation: WorkerRequest,
        seen: &mut SeenStep,
    ) {
        let part = &mut state.clients[client as usize];
        part.asked += 1;
        let WorkerRequest { f, hold, mode, wait, .. } = operation;
        part.stage = match f {
            F::Acquire => ClientStage::Acquiring,
            F::Convert | F::Extend | F::Valid => ClientStage::Converting,
            _ => ClientStage::Releasing,
        };
        if f == F::Acquire {
            part.attempt = Attempt::Unseen;
        }
        let key = key(part.worker.grant(hold).key);
        seen.event(client, Kind::Invoke, f, about(&key, mode));
        seen.line(|| match f {
            F::Acquire => {
                let beside = if hold > 0 { ", beside the one that it holds" } else { "" };
                format!("client {client} asks for the lock{}{beside}", shared(mode))
            }
            F::Convert => format!("client {client} asks to hold the lock{}", shared(mode)),
            F::Extend => format!("client {client} asks for more time"),
            F::Valid => format!("client {client} asks whether it still holds the lock"),
            _ => format!("client {client} releases"),
        });
        let acquire_timeout = match wait {
            Wait::Long => NEVER,
            Wait::Short => TTL.0,
            Wait::Try => Duration::ZERO,
        };
        let acquire_timeout_ns = u64::try_from(acquire_timeout.as_nanos()).unwrap_or(u64::MAX);
        let command = WorkerMachine::command(operation, key, acquire_timeout_ns);
        let request = ClientRequest { id: part.asked, worker: client, command };
        self.feed(state, client, ClientInput::Request(request), seen);
    }

    /// Feeds an input to a client, which does what it does then.
    pub(super) fn feed(
        &mut self,
        state: &mut WorldState<S>,
        client: u32,
        input: ClientInput<PacketOf<S>>,
        seen: &mut SeenStep,
    ) {
        let part = &mut state.clients[client as usize];
        let by_timer = matches!(input, ClientInput::Wake(..));
        if matches!(input, ClientInput::Closed(_)) {
            part.attempt = Attempt::Unseen;
        }
        part.log = part.log.and(input);
        let in_vain = self.react(state, client, seen) && by_timer;
        let part = &mut state.clients[client as usize];
        part.vain = if in_vain { part.vain + 1 } else { 0 };
        if part.vain >= VAIN {
            part.attempt = Attempt::Vain;
        } else if part.attempt == Attempt::Vain {
            part.attempt = Attempt::Unseen;
        }
    }

    /// Lets a client react to what came to it last. Returns true if it sent nothing, neither
    /// to the server nor to the harness.
    pub(super) fn react(
        &mut self,
        state: &mut WorldState<S>,
        client: u32,
        seen: &mut SeenStep,
    ) -> bool {
        let log = state.clients[client as usize].log.clone();
        let reaction = self.actors.react(client, &log);
        let part = &mut state.clients[client as usize];
        part.timers.clone_from(&reaction.timers);
        part.tick = reaction.tick;
        for wish in &reaction.wants {
            wire(state, client, wish);
        }
        let goes_on = reaction.responses.iter().filter(|it| hear(state, client, it, seen)).count();
        if goes_on > 0 {
            self.proceed(state, client, seen);
        }
        reaction.wants.is_empty() && reaction.responses.is_empty()
    }

    fn wake(&mut self, state: &mut WorldState<S>, client: u32, timer: u64, seen: &mut SeenStep) {
        let part = &mut state.clients[client as usize];
        let Some(timer) = part.timers.iter().find(|t| t.id == timer).copied() else { return };
        part.attempt = Attempt::Unseen;
        seen.line(|| format!("client {client} has waited long enough"));
        self.feed(state, client, ClientInput::Wake(timer.id, timer.at), seen);
    }

    fn tick(&mut self, state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
        let Some(at) = state.clients[client as usize].tick else { return };
        seen.line(|| format!("client {client} tries to connect again"));
        self.feed(state, client, ClientInput::Tick(at), seen);
    }

    fn hear(&mut self, state: &mut WorldState<S>, connection: u64, seen: &mut SeenStep) {
        let client = client_of(connection);
        let Some(wire) = state.wires.get_mut(&connection) else { return };
        let Some(packet) = wire.down.pop_front() else { return };
        let input = match packet {
            Some(packet) => {
                // The answer to a request was described when the server gave it.
                if !S::Standalone::answers(&packet.packet) {
                    seen.line(|| {
                        format!("client {client} hears: {}", S::Standalone::words(&packet.packet))
                    });
                }
                ClientInput::Packet(local_of(connection), packet.packet.clone())
            }
            None => {
                seen.line(|| format!("client {client} notices that its connection is lost"));
                ClientInput::Closed(local_of(connection))
            }
        };
        self.feed(state, client, input, seen);
    }

    /// The hold begins, and the client goes on.
    fn enter(&mut self, state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
        let part = &mut state.clients[client as usize];
        let (ClientStage::Granted { token, lost }, Some(WorkerRequest { hold, mode, .. })) =
            (part.stage, part.worker.open())
        else {
            return;
        };
        part.worker.ended(Kind::Ok, token);
        part.marks[hold] = GrantMarks::default();
        let number = part.worker.grant(hold).key;
        let about = about(&key(number), mode);
        let with_token = |event: &mut Event| {
            about(event);
            event.token = token;
        };
        let facts = part.facts.as_deref().cloned();
        seen.event(client, Kind::Ok, F::Acquire, |event| {
            with_token(event);
            event.facts = facts.map(Box::new);
        });
        seen.line(|| format!("client {client} holds the lock{}", shared(mode)));
        if lost {
            // It had learnt so before it could enter.
            seen.event(client, Kind::Info, F::Lost, with_token);
            part.worker.lost(|other| other == number);
            part.stage = ClientStage::Working;
        } else {
            self.overlap(state, client, hold, seen);
            self.proceed(state, client, seen);
        }
    }

    /// Notes every client that holds the lock now though this grant excludes it.
    fn overlap(&self, state: &mut WorldState<S>, client: u32, hold: usize, seen: &mut SeenStep) {
        let mine = *state.clients[client as usize].worker.grant(hold);
        let mut overtaken = false;
        for (other, part) in (0..).zip(&mut state.clients).filter(|(other, _)| *other != client) {
            for place in part.worker.held() {
                let theirs = part.worker.grant(place);
                let excludes = mine.mode == Mode::Exclusive || theirs.mode == Mode::Exclusive;
                if theirs.lost || !excludes || theirs.key != mine.key {
                    continue;
                }
                seen.signs.push(Sign::Overlap);
                let mode = shared(theirs.mode);
                seen.line(|| format!("  while client {other} holds it as well{mode}"));
                // The later grant is the one with the higher token: news of it can come first.
                match (self.case.fenced, mine.token, theirs.token) {
                    (true, Some(mine_is), Some(theirs_is)) if mine_is < theirs_is => {
                        overtaken = true;
                    }
                    _ => part.marks[place].overtaken = true,
                }
            }
        }
        state.clients[client as usize].marks[hold].overtaken |= overtaken;
    }

    /// A client has done its work.
    fn leave(&mut self, state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
        if state.clients[client as usize].stage == ClientStage::Working {
            self.proceed(state, client, seen);
        }
    }

    // The server.

    fn arrive(&mut self, state: &mut WorldState<S>, number: u64, seen: &mut SeenStep) {
        let client = client_of(number);
        let Some(wire) = state.wires.get_mut(&number) else { return };
        let Some(Up { packet, releasing }) = wire.up.pop_front() else { return };
        let answers = wire.open;
        let at = clocks(state);
        let Some(packet) = packet.map(|packet| packet.packet.clone()) else {
            let (out, _) =
                self.serve(state, None, seen, |server, out| server.disconnected(at, number, out));
            return route(state, out);
        };
        let attempt = &mut state.clients[client as usize].attempt;
        // An attempt whose answer is lost tells its client nothing.
        if *attempt == Attempt::Unseen && answers && !S::Standalone::opens(&packet) {
            *attempt = Attempt::Fresh;
        }
        let asked = seen.story.is_some().then(|| S::Standalone::words(&packet));
        let by = Some((client, releasing));
        let from = Peer::Connection(number);
        let (out, robbed) =
            self.serve(state, by, seen, |server, out| server.receive(at, from, packet, out));
        let answer = out.iter().find_map(|out| match out {
            Out::Send(to, reply) if asked.is_some() && *to == from => {
                Some(S::Standalone::words(reply))
            }
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
        state: &mut WorldState<S>,
        by: Option<(u32, bool)>,
        seen: &mut SeenStep,
        work: impl FnOnce(&mut S::Standalone, &mut Outgoing<S>),
    ) -> (Outgoing<S>, Option<u32>) {
        let stored = state.store.clone();
        let mut server = stored.server.clone();
        let mut out = Vec::new();
        work(&mut server, &mut out);
        server.end_timed_waits(clocks(state), &mut out);
        let mut noted = Vec::new();
        server.take_journal(&mut noted);
        seen.note(by.map(|(client, _)| client), noted);
        let (before, after) = (&stored.things, S::Standalone::things(&server));
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
        state.store = Rc::new(StoredServer::new(server, after, owners));
        (out, robbed)
    }

    // Time and faults.

    fn lapse(&mut self, state: &mut WorldState<S>, seen: &mut SeenStep) {
        if !self.may_lapse(state) {
            state.faults += 1;
            let alive = (0..).zip(&state.clients).filter(|(_, part)| !part.is_over());
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
        for client in 0..state.clients.len() as u32 {
            if !state.clients[client as usize].is_over() {
                self.feed(state, client, ClientInput::Later(LAPSE), seen);
            }
        }
    }

    fn expire(&mut self, state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
        let Some(session) = S::Standalone::session(state.server(), connections(client)) else {
            return;
        };
        if state.clients[client as usize].stage != ClientStage::Gone {
            state.faults += 1;
            seen.pause(std::iter::once(client));
        }
        let (out, _) = self
            .serve(state, None, seen, |server, out| S::Standalone::expire(server, session, out));
        seen.line(|| format!("the session of client {client} expires"));
        route(state, out);
    }

    fn crash(&mut self, state: &mut WorldState<S>, client: u32, kept: usize, seen: &mut SeenStep) {
        state.faults += 1;
        let part = &mut state.clients[client as usize];
        let grant = part.worker.grant(0);
        let about = about(&key(grant.key), grant.mode);
        part.give_up();
        let kill = Fault::at(Node::Client(client), base::Action::Kill);
        seen.fault(|| (kill, Effect::of(base::Action::Kill, 1)));
        seen.event(client, Kind::Info, F::Death, about);
        seen.line(|| format!("client {client} dies"));
        for wire in state.wires.range_mut(connections(client)).map(|(_, wire)| wire) {
            wire.up.truncate(kept);
        }
    }

    fn reset(
        &mut self,
        state: &mut WorldState<S>,
        connection: u64,
        kept: usize,
        seen: &mut SeenStep,
    ) {
        state.faults += 1;
        let Some(wire) = state.wires.get_mut(&connection) else { return };
        wire.up.truncate(kept);
        if S::Standalone::SESSIONS_ARE_CONNECTIONS {
            wire.up.push_back(Up { packet: None, releasing: false });
        }
        wire.down.clear();
        wire.down.push_back(None);
        wire.open = false;
        let client = client_of(connection);
        let links = vec![(Node::Client(client), Node::Server(0))];
        let reset = base::Action::Link(LinkFault::Reset);
        seen.fault(|| (Fault::over(links, reset), Effect::of(reset, 1)));
        seen.line(|| match kept {
            0 => format!("the connection of client {client} is lost"),
            _ => format!("the connection of client {client} is lost, but not its last request"),
        });
    }
}

/// Returns the readings of the server's clocks.
fn clocks<S: Store>(state: &WorldState<S>) -> Clocks {
    let (clock, now) = (up_for(Duration::ZERO), Mono::ZERO + LAPSE * state.lapses);
    Clocks { wall: clock.wall(now), mono: clock.mono(now) }
}

/// Sends what the server wants sent.
fn route<S: Store>(state: &mut WorldState<S>, out: Outgoing<S>) {
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
fn wire<S: Store>(state: &mut WorldState<S>, client: u32, wish: &Do<PacketOf<S>>) {
    let releasing = state.clients[client as usize].stage == ClientStage::Releasing;
    let (local, packet) = match wish {
        Do::Open { connection: local, .. } => {
            let fresh = WireState { up: Default::default(), down: Default::default(), open: true };
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

/// The name of a key.
fn key(number: u32) -> Key {
    format!("k{number}").into()
}

/// Fills in the lock that an event is about.
fn about(key: &Key, mode: Mode) -> impl Fn(&mut Event) + use<> {
    let key = key.clone();
    move |event: &mut Event| {
        event.key = Some(key.clone());
        event.mode = Some(mode);
    }
}

/// A client responds. Returns true if it goes on with its script at once.
fn hear<S: Store>(
    state: &mut WorldState<S>,
    client: u32,
    response: &Response,
    seen: &mut SeenStep,
) -> bool {
    let part = &mut state.clients[client as usize];
    match &response.reply {
        ClientReply::Notified { .. } => {
            let hold = match part.worker.open() {
                Some(WorkerRequest { hold, .. }) if part.is_acquiring() => hold,
                _ => 0,
            };
            let grant = part.worker.grant(hold);
            let about = about(&key(grant.key), grant.mode);
            seen.event(client, Kind::Info, F::Notified, about);
        }
        ClientReply::Lost { key: Some(key), error, .. } => {
            lost(state, client, (key, error), seen);
        }
        _ => {}
    }
    let part = &mut state.clients[client as usize];
    let Some(outcome) = response.reply.clone().outcome() else { return false };
    let ReplyOutcome { kind, error, facts, token } = outcome;
    // No request is open at its `init`, or once nobody waits for an answer any more.
    let Some(WorkerRequest { f, hold, mode, .. }) = part.asking() else { return false };
    let facts = facts.map(|facts| timeless(*facts)).filter(|facts| !facts.is_empty());
    if (kind, f) == (Kind::Ok, F::Acquire) {
        part.stage = ClientStage::Granted { token, lost: false };
        part.facts = facts.map(Rc::from);
        return false;
    }
    let about = about(&key(part.worker.grant(hold).key), mode);
    let because = error.clone().unwrap_or_default();
    seen.event(client, kind, f, |event| {
        about(event);
        (event.error, event.facts) = (error, facts);
    });
    seen.line(|| match kind {
        Kind::Ok => format!("client {client}: {f} ok"),
        Kind::Fail => format!("client {client}: {f} failed: {because}"),
        _ => format!("client {client}: {f} ended in doubt: {because}"),
    });
    part.worker.ended(kind, token);
    if kind == Kind::Info {
        give_up(state, client, seen);
    }
    kind != Kind::Info
}

/// A client whose operation ended in doubt does nothing more, whatever else it holds.
fn give_up<S: Store>(state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
    let part = &mut state.clients[client as usize];
    if let Some((_, grant)) = part.holds().next() {
        seen.event(client, Kind::Info, F::Death, about(&key(grant.key), grant.mode));
    }
    part.give_up();
}

/// A client has learnt that it may have lost its grants of a key.
fn lost<S: Store>(
    state: &mut WorldState<S>,
    client: u32,
    (name, because): (&Key, &String),
    seen: &mut SeenStep,
) {
    let part = &mut state.clients[client as usize];
    let is_key = |number| key(number) == *name;
    if let (ClientStage::Granted { lost, .. }, Some(WorkerRequest { hold, .. })) =
        (&mut part.stage, part.worker.open())
    {
        *lost |= is_key(part.worker.grant(hold).key);
    }
    let Some(hold) = part.worker.lost(is_key) else { return };
    let about = about(name, part.worker.grant(hold).mode);
    seen.event(client, Kind::Info, F::Lost, |event| {
        about(event);
        event.error = Some(because.clone());
    });
    seen.line(|| format!("client {client} knows that it may have lost the lock: {because}"));
}

/// Reads or writes what a lock guards, and ends the operation. Returns false if the vault fenced it
/// off.
fn access<S: Store>(
    state: &mut WorldState<S>,
    client: u32,
    operation: WorkerRequest,
    seen: &mut SeenStep,
) -> bool {
    let part = &mut state.clients[client as usize];
    let WorkerRequest { f, hold, mode, .. } = operation;
    let (grant, value) = (*part.worker.grant(hold), part.worker.to_write(operation));
    let key = key(grant.key);
    let about = about(&key, mode);
    let details = |event: &mut Event| {
        about(event);
        (event.token, event.value) = (grant.token, value);
    };
    seen.event(client, Kind::Invoke, f, details);
    let served = match value {
        None => state.vault.read(&key, mode, grant.token),
        Some(value) => state.vault.write(&key, grant.token, value).map(|()| value),
    };
    let kind = if served.is_ok() { Kind::Ok } else { Kind::Fail };
    match f {
        F::Read => part.worker.ended(kind, served.ok()),
        // Nobody waits for the outcome: what comes after a write comes after a failed one, too.
        _ => part.worker.ended(Kind::Ok, None),
    }
    let fenced = served.err().map(|fenced| fenced.to_string());
    seen.event(client, kind, f, |event| {
        details(event);
        event.value = served.ok().or(value);
        event.error.clone_from(&fenced);
    });
    if let Some(value) = value {
        seen.line(|| match fenced {
            Some(fenced) => format!("client {client} writes {value}: {fenced}"),
            None => format!("client {client} writes {value}"),
        });
    }
    if value.is_some() && served.is_ok() {
        let GrantMarks { overtaken, stolen } = part.marks[hold];
        seen.signs.extend(overtaken.then_some(Sign::StaleWrite));
        seen.signs.extend(stolen.then_some(Sign::LostUpdate));
        for part in &mut state.clients {
            for hold in part.worker.held() {
                part.marks[hold].stolen |= part.worker.grant(hold).key == grant.key;
            }
        }
    }
    served.is_ok()
}

/// The facts that the store gave with an answer, without the times, which mean nothing here.
fn timeless(facts: Facts) -> Box<Facts> {
    Box::new(Facts { asked_ns: None, expires_ns: None, ..facts })
}

fn shared(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "",
        Mode::Shared => " as a reader",
    }
}
