//! The faults of a history, each with the places where it began and ended.

use base::{Effect, Event, F, Fault, FaultEvent, FaultId, Kind, Node};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// One fault, from its injection to its heal. Places are event indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultSpan {
    /// Its number in the run.
    pub id: FaultId,
    /// The fault as it was injected.
    pub fault: Fault,
    /// The event at which its injection began: it may be in force from here on.
    pub begin: u64,
    /// The event by which it was in force for certain. `None`: the history ends before.
    pub in_force: Option<u64>,
    /// The event by which it was undone for certain. `None`: the history ends before.
    pub healed: Option<u64>,
    /// The effect that was measured.
    pub effect: Option<Effect>,
    /// The line of the fault script that asked for it.
    pub line: Option<u32>,
}

impl FaultSpan {
    /// Every fault of some events, by its begin.
    pub fn of<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<Self> {
        let (mut fault_spans, mut places) = (Vec::<Self>::new(), BTreeMap::<_, usize>::new());
        for event in events {
            let Some(about) = &event.fault else { continue };
            match places.entry(about.id) {
                Entry::Occupied(place) => fault_spans[*place.get()].note(event),
                Entry::Vacant(place) => {
                    place.insert(fault_spans.len());
                    fault_spans.push(Self::new(event, about));
                }
            }
        }
        fault_spans
    }

    fn new(event: &Event, about: &FaultEvent) -> Self {
        let mut fault_span = Self {
            id: about.id,
            fault: about.fault.clone(),
            begin: event.index,
            in_force: None,
            healed: None,
            effect: None,
            line: about.line,
        };
        fault_span.note(event);
        fault_span
    }

    fn note(&mut self, event: &Event) {
        match (event.f, event.kind) {
            (F::Fault, Kind::Info) => self.in_force = Some(event.index),
            (F::Heal, Kind::Info) => self.healed = Some(event.index),
            _ => {}
        }
        let measured = event.fault.as_ref().and_then(|about| about.effect.clone());
        self.effect = measured.or(self.effect.take());
    }

    /// Returns true if it may have been in force somewhere from `from` to `to`, both included.
    pub fn meets(&self, from: u64, to: u64) -> bool {
        self.begin <= to && self.healed.is_none_or(|healed| from <= healed)
    }

    /// Returns true if it was measured to have done something.
    pub fn had_effect(&self) -> bool {
        self.effect.as_ref().is_some_and(|effect| effect.amount > 0)
    }

    /// Returns true if it was measured to have done nothing.
    pub fn had_none(&self) -> bool {
        self.effect.as_ref().is_some_and(|effect| effect.amount == 0)
    }

    /// The clients that it hits.
    pub fn clients(&self) -> impl Iterator<Item = u32> {
        self.fault.nodes().into_iter().filter_map(|node| match node {
            Node::Client(client) => Some(client),
            Node::Server(_) | Node::Vault => None,
        })
    }

    /// The event that shows it best: where it was in force, else where it began.
    pub fn shown_at(&self) -> u64 {
        self.in_force.unwrap_or(self.begin)
    }
}
