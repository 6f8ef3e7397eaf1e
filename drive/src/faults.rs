//! The faults of a run: asks the nemeses, remembers what is in force, heals what has lasted.

use base::{
    ClientView, F, Fault, FaultId, Kind, Matters, Mono, Nemesis, Next, Node, Passing, Rng,
    ServerStanding, View,
};
use std::time::Duration;

use super::Recorder;
use super::recorder::FaultOutcome;
use crate::plan::Plan;

struct ActiveFault {
    id: FaultId,
    /// The index of the nemesis that wanted it.
    owner: usize,
    fault: Fault,
    heal_at: Mono,
    injected: bool,
    healing: bool,
}

struct FaultSource {
    nemesis: Box<dyn Nemesis>,
    ask_at: Mono,
    /// The time at which it is to be asked whatever happens, if it watches only so long.
    until: Option<Mono>,
    done: bool,
}

/// A fault that a nemesis wants now.
pub struct WantedFault {
    pub id: FaultId,
    pub fault: Fault,
    /// The line of the fault script that asked for it.
    pub line: Option<u32>,
}

/// The servers as the nemeses see them.
#[derive(Clone, Copy)]
pub struct ServersSeen<'a> {
    /// The one that answered last to an acquire or a release, if one has.
    pub answering: Option<u32>,
    /// The standing of each among the others, if a nemesis looks at it.
    pub standings: &'a [Option<ServerStanding>],
}

pub struct Faults {
    sources: Vec<FaultSource>,
    active: Vec<ActiveFault>,
    next_id: FaultId,
    rng: Rng,
    /// The time at which every fault is ended, if they are drawn: what would be too short to matter
    /// then is left out.
    until: Option<Mono>,
}

impl Faults {
    pub fn new(nemeses: Vec<Box<dyn Nemesis>>, rng: Rng) -> Self {
        let source =
            |nemesis| FaultSource { nemesis, ask_at: Mono::ZERO, until: None, done: false };
        let sources = nemeses.into_iter().map(source).collect();
        Self { sources, active: Vec::new(), next_id: 0, rng, until: None }
    }

    /// Draws no faults that would be too short to matter, since all are ended at this time.
    pub fn end_by(&mut self, until: Mono) {
        self.until = Some(until);
    }

    /// Returns true if a fault hits this node now.
    pub fn hits(&self, node: Node) -> bool {
        self.active.iter().any(|active| active.fault.nodes().contains(&node))
    }

    pub fn none_active(&self) -> bool {
        self.active.is_empty()
    }

    /// Returns the earliest time at which a nemesis wants to be asked or a fault is to be healed.
    pub fn next_look(&self) -> Option<Mono> {
        let waiting = self.sources.iter().filter(|source| !source.done);
        let asks = waiting.flat_map(|source| [Some(source.ask_at), source.until]).flatten();
        let heals = self.active.iter().filter(|a| !a.healing).map(|active| active.heal_at);
        asks.filter(|at| *at > Mono::ZERO).chain(heals).min()
    }

    /// Returns true if a nemesis has to be asked now.
    pub fn wants_to_be_asked(&self, now: Mono) -> bool {
        self.sources.iter().any(|source| !source.done && source.ask_at <= now)
    }

    /// Returns true if a nemesis looks at the standing of servers among the others.
    pub fn look_at_standings(&self) -> bool {
        self.sources.iter().any(|source| source.nemesis.looks_at_standings())
    }

    /// Returns the nemeses' interest in replies that pass. One may want to be asked whatever
    /// happens.
    pub fn passing(&self) -> Passing {
        let mut asks =
            self.sources.iter().filter(|source| !source.done).map(|source| source.ask_at);
        match asks.clone().next() {
            None => Passing::Ignored,
            Some(_) if asks.any(|at| at == Mono::ZERO) => Passing::Awaited,
            Some(_) => Passing::Noted,
        }
    }

    /// The faults that the nemeses want now.
    pub fn ask(
        &mut self,
        now: Mono,
        plan: &Plan,
        mut clients: Vec<ClientView>,
        servers: ServersSeen<'_>,
        recorder: &mut Recorder,
    ) -> Vec<WantedFault> {
        let mut wanted = Vec::new();
        for owner in 0..self.sources.len() {
            while let Some((fault, lasts)) =
                self.ask_one(owner, now, plan, &clients, servers, recorder)
            {
                for node in fault.nodes() {
                    if let Node::Client(client) = node {
                        clients[client as usize].faulted = true;
                    }
                }
                self.next_id += 1;
                let id = self.next_id;
                let heal_at = now + lasts;
                let line = self.sources[owner].nemesis.line();
                wanted.push(WantedFault { id, fault: fault.clone(), line });
                let active =
                    ActiveFault { id, owner, fault, heal_at, injected: false, healing: false };
                self.active.push(active);
            }
        }
        wanted
    }

    fn ask_one(
        &mut self,
        owner: usize,
        now: Mono,
        plan: &Plan,
        clients: &[ClientView],
        servers: ServersSeen<'_>,
        recorder: &mut Recorder,
    ) -> Option<(Fault, Duration)> {
        let active = self.active.iter().filter(|active| active.owner == owner).count();
        let source = &mut self.sources[owner];
        if source.done || now < source.ask_at {
            return None;
        }
        let view = View {
            now,
            ttl: plan.run.fault_scale(),
            clients,
            servers: &plan.servers,
            peers: plan.peers,
            answering: servers.answering,
            standings: servers.standings,
            active,
        };
        // "Watch" asks again at the next event, whatever it is.
        (source.ask_at, source.until) = (Mono::ZERO, None);
        match source.nemesis.next(&view, &mut self.rng) {
            Next::Inject { fault, lasts } | Next::Also { fault, lasts }
                if self.until.is_some_and(|until| now + lasts.min(least(&fault, plan)) > until) => {
            }
            Next::Inject { fault, lasts } | Next::Also { fault, lasts } => {
                recorder.played.fault(&fault, lasts, &view);
                return Some((fault, lasts));
            }
            Next::At(at) => source.ask_at = at,
            Next::Watch => {}
            Next::WatchUntil(at) => source.until = Some(at),
            Next::Done => source.done = true,
        }
        None
    }

    pub fn injected(&mut self, id: FaultId, at: Mono, recorder: &mut Recorder) {
        if let Some(active) = self.active.iter_mut().find(|active| active.id == id) {
            active.injected = true;
            recorder.fault(at, Kind::Info, F::Fault, id, &active.fault, FaultOutcome::default());
        }
    }

    /// The faults whose time is over, each once.
    pub fn due(&mut self, now: Mono) -> Vec<(FaultId, Fault)> {
        let over =
            |active: &&mut ActiveFault| active.heal_at <= now && active.injected && !active.healing;
        let due = self.active.iter_mut().filter(over).map(|active| {
            active.healing = true;
            (active.id, active.fault.clone())
        });
        due.collect()
    }

    /// The time of every fault that is in force is over.
    pub fn end_all(&mut self, now: Mono) {
        for active in &mut self.active {
            active.heal_at = active.heal_at.min(now);
        }
    }

    /// A fault is undone. Returns it.
    pub fn healed(
        &mut self,
        id: FaultId,
        outcome: FaultOutcome,
        at: Mono,
        recorder: &mut Recorder,
    ) -> Option<Fault> {
        let place = self.active.iter().position(|active| active.id == id)?;
        let active = self.active.remove(place);
        recorder.fault(at, Kind::Info, F::Heal, id, &active.fault, outcome);
        Some(active.fault)
    }

    /// Nobody will undo a fault, since it could not be injected or undone.
    pub fn give_up(&mut self, id: FaultId) {
        self.active.retain(|active| active.id != id);
    }
}

/// Returns the shortest time for which a fault has to last to matter to a grant that is new.
fn least(fault: &Fault, plan: &Plan) -> Duration {
    let at_client = || fault.nodes().iter().any(|node| matches!(node, Node::Client(_)));
    match fault.spec().matters {
        Matters::WhenItOutlasts if at_client() => plan.run.fault_scale(),
        Matters::WhenItOutlasts => plan.run.call_timeout(),
        // A clock is wrong as soon as it jumps.
        Matters::Always | Matters::WhenClocksDiffer => Duration::ZERO,
    }
}
