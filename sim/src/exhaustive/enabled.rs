//! Enabled steps: which can be taken in a state, which are taken at once, and what a state without
//! any means.

use base::{Mode, WorkerMachine};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::rc::Rc;
use stores::vault::Vault;
use stores::{Enumerable, PacketOf, Store};

use super::action::{Move, connections};
use super::actor::{ClientInput, Log};
use super::state::{
    Attempt, ClientPart, ClientStage, Printed, StoredServer, WireState, WorldState,
};
use super::story::{ScheduleStory, SeenStep};
use super::{Explorer, FaultKind};

/// The number of times that all pollers try again before a state is believed to be stuck.
const TRIES: usize = 3;
/// They get so many steps each time.
const STEP_LIMIT: usize = 200;

impl<S: Store> Explorer<S> {
    /// All clients connected and idle, nothing in the store.
    pub(super) fn initial(&mut self) -> WorldState<S> {
        let server = S::standalone();
        let things = S::Standalone::things(&server);
        let mut state = WorldState {
            store: Rc::new(StoredServer::new(server, things, BTreeMap::new())),
            lapses: 0,
            lapsed: true,
            clients: Vec::new(),
            wires: BTreeMap::new(),
            vault: Vault::new(self.case.fenced),
            faults: 0,
        };
        for client in 0..self.case.clients {
            self.join(&mut state, client);
        }
        state
    }

    /// Returns the beginning of a story: every client has its session.
    pub(super) fn beginning(&self, state: &WorldState<S>) -> SeenStep {
        let mut story = ScheduleStory::default();
        for client in 0..state.clients.len() as u32 {
            let session = S::Standalone::session(state.server(), connections(client));
            story.builder.open(session, client);
        }
        SeenStep { story: Some(story), ..SeenStep::default() }
    }

    /// A new client connects.
    fn join(&mut self, state: &mut WorldState<S>, client: u32) {
        state.clients.push(ClientPart {
            log: Log::start(client),
            stage: ClientStage::Idle,
            worker: WorkerMachine::new(self.case.keys, client, Mode::Exclusive),
            marks: Default::default(),
            turns: 0,
            asked: 0,
            timers: Vec::new(),
            tick: None,
            facts: None,
            attempt: Attempt::Unseen,
            vain: 0,
        });
        let mut seen = SeenStep::default();
        self.react(state, client, &mut seen);
        let init = self.actors.init(&self.case.algo, client);
        self.feed(state, client, ClientInput::Request(init), &mut seen);
        while let Some(action) = { traffic(state, client).next() } {
            self.apply(state, action, &mut seen);
        }
    }

    /// The steps that a client can take by itself.
    fn own_steps(&self, state: &WorldState<S>, client: u32) -> Vec<Move> {
        let part = &state.clients[client as usize];
        let mut steps = Vec::new();
        match part.stage {
            ClientStage::Done | ClientStage::Gone => return steps,
            ClientStage::Idle => {
                for script in 0..self.task.scripts.len() as u32 {
                    steps.push(Move::Begin(client, Mode::Exclusive, script));
                    if self.case.shared {
                        steps.push(Move::Begin(client, Mode::Shared, script));
                    }
                }
            }
            ClientStage::Granted { .. } => steps.push(Move::Enter(client)),
            ClientStage::Working => steps.push(Move::Leave(client)),
            ClientStage::Acquiring | ClientStage::Converting | ClientStage::Releasing => {}
        }
        let heard = state.wires_of(client).filter(|(_, wire)| !wire.down.is_empty());
        steps.extend(heard.map(|(connection, _)| Move::Hear(connection)));
        if !matches!(part.attempt, Attempt::Fresh | Attempt::Vain) {
            steps.extend(part.timers.iter().map(|timer| Move::Wake(client, timer.id)));
        }
        steps.extend(part.tick.map(|_| Move::Tick(client)));
        steps
    }

    /// Returns true if these, the client's only steps, may be taken before all steps of others:
    /// nobody sees them, and nothing else can come to the client before them.
    fn is_invisible(&self, state: &WorldState<S>, client: u32, steps: &[Move]) -> bool {
        let part = &state.clients[client as usize];
        let unreachable = || {
            state.is_quiet(client) && !S::Standalone::may_call(state.server(), connections(client))
        };
        match steps {
            [Move::Hear(_)] => part.timers.is_empty(),
            [Move::Wake(..)] => unreachable(),
            [Move::Tick(_)] => part.timers.is_empty() && unreachable(),
            // Who has asked for which key is seen where there are several.
            [Move::Begin(..), rest @ ..] => {
                let only = rest.iter().all(|step| matches!(step, Move::Begin(..)));
                only && self.case.keys == 1 && part.timers.is_empty() && unreachable()
            }
            _ => false,
        }
    }

    /// Takes the steps that nobody else can see.
    pub(super) fn settle(&mut self, state: &mut WorldState<S>, seen: &mut SeenStep) {
        while let Some(step) = self.invisible(state) {
            self.apply(state, step, seen);
        }
    }

    fn invisible(&self, state: &WorldState<S>) -> Option<Move> {
        if !self.reduce {
            return None;
        }
        (0..state.clients.len() as u32).find_map(|client| {
            let steps = self.own_steps(state, client);
            match steps[..] {
                [step] if self.is_invisible(state, client, &steps) => Some(step),
                _ => None,
            }
        })
    }

    /// Every step that can be taken, faults included; where a client's next steps are invisible,
    /// those alone.
    pub(super) fn enabled(&self, state: &WorldState<S>) -> Vec<Move> {
        let clients = 0..state.clients.len() as u32;
        let mut steps = Vec::new();
        for client in clients {
            let own = self.own_steps(state, client);
            if self.reduce && self.is_invisible(state, client, &own) {
                return own;
            }
            steps.extend(own);
        }
        steps.extend(self.unasked(state));
        steps.extend(self.faults(state));
        steps
    }

    /// The steps of the server and of time.
    fn unasked(&self, state: &WorldState<S>) -> Vec<Move> {
        let full = |(connection, wire): (&u64, &WireState<_>)| {
            (!wire.up.is_empty()).then_some(Move::Arrive(*connection))
        };
        let mut steps: Vec<Move> = state.wires.iter().filter_map(full).collect();
        if self.case.unlimited {
            return steps;
        }
        for (client, part) in (0..).zip(&state.clients) {
            if part.stage == ClientStage::Gone
                && S::Standalone::session(state.server(), connections(client)).is_some()
            {
                steps.push(Move::Expire(client));
            }
        }
        if self.may_lapse(state) {
            steps.push(Move::Lapse);
        }
        steps
    }

    /// Returns true if time may pass without harm: somebody waits for the lock, and nothing else
    /// can happen.
    pub(super) fn may_lapse(&self, state: &WorldState<S>) -> bool {
        let still = |client| state.is_quiet(client) && self.own_steps(state, client).is_empty();
        !S::Standalone::SESSIONS
            && !self.case.unlimited
            && !state.lapsed
            && state.clients.iter().any(ClientPart::is_acquiring)
            && (0..state.clients.len() as u32).all(still)
    }

    fn faults(&self, state: &WorldState<S>) -> Vec<Move> {
        let mut steps = Vec::new();
        if state.faults >= self.case.faults {
            return steps;
        }
        let may = |kind| self.case.kinds.contains(&kind);
        for (client, part) in (0..).zip(&state.clients) {
            if part.stage == ClientStage::Gone {
                continue;
            }
            let under_way: usize = state.wires_of(client).map(|(_, wire)| wire.up.len()).sum();
            // A client that has done all it has to do leaves nothing behind.
            if may(FaultKind::Crash)
                && (part.stage != ClientStage::Idle || part.turns < self.case.cycles)
            {
                steps.extend((0..=under_way).map(|kept| Move::Crash(client, kept)));
            }
            if may(FaultKind::Expire)
                && S::Standalone::session(state.server(), connections(client)).is_some()
            {
                steps.push(Move::Expire(client));
            }
            if may(FaultKind::Reset) {
                for (connection, wire) in state.wires_of(client).filter(|(_, w)| serves::<S>(w)) {
                    steps.extend((0..=wire.up.len()).map(|kept| Move::Reset(connection, kept)));
                }
            }
        }
        let stands = || !state.store.things.is_empty();
        if may(FaultKind::Expire) && !S::Standalone::SESSIONS && !self.may_lapse(state) && stands()
        {
            steps.push(Move::Lapse);
        }
        steps
    }

    /// Returns the reason why no step but faults can be taken in a state; `None` when nobody waits.
    pub(super) fn stuck(&mut self, state: &WorldState<S>) -> Option<Stuck> {
        let waits = |state: &WorldState<S>| {
            let waiting = state.clients.iter().enumerate().filter(|(_, part)| part.is_acquiring());
            waiting.map(|(client, _)| client).collect::<Vec<_>>()
        };
        let waiting = waits(state);
        if waiting.is_empty() {
            return None;
        }
        let mut later = state.clone();
        for _ in 0..TRIES {
            for client in 0..later.clients.len() as u32 {
                for timer in later.clients[client as usize].timers.clone() {
                    self.apply(&mut later, Move::Wake(client, timer.id), &mut SeenStep::default());
                    self.run(&mut later);
                }
            }
        }
        if waits(&later) != waiting {
            return Some(Stuck::Polling);
        }
        Some(Stuck::Forever)
    }

    /// Takes any steps that are not faults, as long as there are some; grants stay unused.
    fn run(&mut self, state: &mut WorldState<S>) {
        for _ in 0..STEP_LIMIT {
            let clients = 0..state.clients.len() as u32;
            let mut steps: VecDeque<Move> = self.unasked(state).into();
            steps.extend(clients.clone().flat_map(|c| traffic(state, c).collect::<Vec<_>>()));
            let ticks = clients.flat_map(|client| self.own_steps(state, client));
            steps.extend(ticks.filter(|step| matches!(step, Move::Tick(_))));
            let Some(step) = steps.pop_front() else { return };
            self.apply(state, step, &mut SeenStep::default());
        }
    }

    /// A client waits for a key that nobody else ever asked for.
    pub(super) fn waits_in_vain(&self, state: &WorldState<S>) -> bool {
        if self.case.keys < 2 || self.task.keys > 1 {
            return false;
        }
        (0..).zip(&state.clients).any(|(client, part)| {
            let alone = (0..).zip(&state.clients).all(|(other, theirs): (u32, _)| {
                other == client
                    || theirs.turns == 0
                    || other % self.case.keys != client % self.case.keys
            });
            alone && part.is_acquiring() && part.timers.is_empty() && state.is_quiet(client)
        })
    }
}

/// Returns the deliveries that are under way from and to a client.
fn traffic<S: Store>(state: &WorldState<S>, client: u32) -> impl Iterator<Item = Move> {
    state.wires_of(client).flat_map(|(connection, wire)| {
        let up = (!wire.up.is_empty()).then_some(Move::Arrive(connection));
        let down = (!wire.down.is_empty()).then_some(Move::Hear(connection));
        up.into_iter().chain(down)
    })
}

/// A connection that its client can use.
fn serves<S: Store>(wire: &WireState<PacketOf<S>>) -> bool {
    let opens = |packet: &Rc<Printed<PacketOf<S>>>| S::Standalone::opens(&packet.packet);
    wire.open
        && !wire.up.iter().filter_map(|up| up.packet.as_ref()).any(opens)
        && !wire.down.iter().flatten().any(opens)
}

/// The reason why a state has no step that leads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Because nothing leads on.
    Forever,
    /// Only because pollers were not let try again: somebody would get on.
    Polling,
}
