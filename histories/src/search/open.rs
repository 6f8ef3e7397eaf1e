//! Operations under way at each place of a history: those that began and are not answered, and
//! those of unknown outcome, which stay for ever.

use super::bits::Bits;
use super::config::Way;
use crate::models::Model;
use crate::operation::Operation;
use crate::places;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// The begin or the answer of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OperationEvent {
    pub(super) place: u64,
    /// The operation, doubled; plus one for its answer.
    code: u32,
}

impl OperationEvent {
    pub(super) fn operation(self) -> usize {
        self.code as usize / 2
    }

    pub(super) fn is_answer(self) -> bool {
        self.code % 2 == 1
    }
}

/// All begins and answers in order; operations that cannot matter are left out.
pub(super) struct Timeline {
    pub(super) events: Vec<OperationEvent>,
    /// True for each operation whose process does nothing else while it may take place.
    pub(super) alone: Vec<bool>,
    /// The same, but for operations of unknown outcome that do not [disturb](Model::disturbs) it.
    pub(super) steady: Vec<bool>,
}

impl Timeline {
    /// The operations that can matter, as they begin.
    pub(super) fn begun(&self) -> impl Iterator<Item = usize> {
        let begins = self.events.iter().filter(|event| !event.is_answer());
        begins.map(|event| event.operation())
    }

    pub(super) fn of<M: Model>(model: &M, operations: &[&Operation], steps: &[M::Step]) -> Self {
        let last = last(operations);
        let matters = |id: &usize| operations[*id].certain() || !model.idle(&steps[*id], last[*id]);
        let kept: Vec<usize> = (0..operations.len()).filter(matters).collect();
        let mut events = Vec::with_capacity(kept.len() * 2);
        for id in &kept {
            let (operation, code) = (operations[*id], *id as u32 * 2);
            if operation.certain() {
                events.push(OperationEvent { place: operation.deadline(), code: code + 1 });
            }
            events.push(OperationEvent { place: operation.invoke, code });
        }
        let disturbs = |id: &usize| operations[*id].certain() || model.disturbs(&steps[*id]);
        let steady = alone(operations, kept.iter().copied().filter(disturbs).collect());
        let alone = alone(operations, kept);
        if !places::sort(&mut events, |event| event.place) {
            // At one place, begins come first: an operation whose answer is not after its begin is
            // taken to have been open for a moment.
            events.sort_by_key(|event| (event.place, event.is_answer()));
        }
        Self { events, alone, steady }
    }
}

/// The operations after whose begin nothing that their process certainly did was answered.
fn last(operations: &[&Operation]) -> Vec<bool> {
    let mut answered: HashMap<u32, u64, FxBuildHasher> = HashMap::default();
    for operation in operations.iter().filter(|operation| operation.certain()) {
        let latest = answered.entry(operation.process).or_default();
        *latest = operation.deadline().max(*latest);
    }
    let latest = |process| answered.get(&process);
    let last = |op: &&Operation| latest(op.process).is_none_or(|latest| *latest < op.invoke);
    operations.iter().map(last).collect()
}

/// The operations whose process has no other one of these from their begin to where they must have
/// happened.
fn alone(operations: &[&Operation], mut order: Vec<usize>) -> Vec<bool> {
    order.sort_by_key(|id| operations[*id].invoke);
    let mut alone = vec![true; operations.len()];
    // The latest operation of each process, and until when it is busy with all so far.
    let mut busy: HashMap<u32, (usize, u64), FxBuildHasher> = HashMap::default();
    for id in order {
        let operation = operations[id];
        let before = busy.insert(operation.process, (id, operation.deadline()));
        let Some((last, until)) = before else { continue };
        alone[id] = until < operation.invoke;
        alone[last] &= operations[last].deadline() < operation.invoke;
        busy.insert(operation.process, (id, until.max(operation.deadline())));
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
struct OptionalKind {
    /// One of them.
    operation: usize,
    begun: u32,
    /// All of them are.
    alone: bool,
}

/// The open operations at a place.
pub(super) struct OpenOperations<'a, M: Model> {
    model: &'a M,
    operations: &'a [&'a Operation],
    steps: &'a [M::Step],
    alone: &'a [bool],
    steady: &'a [bool],
    slots: Vec<Option<usize>>,
    free: Vec<usize>,
    /// The slot of each operation, while it is open.
    slot_of: Vec<u32>,
    /// The slots of steps that are [pure](Model::pure), of those that are
    /// [constant](Model::constant), and of all others.
    pub(super) pure: Bits,
    pub(super) constant: Bits,
    pub(super) firm: Bits,
    kinds: Vec<OptionalKind>,
    kind_of: HashMap<&'a M::Step, usize, FxBuildHasher>,
    /// Every optional operation that began, for the explanation.
    optional: Vec<u32>,
}

impl<'a, M: Model> OpenOperations<'a, M> {
    pub(super) fn of(
        model: &'a M,
        timeline: &'a Timeline,
        operations: &'a [&'a Operation],
        steps: &'a [M::Step],
    ) -> Self {
        Self {
            model,
            operations,
            steps,
            alone: &timeline.alone,
            steady: &timeline.steady,
            slots: Vec::new(),
            free: Vec::new(),
            slot_of: vec![0; steps.len()],
            pure: Bits::default(),
            constant: Bits::default(),
            firm: Bits::default(),
            kinds: Vec::new(),
            kind_of: HashMap::default(),
            optional: Vec::new(),
        }
    }

    /// Takes the next event; the slot of the operation, if it is its answer.
    pub(super) fn step(&mut self, event: &OperationEvent) -> Option<usize> {
        let id = event.operation();
        if event.is_answer() {
            return Some(self.slot_of[id] as usize);
        }
        if self.operations[id].certain() {
            self.begin(id);
        } else {
            self.begin_optional(id);
        }
        None
    }

    fn begin(&mut self, id: usize) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(id);
        self.slot_of[id] = slot as u32;
        self.sort_of(id).set(slot);
    }

    fn sort_of(&mut self, id: usize) -> &mut Bits {
        match &self.steps[id] {
            step if self.model.pure(step) => &mut self.pure,
            step if self.model.constant(step) => &mut self.constant,
            _ => &mut self.firm,
        }
    }

    fn begin_optional(&mut self, id: usize) {
        let kinds = &mut self.kinds;
        let kind = *self.kind_of.entry(&self.steps[id]).or_insert_with(|| {
            kinds.push(OptionalKind { operation: id, begun: 0, alone: true });
            kinds.len() - 1
        });
        kinds[kind].begun += 1;
        kinds[kind].alone &= self.alone[id];
        self.optional.push(id as u32);
    }

    /// The operation in this slot is over.
    pub(super) fn close(&mut self, slot: usize) {
        if let Some(id) = self.slots[slot].take() {
            self.sort_of(id).remove(slot);
            self.free.push(slot);
        }
    }

    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate> {
        let slots = self.slots.iter().enumerate().filter(|(_, id)| id.is_some());
        let slots = slots.map(|(slot, _)| Candidate::Slot(slot));
        slots.chain((0..self.kinds.len()).map(Candidate::Kind))
    }

    fn operation_of(&self, candidate: Candidate) -> usize {
        match candidate {
            Candidate::Slot(slot) => self.slots[slot].expect("a candidate is open"),
            Candidate::Kind(kind) => self.kinds[kind].operation,
        }
    }

    #[inline]
    pub(super) fn step_of(&self, candidate: Candidate) -> &'a M::Step {
        &self.steps[self.operation_of(candidate)]
    }

    /// Returns the last place at which it can have happened.
    pub(super) fn deadline(&self, candidate: Candidate) -> u64 {
        match candidate {
            Candidate::Slot(_) => self.operations[self.operation_of(candidate)].deadline(),
            Candidate::Kind(_) => u64::MAX,
        }
    }

    pub(super) fn alone(&self, candidate: Candidate) -> bool {
        match candidate {
            Candidate::Slot(_) => self.alone[self.operation_of(candidate)],
            Candidate::Kind(kind) => self.kinds[kind].alone,
        }
    }

    /// Returns true if it certainly happened and nothing but doubts that do not disturb it is
    /// beside it in its process.
    pub(super) fn steady(&self, candidate: Candidate) -> bool {
        match candidate {
            Candidate::Slot(_) => self.steady[self.operation_of(candidate)],
            Candidate::Kind(_) => false,
        }
    }

    /// Returns true if a line that has gone this way can take it.
    #[inline]
    pub(super) fn is_left(&self, candidate: Candidate, way: &Way) -> bool {
        match candidate {
            // What is pure and on the line already would be of no use once more.
            Candidate::Slot(slot) => {
                !(way.used.has(slot) || self.pure.has(slot) && way.done.has(slot))
            }
            Candidate::Kind(kind) => way.spent(kind) < self.kinds[kind].begun,
        }
    }

    /// Puts it on the line. Right before a constant step, all that are constant leave no trace; and
    /// a pure one leaves none wherever it stands.
    pub(super) fn take(&self, candidate: Candidate, way: &mut Way) {
        let constant = match candidate {
            Candidate::Slot(slot) => {
                way.done.set(slot);
                if !self.pure.has(slot) {
                    way.used.set(slot);
                }
                self.constant.has(slot)
            }
            Candidate::Kind(kind) => {
                way.spend(kind);
                self.model.constant(self.step_of(candidate))
            }
        };
        if constant {
            way.done.add(&self.constant);
        }
    }

    /// The number of optional operations with this step that one way has spent and another has not.
    pub(super) fn left(&self, step: &M::Step, less: &Way, more: &Way) -> u32 {
        let kind = self.kind_of.get(step);
        kind.map_or(0, |kind| more.spent(*kind).saturating_sub(less.spent(*kind)))
    }

    /// The open steps that are on the one way and not on the other.
    pub(super) fn ahead(&self, of: &Way, way: &Way) -> SmallVec<[&'a M::Step; 4]> {
        let slots = (0..self.slots.len()).filter(|slot| way.used.has(*slot) && !of.used.has(*slot));
        slots.map(|slot| self.step_of(Candidate::Slot(slot))).collect()
    }

    /// The open steps that must yet be put on a line that has gone this way.
    pub(super) fn certain(&self, way: &Way) -> impl Iterator<Item = &'a M::Step> {
        let open = self.slots.iter().enumerate().filter_map(|(slot, id)| Some((slot, (*id)?)));
        open.filter(|(slot, _)| !way.done.has(*slot)).map(|(_, id)| &self.steps[id])
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
