//! The nemesis that follows a fault script.
//!
//! A fault `at` a time is independent of the others. One `when` something happens looks out for it
//! from when the fault before it in the script has come.

mod hit;
mod watch;

use base::{ClientView, Fault, Mono, Nemesis, Next, Node, Rng, View};
use std::collections::VecDeque;
use std::sync::Arc;

use super::{Aim, FaultScript, LockEvent, Moment, ScriptFault, Whom};
pub(super) use hit::Hit;
use watch::{ClientHit, ClientsSeen};

/// A fault script as a nemesis.
pub struct Follower {
    script: Arc<FaultScript>,
    stages: Vec<FaultStage>,
    /// The places of the faults at times that are still to come, in the order of these.
    timed: VecDeque<usize>,
    /// The places of those that are due, or look out for their moments, in order.
    open: Vec<usize>,
    watch: ClientsSeen,
    /// The client that the last fault hit.
    last_client: Option<u32>,
    /// The rest of the last fault, at other nodes.
    more: VecDeque<Fault>,
    /// The place of the last fault in the script.
    last: usize,
    /// True if one of them is to hit a server that leads or follows.
    looks_at_standings: bool,
    /// The time from which those of the script count: that of the first look.
    origin: Option<Mono>,
}

/// The stage of one fault of the script.
#[derive(Clone, Debug, Default)]
enum FaultStage {
    /// The fault before it has not come.
    #[default]
    Waiting,
    /// It looks out for its moment, since this time.
    Watching { since: Mono, passed: u32, candidates: Vec<ClientHit> },
}

/// The time at which a fault of the script is due.
enum Due {
    /// It is, to the client of its moment.
    Now(Option<ClientHit>),
    /// At this time at the earliest, unless something happens to a client.
    Later(Mono),
    /// When something has happened to a client.
    Unknown,
}

impl Follower {
    /// A nemesis that has yet to begin with a script.
    pub fn new(script: Arc<FaultScript>) -> Self {
        let stages = vec![FaultStage::Waiting; script.entries.len()];
        let at = |place: &usize| script.entries[*place].moment.at();
        let mut timed: Vec<usize> = (0..stages.len()).filter(|it| at(it).is_some()).collect();
        timed.sort_by_key(at);
        let mut follower = Self {
            stages,
            timed: timed.into(),
            open: Vec::new(),
            watch: ClientsSeen::default(),
            last_client: None,
            more: VecDeque::new(),
            last: 0,
            looks_at_standings: script.entries.iter().any(|entry| entry.aim.is_by_standing()),
            origin: None,
            script,
        };
        follower.begin_watching(0, Mono::ZERO);
        follower
    }

    /// Tells each fault that looks out for its moment what has happened.
    fn look(&mut self, view: &View<'_>) {
        let seen = self.watch.look(view);
        for place in &self.open {
            let entry = &self.script.entries[*place];
            let FaultStage::Watching { passed, candidates, .. } = &mut self.stages[*place] else {
                continue;
            };
            let Moment::When { trigger, command, client, nth, .. } = entry.moment else { continue };
            for event in seen.iter().filter(|event| event.is(source(trigger), command)) {
                if client.is_none_or(|client| client == event.hit.client) {
                    *passed += 1;
                    candidates.extend((*passed >= nth).then_some(event.hit));
                }
            }
        }
    }

    /// Lets the fault at this place look out for its moment, if it has one.
    fn begin_watching(&mut self, place: usize, since: Mono) {
        let entry = self.script.entries.get(place);
        if entry.is_some_and(|entry| entry.moment.at().is_none()) {
            self.stages[place] = FaultStage::Watching { since, passed: 0, candidates: Vec::new() };
            self.open(place);
        }
    }

    fn open(&mut self, place: usize) {
        let order = self.open.partition_point(|other| *other < place);
        self.open.insert(order, place);
    }

    /// Opens the faults whose times have come.
    fn open_due(&mut self, now: Mono) {
        while self.next_timed(now).is_some_and(|at| at <= now)
            && let Some(place) = self.timed.pop_front()
        {
            self.open(place);
        }
    }

    /// The next time of a fault that is still to come.
    fn next_timed(&mut self, now: Mono) -> Option<Mono> {
        let at = self.script.entries[*self.timed.front()?].moment.at()?;
        Some(*self.origin.get_or_insert(now) + at)
    }

    fn due(&mut self, place: usize, view: &View<'_>) -> Due {
        let entry = &self.script.entries[place];
        match (entry.moment, &mut self.stages[place]) {
            (Moment::At(_), _) => Due::Now(None),
            (
                Moment::When { trigger: LockEvent::Fault, after, .. },
                FaultStage::Watching { since, .. },
            ) => match *since + after {
                at if at <= view.now => Due::Now(None),
                at => Due::Later(at),
            },
            (Moment::When { trigger, after, .. }, FaultStage::Watching { candidates, .. }) => {
                let after = after + trigger.lasts(view.ttl);
                let must_stand = |candidate: &ClientHit| {
                    trigger == LockEvent::Working || hits(&entry.aim, candidate)
                };
                candidates.retain(|it| !must_stand(it) || it.stands(view));
                match candidates.first() {
                    None => Due::Unknown,
                    Some(first) if first.at + after <= view.now => Due::Now(Some(*first)),
                    Some(first) => Due::Later(first.at + after),
                }
            }
            (_, FaultStage::Waiting) => Due::Unknown,
        }
    }

    /// The faults of an entry, as far as there is somebody to hit.
    fn hit(
        &self,
        entry: &ScriptFault,
        moment: Option<ClientHit>,
        view: &View<'_>,
        rng: &mut Rng,
    ) -> Vec<Fault> {
        let of = |asks| moment.filter(|hit| hit.asks() == asks).map(|hit| hit.client);
        let last_client = self.last_client;
        let mut hit = Hit { view, rng, holder: of(false), asker: of(true), last_client };
        hit.faults(entry.action, &entry.aim)
    }

    /// Injects what is due now, if anything is.
    fn inject(&mut self, view: &View<'_>, rng: &mut Rng) -> Option<Next> {
        let script = self.script.clone();
        self.open_due(view.now);
        for order in 0..self.open.len() {
            let place = self.open[order];
            let entry = &script.entries[place];
            let Due::Now(moment) = self.due(place, view) else { continue };
            let mut faults: VecDeque<Fault> = self.hit(entry, moment, view, rng).into();
            let Some(fault) = faults.pop_front() else { continue };
            self.open.remove(order);
            self.begin_watching(place + 1, view.now);
            (self.more, self.last) = (faults, place);
            self.last_client = client_of(&fault).or(self.last_client);
            return Some(Next::Inject { fault, lasts: entry.lasts });
        }
        None
    }

    /// Says when to ask again.
    fn wait(&mut self, view: &View<'_>) -> Next {
        let mut earliest = self.next_timed(view.now);
        let watches = !self.open.is_empty();
        for order in 0..self.open.len() {
            if let Due::Later(at) = self.due(self.open[order], view) {
                earliest = Some(earliest.map_or(at, |earliest| earliest.min(at)));
            }
        }
        match earliest {
            Some(at) if watches => Next::WatchUntil(at),
            Some(at) => Next::At(at),
            None if watches => Next::Watch,
            None => Next::Done,
        }
    }
}

impl Nemesis for Follower {
    fn next(&mut self, view: &View<'_>, rng: &mut Rng) -> Next {
        if let Some(fault) = self.more.pop_front() {
            return Next::Also { fault, lasts: self.script.entries[self.last].lasts };
        }
        let clients = unmarked(view.clients);
        let view = &View { clients: &clients, ..*view };
        self.look(view);
        self.inject(view, rng).unwrap_or_else(|| self.wait(view))
    }

    fn looks_at_standings(&self) -> bool {
        self.looks_at_standings
    }

    fn line(&self) -> Option<u32> {
        self.script.entries.get(self.last).map(|entry| entry.line)
    }
}

/// The trigger whose moments are looked out for: a hold begins with its grant.
const fn source(trigger: LockEvent) -> LockEvent {
    match trigger {
        LockEvent::Working => LockEvent::Granted,
        other => other,
    }
}

/// Returns true if the client of a moment is hit itself: it has to be still what it was.
fn hits(aim: &Aim, moment: &ClientHit) -> bool {
    aim.mentions().any(|whom| match whom {
        Whom::Holder => !moment.asks(),
        Whom::Asker => moment.asks(),
        Whom::Client(named) => *named == moment.client,
        _ => false,
    })
}

/// The same clients as if no fault hit them: what a script names is hit whatever else hits it.
fn unmarked(clients: &[ClientView]) -> Vec<ClientView> {
    clients.iter().map(|client| ClientView { faulted: false, ..client.clone() }).collect()
}

/// The first client that a fault hits.
fn client_of(fault: &Fault) -> Option<u32> {
    fault.nodes().into_iter().find_map(|node| match node {
        Node::Client(client) => Some(client),
        Node::Server(_) | Node::Vault => None,
    })
}

#[cfg(test)]
mod tests;
