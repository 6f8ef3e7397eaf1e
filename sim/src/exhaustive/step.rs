//! One step: what an action does to a state.

use base::{
    Acquire, ClientReply, ClientRequest, Command, Effect, Event, F, Facts, Fault, Key, Kind,
    LinkFault, Mode, Mono, Node, Response, Step, Wait, Walk,
};
use std::rc::Rc;
use std::time::Duration;
use stores::driver::Do;
use stores::model::{Clocks, Out, Peer, ServerModel};
use stores::{Enumerable, PacketOf, Store};

use super::action::{Move, client_of, connection, connections, local_of};
use super::actor::{ClientInput, NEVER};
use super::state::{
    Attempt, ClientHold, ClientStage, Printed, StoredServer, TurnClaim, Up, VAIN, WireState,
    WorldState,
};
use super::story::{LAPSE, SeenStep};
use super::{Explorer, Sign, TTL};
use crate::clock::up_for;

type Outgoing<S> = Vec<Out<PacketOf<S>>>;

impl<S: Store> Explorer<S> {
    /// The key of a client, or so many after it.
    pub(super) fn key(&self, client: u32, later: u32) -> Key {
        format!("k{}", (client + later) % self.case.keys).into()
    }

    /// Fills in what an event says about a claim of a client.
    fn about(&self, client: u32, claim: TurnClaim) -> impl Fn(&mut Event) + use<S> {
        let key = self.key(client, claim.key);
        move |event: &mut Event| {
            event.key = Some(key.clone());
            event.mode = Some(claim.mode);
        }
    }

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
        part.mode = mode;
        part.turns += 1;
        part.walk = Walk::new(self.task.scripts[script as usize]);
        self.proceed(state, client, seen);
    }

    /// Takes the next steps of a client's script, until it works or waits for an answer.
    fn proceed(&mut self, state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
        loop {
            let part = &mut state.clients[client as usize];
            match part.walk.step() {
                None => {
                    part.stage = match part.turns == self.case.cycles {
                        true => ClientStage::Done,
                        false => ClientStage::Idle,
                    };
                    return;
                }
                Some(Step::Work(_)) => {
                    part.stage = ClientStage::Working;
                    return;
                }
                Some(Step::Acquire { hold, key, wait }) => {
                    part.claims[hold] = TurnClaim { key, mode: part.mode, hold: None };
                    return self.acquire(state, client, (hold, wait), seen);
                }
                Some(Step::Convert(hold, mode)) if part.claims[hold].mode != mode => {
                    return self.convert(state, client, (hold, mode), seen);
                }
                Some(Step::Convert(..)) => {}
                Some(Step::Read(hold)) => {
                    if !self.read(state, client, hold, seen) {
                        // Fenced off: it notices when it has nothing else to do.
                        let part = &mut state.clients[client as usize];
                        part.walk.retreat();
                        part.stage = ClientStage::Working;
                        return;
                    }
                }
                Some(Step::Write(hold)) => self.write(state, client, hold, seen),
                Some(Step::Release(hold)) => return self.release(state, client, hold, seen),
            }
        }
    }

    fn acquire(
        &mut self,
        state: &mut WorldState<S>,
        client: u32,
        (hold, wait): (usize, Wait),
        seen: &mut SeenStep,
    ) {
        let part = &mut state.clients[client as usize];
        (part.stage, part.attempt) = (ClientStage::Acquiring(hold), Attempt::Unseen);
        let claim = part.claims[hold];
        let acquire_timeout = match wait {
            Wait::Long => NEVER,
            Wait::Short => TTL.0,
            Wait::Try => Duration::ZERO,
        };
        let acquire_timeout_ns = u64::try_from(acquire_timeout.as_nanos()).unwrap_or(u64::MAX);
        seen.event(client, Kind::Invoke, F::Acquire, self.about(client, claim));
        let beside = if hold > 0 { ", beside the one that it holds" } else { "" };
        seen.line(|| format!("client {client} asks for the lock{}{beside}", shared(claim.mode)));
        let (key, mode) = (self.key(client, claim.key), claim.mode);
        let wanted = Acquire { key, hold, mode, acquire_timeout_ns };
        self.ask(state, client, Command::Acquire(Box::new(wanted)), seen);
    }

    fn convert(
        &mut self,
        state: &mut WorldState<S>,
        client: u32,
        (hold, mode): (usize, Mode),
        seen: &mut SeenStep,
    ) {
        let part = &mut state.clients[client as usize];
        part.stage = ClientStage::Converting(hold, mode);
        let claim = TurnClaim { mode, ..part.claims[hold] };
        seen.event(client, Kind::Invoke, F::Convert, self.about(client, claim));
        seen.line(|| format!("client {client} asks to hold the lock{}", shared(mode)));
        self.ask(state, client, Command::Convert { hold, mode }, seen);
    }

    fn release(
        &mut self,
        state: &mut WorldState<S>,
        client: u32,
        hold: usize,
        seen: &mut SeenStep,
    ) {
        let part = &mut state.clients[client as usize];
        part.walk.ended(hold);
        part.stage = ClientStage::Releasing(hold);
        part.claims[hold].hold = None;
        let claim = part.claims[hold];
        seen.event(client, Kind::Invoke, F::Release, self.about(client, claim));
        seen.line(|| format!("client {client} releases"));
        self.ask(state, client, Command::Release { hold }, seen);
    }

    fn ask(
        &mut self,
        state: &mut WorldState<S>,
        client: u32,
        command: Command,
        seen: &mut SeenStep,
    ) {
        let part = &mut state.clients[client as usize];
        part.asked += 1;
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

    /// Lets a client react to what came to it last. Returns true if it neither sent nor said
    /// anything.
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
        let goes_on = reaction.said.iter().filter(|it| self.said(state, client, it, seen)).count();
        if goes_on > 0 {
            self.proceed(state, client, seen);
        }
        reaction.wants.is_empty() && reaction.said.is_empty()
    }

    /// A client says something. Returns true if it goes on with its script at once.
    fn said(
        &self,
        state: &mut WorldState<S>,
        client: u32,
        response: &Response,
        seen: &mut SeenStep,
    ) -> bool {
        let (kind, error) = match &response.reply {
            ClientReply::Notified { .. } => {
                self.notified(state, client, seen);
                return false;
            }
            ClientReply::Lost { key, error, .. } => {
                self.lost(state, client, (key, error), seen);
                return false;
            }
            ClientReply::Clock { .. } | ClientReply::Calls { .. } => return false,
            ClientReply::Ok { .. } => (Kind::Ok, None),
            ClientReply::Fail { error, .. } => (Kind::Fail, Some(error.clone())),
            ClientReply::Info { error } => (Kind::Info, Some(error.clone())),
        };
        let facts = facts(&response.reply);
        let part = &mut state.clients[client as usize];
        let (f, hold, mode) = match (part.stage, &response.reply) {
            (ClientStage::Acquiring(hold), ClientReply::Ok { token, .. }) => {
                part.stage = ClientStage::Granted { hold, token: *token, lost: false };
                part.facts = facts.map(Rc::from);
                return false;
            }
            (ClientStage::Acquiring(hold), _) => (F::Acquire, hold, part.claims[hold].mode),
            (ClientStage::Converting(hold, mode), _) => (F::Convert, hold, mode),
            (ClientStage::Releasing(hold), _) => (F::Release, hold, part.claims[hold].mode),
            // Its `init`, and what nobody listens to any more.
            _ => return false,
        };
        let about = self.about(client, TurnClaim { mode, ..part.claims[hold] });
        let because = error.clone().unwrap_or_default();
        seen.event(client, kind, f, |event| {
            about(event);
            event.error = error;
            event.facts.clone_from(&facts);
        });
        seen.line(|| match kind {
            Kind::Ok => format!("client {client}: {f} ok"),
            Kind::Fail => format!("client {client}: {f} failed: {because}"),
            _ => format!("client {client}: {f} ended in doubt: {because}"),
        });
        match (kind, f) {
            (Kind::Info, _) => self.give_up(state, client, seen),
            (Kind::Ok, F::Convert) => part.claims[hold].mode = mode,
            (Kind::Fail, F::Convert) => part.walk.retreat(),
            (Kind::Fail, F::Acquire) => part.walk.refused(),
            _ => {}
        }
        kind != Kind::Info
    }

    /// A client whose operation ended in doubt does nothing more, whatever else it holds.
    fn give_up(&self, state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
        let part = &mut state.clients[client as usize];
        part.stage = ClientStage::Gone;
        let held = part.claims.iter().position(|claim| claim.hold.is_some());
        if let Some(hold) = held {
            let about = self.about(client, part.claims[hold]);
            seen.event(client, Kind::Info, F::Death, about);
        }
        part.claims.iter_mut().for_each(|claim| claim.hold = None);
    }

    fn notified(&self, state: &WorldState<S>, client: u32, seen: &mut SeenStep) {
        let part = &state.clients[client as usize];
        let hold = if let ClientStage::Acquiring(hold) = part.stage { hold } else { 0 };
        seen.event(client, Kind::Info, F::Notified, self.about(client, part.claims[hold]));
    }

    /// A client has learnt that it may have lost its grants of a key.
    fn lost(
        &self,
        state: &mut WorldState<S>,
        client: u32,
        (key, because): (&Key, &String),
        seen: &mut SeenStep,
    ) {
        let part = &mut state.clients[client as usize];
        if let ClientStage::Granted { hold, lost, .. } = &mut part.stage
            && self.key(client, part.claims[*hold].key) == *key
        {
            *lost = true;
        }
        let mut told = false;
        for place in 0..part.claims.len() {
            let claim = &mut part.claims[place];
            let of = self.key(client, claim.key) == *key;
            let Some(hold) = claim.hold.as_mut().filter(|hold| of && !hold.lost) else { continue };
            hold.lost = true;
            if !std::mem::replace(&mut told, true) {
                let about = self.about(client, *claim);
                seen.event(client, Kind::Info, F::Lost, |event| {
                    about(event);
                    event.error = Some(because.clone());
                });
                seen.line(|| {
                    format!("client {client} knows that it may have lost the lock: {because}")
                });
            }
        }
        if told {
            part.walk.retreat();
        }
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
                // The answer to a request was told where the server gave it.
                if !S::Alone::answers(&packet.packet) {
                    seen.line(|| {
                        format!("client {client} hears: {}", S::Alone::words(&packet.packet))
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
        let ClientStage::Granted { hold: place, token, lost } = part.stage else { return };
        let claim = part.claims[place];
        let about = self.about(client, claim);
        let told = |event: &mut Event| {
            about(event);
            event.token = token;
        };
        let facts = part.facts.as_deref().cloned();
        seen.event(client, Kind::Ok, F::Acquire, |event| {
            told(event);
            event.facts = facts.map(Box::new);
        });
        seen.line(|| format!("client {client} holds the lock{}", shared(claim.mode)));
        part.walk.granted(place);
        let mut hold = ClientHold { token, read: None, lost, overtaken: false, stolen: false };
        if !lost {
            self.overlap(state, client, claim, &mut hold, seen);
        }
        let part = &mut state.clients[client as usize];
        part.claims[place].hold = Some(hold);
        if lost {
            // It had learnt so before it could enter.
            seen.event(client, Kind::Info, F::Lost, told);
            part.walk.retreat();
            part.stage = ClientStage::Working;
        } else {
            self.proceed(state, client, seen);
        }
    }

    /// Notes every client that holds the lock now though this grant excludes it.
    fn overlap(
        &self,
        state: &mut WorldState<S>,
        client: u32,
        claim: TurnClaim,
        mine: &mut ClientHold,
        seen: &mut SeenStep,
    ) {
        let key = self.key(client, claim.key);
        for (other, part) in (0..).zip(&mut state.clients).filter(|(other, _)| *other != client) {
            for (later, mode, theirs) in part.holds() {
                let excludes = claim.mode == Mode::Exclusive || mode == Mode::Exclusive;
                if theirs.lost || !excludes || self.key(other, later) != key {
                    continue;
                }
                seen.signs.push(Sign::Overlap);
                seen.line(|| format!("  while client {other} holds it as well{}", shared(mode)));
                // The later grant is the one with the higher token: news of it can come first.
                match (self.case.fenced, mine.token, theirs.token) {
                    (true, Some(mine_is), Some(theirs_is)) if mine_is < theirs_is => {
                        mine.overtaken = true
                    }
                    _ => theirs.overtaken = true,
                }
            }
        }
    }

    /// A client has done its work.
    fn leave(&mut self, state: &mut WorldState<S>, client: u32, seen: &mut SeenStep) {
        if state.clients[client as usize].stage == ClientStage::Working {
            self.proceed(state, client, seen);
        }
    }

    /// Reads what a lock guards. Returns false if the vault fenced it off.
    fn read(
        &self,
        state: &mut WorldState<S>,
        client: u32,
        place: usize,
        seen: &mut SeenStep,
    ) -> bool {
        let claim = state.clients[client as usize].claims[place];
        let Some(hold) = claim.hold else { return true };
        let about = self.about(client, claim);
        let told = |event: &mut Event| {
            about(event);
            event.token = hold.token;
        };
        let read = state.vault.read(&self.key(client, claim.key), claim.mode, hold.token);
        seen.event(client, Kind::Invoke, F::Read, told);
        let kind = if read.is_ok() { Kind::Ok } else { Kind::Fail };
        seen.event(client, kind, F::Read, |event| {
            told(event);
            event.value = read.ok();
            event.error = read.err().map(|fenced| fenced.to_string());
        });
        state.clients[client as usize].claims[place].hold =
            Some(ClientHold { read: read.ok(), ..hold });
        read.is_ok()
    }

    /// Writes what a lock guards, if the client holds it alone.
    fn write(&self, state: &mut WorldState<S>, client: u32, place: usize, seen: &mut SeenStep) {
        let claim = state.clients[client as usize].claims[place];
        let TurnClaim { mode: Mode::Exclusive, hold: Some(hold), .. } = claim else { return };
        let Some(value) = hold.read.map(|read| read + 1) else { return };
        let key = self.key(client, claim.key);
        let about = self.about(client, claim);
        let told = |event: &mut Event| {
            about(event);
            event.token = hold.token;
            event.value = Some(value);
        };
        seen.event(client, Kind::Invoke, F::Write, told);
        let written = state.vault.write(&key, hold.token, value);
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
        for (other, part) in (0..).zip(&mut state.clients) {
            for (later, _, theirs) in part.holds() {
                theirs.stolen |= self.key(other, later) == key;
            }
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
        state: &mut WorldState<S>,
        by: Option<(u32, bool)>,
        seen: &mut SeenStep,
        work: impl FnOnce(&mut S::Alone, &mut Outgoing<S>),
    ) -> (Outgoing<S>, Option<u32>) {
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
        let Some(session) = S::Alone::session(state.server(), connections(client)) else { return };
        if state.clients[client as usize].stage != ClientStage::Gone {
            state.faults += 1;
            seen.pause(std::iter::once(client));
        }
        let (out, _) =
            self.serve(state, None, seen, |server, out| S::Alone::expire(server, session, out));
        seen.line(|| format!("the session of client {client} expires"));
        route(state, out);
    }

    fn crash(&mut self, state: &mut WorldState<S>, client: u32, kept: usize, seen: &mut SeenStep) {
        state.faults += 1;
        let part = &mut state.clients[client as usize];
        part.stage = ClientStage::Gone;
        let about = self.about(client, TurnClaim { mode: part.mode, ..part.claims[0] });
        let kill = Fault::at(Node::Client(client), base::Action::Kill);
        seen.fault(|| (kill, Effect::of(base::Action::Kill, 1)));
        seen.event(client, Kind::Info, F::Death, about);
        seen.line(|| format!("client {client} dies"));
        part.claims.iter_mut().for_each(|claim| claim.hold = None);
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
        if S::Alone::SESSIONS_ARE_CONNECTIONS {
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
    let releasing = matches!(state.clients[client as usize].stage, ClientStage::Releasing(_));
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

/// Returns the facts that the store gave with an answer. Times mean nothing here.
fn facts(reply: &ClientReply) -> Option<Box<Facts>> {
    let (ClientReply::Ok { facts, .. } | ClientReply::Fail { facts, .. }) = reply else {
        return None;
    };
    let timeless = Facts { asked_ns: None, expires_ns: None, ..*facts.clone()? };
    (!timeless.is_empty()).then(|| Box::new(timeless))
}

fn shared(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "",
        Mode::Shared => " as a reader",
    }
}
