//! The search: level by level, a level a step, equal states of a level merged.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use stores::{Enumerable, Store};

use super::action::Move;
use super::enabled::Stuck;
use super::state::WorldState;
use super::story::{ScheduleStory, SeenStep};
use super::{Explorer, FaultKind, Fingerprint, Sign};

/// The extent of what an enumeration has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// The whole space was seen.
    pub exhausted: bool,
    /// The number of different states.
    pub states: u64,
    /// The number of steps between them.
    pub transitions: u64,
    /// The number of these that led to a state that another step had led to already.
    pub merged: u64,
    /// The number of schedules: the ways through the states from the first to a last one. It
    /// does not count the orders of steps that nobody else can see.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub schedules: u128,
    /// The number of different states in which they end.
    pub ends: u64,
    /// The most steps of a schedule.
    pub depth: u64,
    /// The number of times that a client's code was run.
    pub runs: u64,
}

/// JSON has no numbers of this size.
fn as_text<Z: serde::Serializer>(number: &u128, to: Z) -> Result<Z::Ok, Z::Error> {
    to.collect_str(number)
}

fn from_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// The shortest way to bad states of one sort: they show the same sign, after faults of the same
/// kinds, each client is at the same step and has as many things in the store. Most often that
/// means the same cause; who names it sees one story of each sort, and not one of each state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortestWay {
    /// The sign by which they are bad.
    pub sign: Sign,
    /// The number of states that show it first.
    pub states: u64,
    /// The number of steps, of those that others can see.
    pub steps: u64,
    /// The schedule, step by step.
    pub story: ScheduleStory,
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchProgress {
    /// The depth, in steps.
    pub depth: u64,
    /// The number of states so far.
    pub states: u64,
    /// The number of those that are being gone on from.
    pub width: u64,
}

/// A state of the level that is being gone on from.
struct OpenState<S: Store> {
    state: WorldState<S>,
    node: usize,
    /// The number of schedules that lead there.
    ways: u128,
}

/// The step by which a state was reached first.
#[derive(Clone, Copy)]
struct FirstStep {
    before: usize,
    action: Move,
}

/// The first of a sort of bad states: the node before it, the step that leads there if the node is
/// not bad itself, and how many there are.
struct First {
    node: usize,
    action: Option<Move>,
    states: u64,
    steps: u64,
}

impl<S: Store> Explorer<S> {
    /// Searches until there is nothing more, there are `most` states, or `go_on` says no.
    pub fn search(
        &mut self,
        most: u64,
        go_on: &mut dyn FnMut(SearchProgress) -> bool,
    ) -> (Extent, Vec<ShortestWay>) {
        let found = self.search_once(most, go_on);
        // See the module's words on wall clocks.
        let expires = self.case.faults > 0 && self.case.kinds.contains(&FaultKind::Expire);
        if self.reduce && expires && !S::Standalone::SESSIONS && self.actors.read_wall_clock {
            self.reduce = false;
            return self.search_once(most, go_on);
        }
        found
    }

    fn search_once(
        &mut self,
        most: u64,
        go_on: &mut dyn FnMut(SearchProgress) -> bool,
    ) -> (Extent, Vec<ShortestWay>) {
        let mut search = StateSearch::default();
        let mut state = self.initial();
        self.settle(&mut state, &mut SeenStep::default());
        search.nodes.push(None);
        let mut level = vec![OpenState { state, node: 0, ways: 1 }];
        let mut exhausted = true;
        while !level.is_empty() {
            let (states, width) = (search.nodes.len() as u64, level.len() as u64);
            if states > most || !go_on(SearchProgress { depth: search.depth, states, width }) {
                exhausted = false;
                break;
            }
            level = self.next_level(level, &mut search);
            search.depth += u64::from(!level.is_empty());
        }
        let exhausted = exhausted && !search.cut;
        let firsts = std::mem::take(&mut search.firsts);
        let findings = firsts
            .into_iter()
            .map(|((sign, _), first)| self.finding(sign, &first, &search.nodes))
            .collect();
        let extent = Extent {
            exhausted,
            states: search.nodes.len() as u64,
            transitions: search.transitions,
            merged: search.transitions + 1 - search.nodes.len() as u64,
            schedules: search.schedules,
            ends: search.ends.len() as u64,
            depth: search.depth,
            runs: self.actors.runs() as u64,
        };
        (extent, findings)
    }

    fn next_level(
        &mut self,
        level: Vec<OpenState<S>>,
        search: &mut StateSearch,
    ) -> Vec<OpenState<S>> {
        let mut next: Vec<OpenState<S>> = Vec::new();
        let mut places: BTreeMap<u128, usize> = BTreeMap::new();
        for open in level {
            let actions = self.enabled(&open.state);
            let ends = actions.iter().all(|action| self.is_fault(&open.state, *action));
            if ends {
                search.schedules = search.schedules.saturating_add(open.ways);
                search.ends.insert(open.state.fingerprint());
                match self.stuck(&open.state) {
                    Some(Stuck::Forever) => search.saw(Sign::Stuck, &open.state, open.node, None),
                    Some(Stuck::Polling) => search.cut = true,
                    None => {}
                }
            }
            for action in actions {
                search.transitions += 1;
                let mut state = open.state.clone();
                let mut seen = SeenStep::default();
                self.apply(&mut state, action, &mut seen);
                self.settle(&mut state, &mut seen);
                if self.waits_in_vain(&state) {
                    seen.signs.push(Sign::WaitsForAnotherKey);
                }
                for sign in seen.signs {
                    search.saw(sign, &state, open.node, Some(action));
                }
                match places.entry(state.fingerprint()) {
                    std::collections::btree_map::Entry::Occupied(place) => {
                        let known = &mut next[*place.get()];
                        known.ways = known.ways.saturating_add(open.ways);
                    }
                    std::collections::btree_map::Entry::Vacant(place) => {
                        place.insert(next.len());
                        let node = search.nodes.len();
                        search.nodes.push(Some(FirstStep { before: open.node, action }));
                        next.push(OpenState { state, node, ways: open.ways });
                    }
                }
            }
        }
        next
    }

    /// Walks through every schedule, one by one, and shows each: the search without its merging,
    /// for spaces that are small.
    pub fn walk(&mut self, each: &mut dyn FnMut(&ScheduleStory, &[Sign])) {
        let mut state = self.initial();
        let mut seen = self.beginning(&state);
        self.settle(&mut state, &mut seen);
        self.walk_on(&state, &seen, each);
    }

    fn walk_on(
        &mut self,
        state: &WorldState<S>,
        seen: &SeenStep,
        each: &mut dyn FnMut(&ScheduleStory, &[Sign]),
    ) {
        let actions = self.enabled(state);
        if actions.iter().all(|action| self.is_fault(state, *action)) {
            each(seen.story.as_ref().unwrap_or(&ScheduleStory::default()), &seen.signs);
        }
        for action in actions {
            let (mut state, mut seen) = (state.clone(), seen.clone());
            self.apply(&mut state, action, &mut seen);
            self.settle(&mut state, &mut seen);
            self.walk_on(&state, &seen, each);
        }
    }

    /// A step that no lock may count on.
    fn is_fault(&self, state: &WorldState<S>, action: Move) -> bool {
        match action {
            Move::Crash(..) | Move::Reset(..) => true,
            Move::Expire(client) => !state.is_gone(client),
            Move::Lapse => !self.may_lapse(state),
            _ => false,
        }
    }

    fn finding(&mut self, sign: Sign, first: &First, nodes: &[Option<FirstStep>]) -> ShortestWay {
        let mut steps: Vec<Move> = first.action.into_iter().collect();
        steps.extend(way_to(first.node, nodes));
        steps.reverse();
        let mut state = self.initial();
        let mut seen = self.beginning(&state);
        self.settle(&mut state, &mut seen);
        for action in steps {
            self.apply(&mut state, action, &mut seen);
            self.settle(&mut state, &mut seen);
        }
        let story = seen.story.unwrap_or_default();
        ShortestWay { sign, states: first.states, steps: first.steps, story }
    }

    /// Takes exactly these steps and tells what happens, and which states are bad. Whether the last
    /// one is stuck is looked for at the end.
    ///
    /// # Errors
    /// With the number of the first step, from 0, that cannot be taken.
    pub fn replay(&mut self, schedule: &[Move]) -> Result<(ScheduleStory, Vec<Sign>), usize> {
        let reduce = std::mem::replace(&mut self.reduce, false);
        let mut state = self.initial();
        let mut seen = self.beginning(&state);
        let mut refused = None;
        for (at, action) in schedule.iter().enumerate() {
            if !self.enabled(&state).contains(action) {
                refused = Some(at);
                break;
            }
            self.apply(&mut state, *action, &mut seen);
            if self.waits_in_vain(&state) {
                seen.signs.push(Sign::WaitsForAnotherKey);
            }
        }
        let ends = self.enabled(&state).iter().all(|action| self.is_fault(&state, *action));
        if ends && self.stuck(&state) == Some(Stuck::Forever) {
            seen.signs.push(Sign::Stuck);
        }
        self.reduce = reduce;
        seen.signs.sort_unstable();
        seen.signs.dedup();
        match refused {
            Some(at) => Err(at),
            None => Ok((seen.story.unwrap_or_default(), seen.signs)),
        }
    }
}

#[derive(Default)]
struct StateSearch {
    nodes: Vec<Option<FirstStep>>,
    transitions: u64,
    schedules: u128,
    ends: BTreeSet<u128>,
    depth: u64,
    /// A poller would have got on that was not let try again.
    cut: bool,
    firsts: BTreeMap<(Sign, u128), First>,
}

/// The steps to a node, the last one first.
fn way_to(node: usize, nodes: &[Option<FirstStep>]) -> impl Iterator<Item = Move> {
    let nodes = std::iter::successors(nodes[node], |node| nodes[node.before]);
    nodes.map(|node| node.action)
}

impl StateSearch {
    fn saw<S: Store>(
        &mut self,
        sign: Sign,
        state: &WorldState<S>,
        node: usize,
        action: Option<Move>,
    ) {
        let mut sort = Fingerprint::new();
        let mut faults: Vec<FaultKind> =
            action.into_iter().chain(way_to(node, &self.nodes)).filter_map(kind).collect();
        faults.sort_unstable();
        sort.add(&faults);
        for (client, part) in (0..).zip(&state.clients) {
            let things = state.store.owners.values().filter(|owner| **owner == client).count();
            sort.add((std::mem::discriminant(&part.stage), things));
        }
        let steps = self.depth + u64::from(action.is_some());
        let fresh = First { node, action, states: 0, steps };
        self.firsts.entry((sign, sort.bits())).or_insert(fresh).states += 1;
    }
}

/// The kind of fault that a step is, or may be.
fn kind(action: Move) -> Option<FaultKind> {
    match action {
        Move::Crash(..) => Some(FaultKind::Crash),
        Move::Expire(_) | Move::Lapse => Some(FaultKind::Expire),
        Move::Reset(..) => Some(FaultKind::Reset),
        _ => None,
    }
}
