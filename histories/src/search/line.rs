//! One line of the operations of a key, for people: the order that a picture shows.
//!
//! The [search](super) keeps nothing of the past, and some of its steps leave no trace; so a line
//! that is to be shown has to be looked for again, once it is decided how far one goes. Here that
//! is done depth first: at each answer the operation takes its point, after as few others as will
//! do. The last choice is taken back where no line goes on from it. Choices before the latest few
//! thousand answers are never taken back: a line that has come so far is hardly ever stuck because
//! of them, and if it is, there is a shorter line to show. A line that is found decides, too: see
//! [`is_soon_found`]. That none is found decides nothing.

use super::EACH;
use super::meter::{Meter, SpentBudget};
use super::open::{OperationEvent, Timeline};
use crate::models::{Around, BeforeGoal, Model};
use crate::operation::{Ended, Operation, Token};
use crate::state::ModelState;
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};

/// The place of an operation on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePoint {
    /// The index of the operation.
    pub operation: usize,
    /// The event right before which it takes place; of several points, one after another.
    pub before: u64,
}

/// An order in which operations can have taken place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its points, in order.
    pub points: Vec<LinePoint>,
    /// The model's states after some of the points, by their number from 0 on.
    pub states: BTreeMap<usize, ModelState>,
    /// All that is answered before this event is on the line. `None`: all there is.
    pub until: Option<u64>,
    /// True if it goes as far as was asked for.
    pub whole: bool,
}

/// The extent of the wanted line, and the points after which its state is recorded.
pub(crate) struct WantedLine<'a> {
    /// The answers before this event have to be on it.
    pub until: u64,
    /// The operations after which the state is recorded, as it is at both ends of the line.
    pub states_after: &'a [usize],
}

/// The number of points at each end of a line after which the state is recorded.
const AT_ENDS: usize = 2_000;
/// The number of choices that can be taken back.
const LEVELS: usize = 4_096;
/// The number of dead ends that are remembered.
const DEAD: usize = 1 << 16;

/// The looks at the clock after which [`is_soon_found`] gives up.
const SOON: usize = 512;

/// Returns true if a line of all operations is found in little time.
pub(super) fn is_soon_found<M: Model>(
    model: &M,
    operations: &[&Operation],
    steps: &[M::Step],
    timeline: &Timeline,
    meter: &mut Meter<'_, '_>,
) -> bool {
    meter.within(SOON, |meter| {
        let mut walk = LineWalk::of(model, operations, steps, timeline, u64::MAX);
        walk.run(meter) == Ok(true)
    })
}

/// Looks for a line of these operations, all of one key, as far as the budget goes.
pub(crate) fn line<M: Model>(
    model: &M,
    operations: &[&Operation],
    wanted: &WantedLine<'_>,
    meter: &mut Meter<'_, '_>,
) -> Line {
    if meter.take(operations.len() * (size_of::<M::Step>() + EACH)).is_err() {
        return Line::default();
    }
    let happened: Vec<usize> =
        (0..operations.len()).filter(|id| operations[*id].ended != Ended::Fail).collect();
    let kept: Vec<&Operation> = happened.iter().map(|id| operations[*id]).collect();
    let Ok(steps) = model.steps(&kept, meter) else { return Line::default() };
    let timeline = Timeline::of(model, &kept, &steps);
    let mut walk = LineWalk::of(model, &kept, &steps, &timeline, wanted.until);
    let whole = walk.run(meter).unwrap_or(false);
    let until = walk.keep_best();
    let is_recorded = |number: usize, id: u32| {
        let ends = number < AT_ENDS || number + AT_ENDS >= walk.points.len();
        ends || wanted.states_after.contains(&happened[id as usize])
    };
    let states = states(model, &steps, &walk.points, is_recorded, meter);
    let point = |(id, before): &(u32, u64)| LinePoint {
        operation: happened[*id as usize],
        before: *before,
    };
    Line { points: walk.points.iter().map(point).collect(), states, until, whole }
}

/// Returns the model's states after the points at which they are recorded.
fn states<M: Model>(
    model: &M,
    steps: &[M::Step],
    points: &[(u32, u64)],
    is_recorded: impl Fn(usize, u32) -> bool,
    meter: &mut Meter<'_, '_>,
) -> BTreeMap<usize, ModelState> {
    let mut states = BTreeMap::new();
    let mut state = model.initial();
    for (number, (id, _)) in points.iter().enumerate() {
        let next = model.apply(&state, &steps[*id as usize]);
        let Some(next) = next.filter(|_| meter.handle(M::heap(&state)).is_ok()) else { break };
        state = next;
        if is_recorded(number, *id) {
            states.insert(number, model.describe(&state));
        }
    }
    states
}

/// One way in which the line may have gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LineConfig<S> {
    state: S,
    /// The operations on the line that are not answered yet, in order.
    taken: SmallVec<[u32; 4]>,
    /// The number of optional operations of each kind on it, by kind; zeros are left out.
    spent: SmallVec<[(u32, u32); 2]>,
}

impl<S> LineConfig<S> {
    fn has(&self, id: u32) -> bool {
        self.taken.binary_search(&id).is_ok()
    }

    fn take(&mut self, id: u32) {
        if let Err(place) = self.taken.binary_search(&id) {
            self.taken.insert(place, id);
        }
    }

    /// Removes an operation that is over, and returns true if it was on the line.
    fn close(&mut self, id: u32) -> bool {
        let place = self.taken.binary_search(&id);
        place.is_ok_and(|place| self.taken.remove(place) == id)
    }

    fn spent(&self, kind: u32) -> u32 {
        let place = self.spent.binary_search_by_key(&kind, |(kind, _)| *kind);
        place.map_or(0, |place| self.spent[place].1)
    }

    fn spend(&mut self, kind: u32) {
        match self.spent.binary_search_by_key(&kind, |(kind, _)| *kind) {
            Ok(place) => self.spent[place].1 += 1,
            Err(place) => self.spent.insert(place, (kind, 1)),
        }
    }
}

/// A step that a line may take.
#[derive(Clone, Copy, Debug)]
enum LineStep {
    /// This operation, which certainly happened.
    Certain(u32),
    /// The next of this kind of optional operations.
    Kind(u32),
}

/// A configuration on the way to an answer, and the operations that led to it.
#[derive(Clone)]
struct Trial<S> {
    config: LineConfig<S>,
    path: SmallVec<[u32; 4]>,
}

/// An answer at which there was a choice.
struct Level<S> {
    /// The place of its event.
    position: usize,
    /// The configuration of the line by then.
    from: LineConfig<S>,
    /// The number of points that the line had.
    points: usize,
    /// The trials that are left.
    work: VecDeque<Trial<S>>,
    /// The trials made that can be carried on by another step before they are tried again.
    tried: VecDeque<Trial<S>>,
    seen: HashSet<LineConfig<S>, FxBuildHasher>,
    /// The bytes that are metered for it.
    bytes: usize,
}

/// The least turn among the operations that begin from each event on.
fn turns(events: &[OperationEvent], turn: impl Fn(usize) -> Option<Token>) -> Vec<Option<Token>> {
    let mut least = None;
    let mut turns: Vec<Option<Token>> = Vec::with_capacity(events.len());
    for event in events.iter().rev() {
        let ours = (!event.is_answer()).then(|| turn(event.operation())).flatten();
        least = [least, ours].into_iter().flatten().min();
        turns.push(least);
    }
    turns.reverse();
    turns
}

struct LineWalk<'a, M: Model> {
    model: &'a M,
    operations: &'a [&'a Operation],
    steps: &'a [M::Step],
    alone: &'a [bool],
    /// The events up to which the line is wanted.
    events: &'a [OperationEvent],
    until: u64,
    /// The least [turn](Model::turn) among the steps that begin from each of the events on, and have
    /// to be on the line.
    turns: Vec<Option<Token>>,
    /// The next of them.
    position: usize,
    /// The operations under way there.
    open: Vec<u32>,
    /// The optional operations that have begun, by kind.
    kinds: Vec<Vec<u32>>,
    kind_of: HashMap<&'a M::Step, u32, FxBuildHasher>,
    levels: VecDeque<Level<M::State>>,
    points: Vec<(u32, u64)>,
    /// The place that the longest line reached which came to a dead end, and its points.
    best: (usize, Vec<(u32, u64)>),
    dead: HashSet<(usize, LineConfig<M::State>), FxBuildHasher>,
}

impl<'a, M: Model> LineWalk<'a, M> {
    fn of(
        model: &'a M,
        operations: &'a [&'a Operation],
        steps: &'a [M::Step],
        timeline: &'a Timeline,
        until: u64,
    ) -> Self {
        let count = timeline.events.partition_point(|event| event.place < until);
        let events = &timeline.events[..count];
        let needed = |id: usize| operations[id].certain() && operations[id].deadline() < until;
        Self {
            model,
            operations,
            steps,
            alone: &timeline.alone,
            turns: turns(events, |id| model.turn(&steps[id]).filter(|_| needed(id))),
            events,
            until,
            position: 0,
            open: Vec::new(),
            kinds: Vec::new(),
            kind_of: HashMap::default(),
            levels: VecDeque::new(),
            points: Vec::new(),
            best: (0, Vec::new()),
            dead: HashSet::default(),
        }
    }

    /// Says whether the line goes as far as it is wanted.
    fn run(&mut self, meter: &mut Meter<'_, '_>) -> Result<bool, SpentBudget> {
        let (state, taken, spent) = (self.model.initial(), SmallVec::new(), SmallVec::new());
        let mut config = LineConfig { state, taken, spent };
        loop {
            self.advance(&mut config, meter)?;
            if self.position == self.events.len() {
                return Ok(true);
            }
            self.enter(config, meter)?;
            match self.go_on(meter)? {
                Some(next) => config = next,
                None => return Ok(false),
            }
        }
    }

    /// Goes back to the longest line there was. Says where it ends.
    fn keep_best(&mut self) -> Option<u64> {
        if self.best.0 > self.position {
            (self.position, self.points) = std::mem::take(&mut self.best);
        }
        let open = Some(self.until).filter(|until| *until != u64::MAX);
        self.events.get(self.position).map(|event| event.place).or(open)
    }

    /// Goes on to the next answer of an operation that is not on the line.
    fn advance(
        &mut self,
        config: &mut LineConfig<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), SpentBudget> {
        while let Some(event) = self.events.get(self.position) {
            meter.tick()?;
            let id = event.operation() as u32;
            match event.is_answer() {
                false => self.begin(id),
                true if config.close(id) => self.open.retain(|open| *open != id),
                true => break,
            }
            self.position += 1;
        }
        Ok(())
    }

    fn begin(&mut self, id: u32) {
        if self.operations[id as usize].certain() {
            self.open.push(id);
            return;
        }
        let kinds = &mut self.kinds;
        let kind = *self.kind_of.entry(&self.steps[id as usize]).or_insert_with(|| {
            kinds.push(Vec::new());
            kinds.len() as u32 - 1
        });
        kinds[kind as usize].push(id);
    }

    /// Takes events back.
    fn rewind(&mut self, position: usize) {
        for event in self.events[position..self.position].iter().rev() {
            let id = event.operation() as u32;
            if event.is_answer() {
                self.open.push(id);
            } else if self.operations[id as usize].certain() {
                self.open.retain(|open| *open != id);
            } else {
                self.kinds[self.kind_of[&self.steps[id as usize]] as usize].pop();
            }
        }
        self.position = position;
    }

    /// Begins to look for ways to the answer at which the line stands.
    fn enter(
        &mut self,
        from: LineConfig<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), SpentBudget> {
        let (position, points) = (self.position, self.points.len());
        let mut work = VecDeque::new();
        if self.dead.is_empty() || !self.dead.contains(&(position, from.clone())) {
            let mut trial = Trial { config: from.clone(), path: SmallVec::new() };
            self.hurry(&mut trial, meter)?;
            work.push_back(trial);
        }
        let bytes = size_of::<Level<M::State>>() + 3 * self.bytes(&from);
        meter.take(bytes)?;
        let (tried, seen) = (VecDeque::new(), HashSet::default());
        self.levels.push_back(Level { position, from, points, work, tried, seen, bytes });
        if self.levels.len() > LEVELS {
            let first = self.levels.pop_front();
            meter.give(first.map_or(0, |level| level.bytes));
        }
        Ok(())
    }

    fn bytes(&self, config: &LineConfig<M::State>) -> usize {
        let lists = config.taken.capacity() * 4 + config.spent.capacity() * 8;
        size_of::<Trial<M::State>>() + M::heap(&config.state) + lists
    }

    /// Puts the next answer on the line, by the latest choice that is left.
    fn go_on(
        &mut self,
        meter: &mut Meter<'_, '_>,
    ) -> Result<Option<LineConfig<M::State>>, SpentBudget> {
        while !self.levels.is_empty() {
            if let Some(Trial { config, path }) = self.next(meter)? {
                let goal = self.events[self.position].operation() as u32;
                let place = self.events[self.position].place;
                self.points.extend(path.into_iter().chain([goal]).map(|id| (id, place)));
                self.open.retain(|open| *open != goal);
                self.position += 1;
                return Ok(Some(config));
            }
            self.go_back(meter)?;
        }
        Ok(None)
    }

    /// The next way to the goal of the last level.
    fn next(&mut self, meter: &mut Meter<'_, '_>) -> Result<Option<Trial<M::State>>, SpentBudget> {
        while let Some(level) = self.levels.back_mut() {
            if let Some(trial) = level.work.pop_front() {
                let goal = self.events[self.position].operation() as u32;
                let state = self.model.apply(&trial.config.state, &self.steps[goal as usize]);
                let found = state.map(|state| Trial {
                    config: LineConfig { state, ..trial.config.clone() },
                    path: trial.path.clone(),
                });
                if found.is_none() || !self.is_eager(&trial.config, goal) {
                    self.levels.back_mut().expect("it is there").tried.push_back(trial);
                }
                if found.is_some() {
                    return Ok(found);
                }
            } else if let Some(trial) = level.tried.pop_front() {
                self.expand(&trial, meter)?;
            } else {
                break;
            }
        }
        Ok(None)
    }

    /// Carries a trial on, by every step that a line may have to take before the goal.
    fn expand(
        &mut self,
        trial: &Trial<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), SpentBudget> {
        let before = self.relevant(&trial.config, meter)?;
        for candidate in &before {
            meter.handle(M::heap(&trial.config.state))?;
            let Some(id) = self.operation_of(&trial.config, *candidate) else { continue };
            let Some(mut child) = self.step(trial, *candidate, id) else { continue };
            let (forced, of_use) = self.use_of(&trial.config, *candidate, &before);
            if self.has_twin(&trial.config, id, &before) || !(forced || of_use) {
                continue;
            }
            self.hurry(&mut child, meter)?;
            let bytes = 3 * self.bytes(&child.config);
            let level = self.levels.back_mut().expect("one is looked at");
            if level.seen.insert(child.config.clone()) {
                meter.take(bytes)?;
                level.bytes += bytes;
                level.work.push_back(child);
            }
            if forced {
                break;
            }
        }
        Ok(())
    }

    /// The open operations that cannot be put behind the goal, nor behind those that cannot.
    fn relevant(
        &self,
        config: &LineConfig<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<Vec<LineStep>, SpentBudget> {
        let goal = self.events[self.position].operation() as u32;
        let certain = self.open.iter().filter(|id| **id != goal).copied().map(LineStep::Certain);
        let kinds = (0..self.kinds.len() as u32).map(LineStep::Kind);
        let left = |candidate: &LineStep| self.operation_of(config, *candidate).is_some();
        let mut rest: Vec<LineStep> = certain.chain(kinds).filter(left).collect();
        let mut chosen: Vec<LineStep> = Vec::new();
        let mut later = Some(goal);
        let mut looked_at = 0;
        while let Some(id) = later.filter(|_| !rest.is_empty()) {
            meter.work(rest.len())?;
            rest.retain(|candidate| {
                let optional = matches!(candidate, LineStep::Kind(_));
                let earlier = self.operation_of(config, *candidate).expect("it is left");
                let (earlier, later) = (&self.steps[earlier as usize], &self.steps[id as usize]);
                let passes = self.model.passes(earlier, later, optional);
                if !passes {
                    chosen.push(*candidate);
                }
                passes
            });
            later = chosen.get(looked_at).and_then(|it| self.operation_of(config, *it));
            looked_at += 1;
        }
        Ok(chosen)
    }

    /// The operation that a candidate puts on the line, if it is not on it.
    fn operation_of(&self, config: &LineConfig<M::State>, candidate: LineStep) -> Option<u32> {
        match candidate {
            LineStep::Certain(id) => (!config.has(id)).then_some(id),
            LineStep::Kind(kind) => {
                self.kinds[kind as usize].get(config.spent(kind) as usize).copied()
            }
        }
    }

    /// Returns the trial to which a candidate leads, if it can be taken and is of use.
    fn step(
        &self,
        trial: &Trial<M::State>,
        candidate: LineStep,
        id: u32,
    ) -> Option<Trial<M::State>> {
        if !self.is_in_turn(&trial.config, id) {
            return None;
        }
        let state = self.model.apply(&trial.config.state, &self.steps[id as usize])?;
        let mut child = trial.clone();
        match candidate {
            LineStep::Certain(id) => child.config.take(id),
            // What need not happen need not happen in vain.
            LineStep::Kind(_) if state == trial.config.state => return None,
            LineStep::Kind(kind) => child.config.spend(kind),
        }
        child.config.state = state;
        child.path.push(id);
        Some(child)
    }

    /// Returns false if a step that has to be on the line could not be put on it any more.
    fn is_in_turn(&self, config: &LineConfig<M::State>, id: u32) -> bool {
        let turn = |id: u32| self.model.turn(&self.steps[id as usize]);
        let Some(ours) = turn(id) else { return true };
        let comes_first = |theirs: Token| theirs < ours;
        let is_missing =
            |id: &&u32| !config.has(**id) && self.operations[**id as usize].deadline() < self.until;
        !self.turns.get(self.position).copied().flatten().is_some_and(comes_first)
            && !self.open.iter().filter(is_missing).filter_map(|id| turn(*id)).any(comes_first)
    }

    /// Returns true if another candidate does the same and must be done earlier.
    fn has_twin(&self, config: &LineConfig<M::State>, id: u32, others: &[LineStep]) -> bool {
        let deadline = |id: u32| self.operations[id as usize].deadline();
        let same = |other: u32| {
            self.steps[other as usize] == self.steps[id as usize] && deadline(other) < deadline(id)
        };
        others.iter().any(|other| self.operation_of(config, *other).is_some_and(same))
    }

    /// Says whether a candidate has to come before the goal, and whether it may be needed there: see
    /// [`Model::is_forced`] and [`Model::is_of_use`].
    fn use_of(
        &self,
        config: &LineConfig<M::State>,
        candidate: LineStep,
        others: &[LineStep],
    ) -> (bool, bool) {
        let before_goal = |it: LineStep| {
            let step = &self.steps[self.operation_of(config, it)? as usize];
            Some(BeforeGoal { step, optional: matches!(it, LineStep::Kind(_)) })
        };
        let goal = &self.steps[self.events[self.position].operation()];
        let left = || others.iter().filter_map(|it| before_goal(*it));
        let Some(it) = before_goal(candidate) else { return (false, false) };
        (
            self.model.is_forced(&config.state, it.step, goal, left()),
            self.model.is_of_use(&config.state, it, goal, left()),
        )
    }

    /// Takes every step that may as well be taken at once.
    fn hurry(
        &self,
        trial: &mut Trial<M::State>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<(), SpentBudget> {
        let goal = self.events[self.position].operation() as u32;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for id in self.open.iter().copied().filter(|id| *id != goal) {
                meter.tick()?;
                if trial.config.has(id) || !self.is_eager(&trial.config, id) {
                    continue;
                }
                if let Some(next) = self.step(trial, LineStep::Certain(id), id) {
                    (*trial, changed) = (next, true);
                }
            }
        }
        Ok(())
    }

    fn is_eager(&self, config: &LineConfig<M::State>, id: u32) -> bool {
        let goal = &self.steps[self.events[self.position].operation()];
        let open = self.open.iter().filter(|id| !config.has(**id));
        let open = open.map(|id| &self.steps[*id as usize]);
        let around = Around { goal, alone: self.alone[id as usize], steady: false, open };
        self.model.eager(&config.state, &self.steps[id as usize], around)
    }

    /// Gives the last level up, and goes back to the one before it.
    fn go_back(&mut self, meter: &mut Meter<'_, '_>) -> Result<(), SpentBudget> {
        if self.position > self.best.0 {
            meter.work(self.points.len() / 16)?;
            self.best = (self.position, self.points.clone());
        }
        let Some(level) = self.levels.pop_back() else { return Ok(()) };
        meter.give(level.bytes);
        if self.dead.len() == DEAD {
            self.dead.clear();
        }
        self.dead.insert((level.position, level.from));
        if let Some(before) = self.levels.back() {
            let (position, points) = (before.position, before.points);
            meter.work(self.position - position)?;
            self.points.truncate(points);
            self.rewind(position);
        }
        Ok(())
    }
}
