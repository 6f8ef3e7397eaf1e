//! What is under way at each place of a history: operations that began and are not answered, and
//! those of unknown outcome, which stay for ever.

use super::bits::Bits;
use super::config::Config;
use crate::models::Model;
use crate::operation::Operation;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::hash::Hash;

/// The begin or the answer of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    place: u64,
    /// The operation, doubled; plus one for its answer.
    code: u32,
}

impl Event {
    pub(super) fn operation(self) -> usize {
        self.code as usize / 2
    }

    fn is_answer(self) -> bool {
        self.code % 2 == 1
    }
}

/// All begins and answers in order; operations that cannot matter are left out.
pub(super) struct Timeline {
    pub(super) events: Vec<Event>,
    /// For each operation, whether it certainly happened.
    certain: Bits,
    /// For each operation, whether its process does nothing else while it may take place.
    alone: Bits,
}

impl Timeline {
    pub(super) fn of<M: Model>(model: &M, operations: &[&Operation], steps: &[M::Step]) -> Self {
        let alone = alone(operations);
        let mut certain = Bits::default();
        let mut events = Vec::with_capacity(operations.len() * 2);
        for (id, operation) in operations.iter().enumerate() {
            let code = id as u32 * 2;
            if operation.certain() {
                certain.set(id);
                events.push(Event { place: operation.deadline(), code: code + 1 });
            } else if model.idle(&steps[id], alone.has(id)) {
                continue;
            }
            events.push(Event { place: operation.invoke, code });
        }
        // At one place, begins come first: an operation whose answer is not after its begin is
        // taken to have been open for a moment.
        events.sort_by_key(|event| (event.place, event.is_answer()));
        Self { events, certain, alone }
    }
}

/// The operations whose process has no other one from their begin to where they must have happened.
fn alone(operations: &[&Operation]) -> Bits {
    let mut order: Vec<usize> = (0..operations.len()).collect();
    order.sort_by_key(|id| (operations[*id].process, operations[*id].invoke));
    let mut alone = Bits::default();
    let mut busy = None;
    for (at, id) in order.iter().enumerate() {
        let operation = operations[*id];
        let same = |other: &&Operation| other.process == operation.process;
        let next = order.get(at + 1).map(|id| operations[*id]).filter(same);
        let before = busy.filter(|(process, _)| *process == operation.process);
        let free_before = before.is_none_or(|(_, until)| until < operation.invoke);
        if free_before && next.is_none_or(|next| operation.deadline() < next.invoke) {
            alone.set(*id);
        }
        let until = before.map_or(0, |(_, until)| until).max(operation.deadline());
        busy = Some((operation.process, until));
    }
    alone
}

/// A step that a line may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    /// The operation in this slot, which certainly happened.
    Slot(usize),
    /// One of this kind of optional operations.
    Kind(usize),
}

/// A kind of optional operations: those with equal steps.
struct Kind {
    /// One of them.
    operation: usize,
    begun: u32,
    /// All of them are.
    alone: bool,
}

/// Which operations are open.
pub(super) struct Open<'a, Step> {
    steps: &'a [Step],
    certain: &'a Bits,
    alone: &'a Bits,
    slots: Vec<Option<usize>>,
    free: Vec<usize>,
    /// The slot of each operation, while it is open.
    slot_of: Vec<u32>,
    kinds: Vec<Kind>,
    kind_of: HashMap<&'a Step, usize, FxBuildHasher>,
    /// Every optional operation that began, for the explanation.
    optional: Vec<u32>,
}

impl<'a, Step: Eq + Hash> Open<'a, Step> {
    pub(super) fn of(timeline: &'a Timeline, steps: &'a [Step]) -> Self {
        Self {
            steps,
            certain: &timeline.certain,
            alone: &timeline.alone,
            slots: Vec::new(),
            free: Vec::new(),
            slot_of: vec![0; steps.len()],
            kinds: Vec::new(),
            kind_of: HashMap::default(),
            optional: Vec::new(),
        }
    }

    /// Takes the next event; the slot of the operation, if it is its answer.
    pub(super) fn step(&mut self, event: &Event) -> Option<usize> {
        let id = event.operation();
        if event.is_answer() {
            return Some(self.slot_of[id] as usize);
        }
        if self.certain.has(id) {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.slots.push(None);
                self.slots.len() - 1
            });
            self.slots[slot] = Some(id);
            self.slot_of[id] = slot as u32;
        } else {
            let kinds = &mut self.kinds;
            let kind = *self.kind_of.entry(&self.steps[id]).or_insert_with(|| {
                kinds.push(Kind { operation: id, begun: 0, alone: true });
                kinds.len() - 1
            });
            kinds[kind].begun += 1;
            kinds[kind].alone &= self.alone.has(id);
            self.optional.push(id as u32);
        }
        None
    }

    /// The operation in this slot is over.
    pub(super) fn close(&mut self, slot: usize) {
        self.slots[slot] = None;
        self.free.push(slot);
    }

    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate> {
        let slots = self.slots.iter().enumerate().filter(|(_, id)| id.is_some());
        let slots = slots.map(|(slot, _)| Candidate::Slot(slot));
        slots.chain((0..self.kinds.len()).map(Candidate::Kind))
    }

    /// Its step, and whether it is optional.
    pub(super) fn step_of(&self, candidate: Candidate) -> (&'a Step, bool) {
        match candidate {
            Candidate::Slot(slot) => {
                (&self.steps[self.slots[slot].expect("a candidate is open")], false)
            }
            Candidate::Kind(kind) => (&self.steps[self.kinds[kind].operation], true),
        }
    }

    pub(super) fn alone(&self, candidate: Candidate) -> bool {
        match candidate {
            Candidate::Slot(slot) => self.slots[slot].is_some_and(|id| self.alone.has(id)),
            Candidate::Kind(kind) => self.kinds[kind].alone,
        }
    }

    /// How many of a kind have begun.
    pub(super) fn begun(&self, kind: usize) -> u32 {
        self.kinds[kind].begun
    }

    /// The open steps that must yet be put on the line of a configuration.
    pub(super) fn certain<S>(&self, config: &Config<S>) -> impl Iterator<Item = &'a Step> {
        let open = self.slots.iter().enumerate().filter_map(|(slot, id)| Some((slot, (*id)?)));
        open.filter(|(slot, _)| !config.taken.has(*slot)).map(|(_, id)| &self.steps[id])
    }

    /// All operations that are open beside this one, in order.
    pub(super) fn beside(&self, goal: usize) -> Vec<usize> {
        let open = self.slots.iter().flatten().copied();
        let optional = self.optional.iter().map(|id| *id as usize);
        let mut all: Vec<usize> = open.chain(optional).filter(|id| *id != goal).collect();
        all.sort_unstable();
        all
    }
}
