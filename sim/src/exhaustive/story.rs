//! The observations of some steps: why the states are bad to which they led, and their story.

use base::{Effect, Event, F, Fault, FaultEvent, FaultId, Kind, Ledger, Mono, Node, Process};
use std::time::Duration;
use stores::model::Noted;

use super::Sign;
use super::action::Move;
use stores::LedgerBuilder;

/// The time that goes by at once: beyond every ttl, however a recipe rounds it up.
pub const LAPSE: Duration = Duration::from_secs(1_000);

/// A step as it is seen.
#[derive(Clone, Debug, Default)]
pub struct SeenStep {
    /// The reasons for which the state is bad to which it led.
    pub signs: Vec<Sign>,
    /// The story to add the step to; `None` if nobody wants one.
    pub story: Option<ScheduleStory>,
}

/// The story of a schedule: its steps, its history and its ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleStory {
    /// Every step, those that were taken at once included: this list replays without any rule.
    pub actions: Vec<Move>,
    /// The history. A step takes a millisecond in it, so that what clients see keeps its order.
    pub events: Vec<Event>,
    /// The steps that matter, in words.
    pub lines: Vec<String>,
    /// The ledger in the making.
    pub(super) builder: LedgerBuilder,
    /// The time for which clients have been paused.
    paused: Duration,
    faults: FaultId,
}

impl ScheduleStory {
    /// The ledger: each change in the store.
    pub fn ledger(&self) -> &Ledger {
        self.builder.ledger()
    }

    /// No fault was needed.
    pub fn is_faultless(&self) -> bool {
        self.faults == 0
    }

    fn now(&self) -> Mono {
        Mono::ZERO + Duration::from_millis(self.actions.len() as u64) + self.paused
    }

    fn push(&mut self, process: Process, kind: Kind, f: F, more: impl FnOnce(&mut Event)) {
        let mut event = Event::new(self.now().nanos(), process, kind, f);
        more(&mut event);
        self.events.push(event);
    }

    /// Tells of some faults at once, for as long as nobody else does anything.
    fn faults(&mut self, faults: &[(Fault, Effect)], lasts: Duration) {
        let first = self.faults;
        let numbered = || (first..).zip(faults);
        for (id, (fault, _)) in numbered() {
            let about = || {
                Some(Box::new(FaultEvent {
                    id,
                    fault: fault.clone(),
                    effect: None,
                    line: None,
                    leaders: Vec::new(),
                }))
            };
            self.push(Process::Nemesis, Kind::Invoke, F::Fault, |event| event.fault = about());
            self.push(Process::Nemesis, Kind::Info, F::Fault, |event| event.fault = about());
        }
        self.paused += lasts;
        for (id, (fault, effect)) in numbered() {
            let about = |effect| {
                Some(Box::new(FaultEvent {
                    id,
                    fault: fault.clone(),
                    effect,
                    line: None,
                    leaders: Vec::new(),
                }))
            };
            self.push(Process::Nemesis, Kind::Invoke, F::Heal, |event| event.fault = about(None));
            let effect = Some(effect.clone());
            self.push(Process::Nemesis, Kind::Info, F::Heal, |event| event.fault = about(effect));
        }
        self.faults += faults.len() as FaultId;
    }
}

impl SeenStep {
    pub fn line(&mut self, line: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.lines.push(line());
        }
    }

    pub fn event(&mut self, client: u32, kind: Kind, f: F, more: impl FnOnce(&mut Event)) {
        if let Some(story) = &mut self.story {
            story.push(Process::Client(client), kind, f, more);
        }
    }

    /// A fault that is over at once.
    pub fn fault(&mut self, fault: impl FnOnce() -> (Fault, Effect)) {
        if let Some(story) = &mut self.story {
            story.faults(&[fault()], Duration::ZERO);
        }
    }

    /// Pauses these clients until something of theirs has run out.
    pub fn pause(&mut self, clients: impl Iterator<Item = u32>) {
        if let Some(story) = &mut self.story {
            let pause = |client| {
                let fault = Fault::at(Node::Client(client), base::Action::Pause);
                (fault, Effect::of(base::Action::Pause, 1))
            };
            story.faults(&clients.map(pause).collect::<Vec<_>>(), LAPSE);
        }
    }

    /// Enters into the ledger what the server has noted while it served a client, if it served one.
    pub fn note(&mut self, caller: Option<u32>, mut noted: Vec<Noted>) {
        if let Some(story) = &mut self.story {
            story.builder.enter(story.now(), 0, caller, &mut noted);
        }
    }
}
