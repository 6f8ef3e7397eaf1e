//! The search: level by level, a level a step, equal states of a level merged.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use super::action::Action;
use super::actor::PacketOf;
use super::enabled::Stuck;
use super::examine::Examine;
use super::state::State;
use super::step::{Seen, Story};
use super::{Anomaly, Explorer, FaultKind};

/// What an enumeration came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The whole space was seen.
    pub exhausted: bool,
    /// How many different states were seen.
    pub states: u64,
    /// How many steps between them.
    pub transitions: u64,
    /// Of these, how many led to a state that another step had led to already.
    pub merged: u64,
    /// How many schedules that is: the ways through the states from the first to a last one. It
    /// does not count the orders of steps that nobody else can see.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub schedules: u128,
    /// In how many different states they end.
    pub ends: u64,
    /// The most steps of a schedule.
    pub depth: u64,
    /// How often a client's code was run.
    pub runs: u64,
    /// What was broken, each with its shortest schedule.
    pub findings: Vec<Finding>,
}

/// JSON has no numbers of this size.
fn as_text<Z: serde::Serializer>(number: &u128, to: Z) -> Result<Z::Ok, Z::Error> {
    to.collect_str(number)
}

fn from_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// A way to break something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What.
    pub anomaly: Anomaly,
    /// In how many states it shows first.
    pub states: u64,
    /// How many steps it takes, of those that others can see.
    pub steps: u64,
    /// All steps, those that nobody else can see included.
    #[serde(serialize_with = "as_words", deserialize_with = "from_words")]
    pub schedule: Vec<Action>,
}

fn as_words<Z: serde::Serializer>(actions: &[Action], to: Z) -> Result<Z::Ok, Z::Error> {
    to.collect_seq(actions.iter().map(Action::to_string))
}

fn from_words<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Action>, D::Error> {
    let words = Vec::<String>::deserialize(from)?;
    words.iter().map(|word| word.parse().map_err(serde::de::Error::custom)).collect()
}

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// How many steps deep.
    pub depth: u64,
    /// How many states so far.
    pub states: u64,
    /// How many of them are being gone on from.
    pub width: u64,
}

/// A state of the level that is being gone on from.
struct Open<S: Examine>
where
    PacketOf<S>: Clone + Debug,
{
    state: State<S>,
    node: usize,
    /// How many schedules lead there.
    ways: u128,
}

/// How a state was reached first.
#[derive(Clone, Copy)]
struct Node {
    before: usize,
    action: Action,
}

/// Of an anomaly: the node before it, the step that shows it if one does, and how often it was seen.
struct First {
    node: usize,
    action: Option<Action>,
    states: u64,
    steps: u64,
}

impl<S: Examine> Explorer<S>
where
    PacketOf<S>: Clone + Debug,
{
    /// Searches until there is nothing more, there are `most` states, or `go_on` says no.
    pub fn search(&mut self, most: u64, go_on: &mut dyn FnMut(Progress) -> bool) -> Found {
        let found = self.search_once(most, go_on);
        // See the module's words on wall clocks.
        let expires = self.case.faults > 0 && self.case.kinds.contains(&FaultKind::Expire);
        if self.reduce && expires && !S::SESSIONS && self.actors.told_time {
            self.reduce = false;
            return self.search_once(most, go_on);
        }
        found
    }

    fn search_once(&mut self, most: u64, go_on: &mut dyn FnMut(Progress) -> bool) -> Found {
        let mut search = Search::default();
        let mut state = self.initial();
        self.settle(&mut state, &mut Seen::default());
        search.nodes.push(None);
        let mut level = vec![Open { state, node: 0, ways: 1 }];
        let mut exhausted = true;
        while !level.is_empty() {
            let (states, width) = (search.nodes.len() as u64, level.len() as u64);
            if states > most || !go_on(Progress { depth: search.depth, states, width }) {
                exhausted = false;
                break;
            }
            level = self.next_level(level, &mut search);
            search.depth += u64::from(!level.is_empty());
        }
        let exhausted = exhausted && !search.cut;
        let firsts = std::mem::take(&mut search.firsts);
        let findings = firsts.into_iter().map(|(a, first)| self.finding(a, &first, &search.nodes));
        Found {
            findings: findings.collect(),
            exhausted,
            states: search.nodes.len() as u64,
            transitions: search.transitions,
            merged: search.transitions + 1 - search.nodes.len() as u64,
            schedules: search.schedules,
            ends: search.ends.len() as u64,
            depth: search.depth,
            runs: self.actors.runs() as u64,
        }
    }

    fn next_level(&mut self, level: Vec<Open<S>>, search: &mut Search) -> Vec<Open<S>> {
        let mut next: Vec<Open<S>> = Vec::new();
        let mut places: BTreeMap<u128, usize> = BTreeMap::new();
        for open in level {
            let actions = self.enabled(&open.state);
            let ends = actions.iter().all(|action| self.is_fault(&open.state, *action));
            if ends {
                search.schedules = search.schedules.saturating_add(open.ways);
                search.ends.insert(open.state.fingerprint());
                match self.stuck(&open.state) {
                    Some(Stuck::For(anomaly)) => search.saw(anomaly, open.node, None),
                    Some(Stuck::Polling) => search.cut = true,
                    None => {}
                }
            }
            for action in actions {
                search.transitions += 1;
                let mut state = open.state.clone();
                let mut seen = Seen::default();
                self.apply(&mut state, action, &mut seen);
                self.settle(&mut state, &mut seen);
                if self.waits_in_vain(&state) {
                    seen.anomalies.push(Anomaly::WaitsForAnotherKey);
                }
                seen.anomalies.iter().for_each(|a| search.saw(*a, open.node, Some(action)));
                match places.entry(state.fingerprint()) {
                    std::collections::btree_map::Entry::Occupied(place) => {
                        let known = &mut next[*place.get()];
                        known.ways = known.ways.saturating_add(open.ways);
                    }
                    std::collections::btree_map::Entry::Vacant(place) => {
                        place.insert(next.len());
                        let node = search.nodes.len();
                        search.nodes.push(Some(Node { before: open.node, action }));
                        next.push(Open { state, node, ways: open.ways });
                    }
                }
            }
        }
        next
    }

    /// Walks through every schedule, one by one, and shows each: the search without its merging,
    /// for spaces that are small.
    pub fn walk(&mut self, each: &mut dyn FnMut(&Story, &[Anomaly])) {
        let mut state = self.initial();
        let mut seen = Seen { story: Some(Story::default()), ..Seen::default() };
        self.settle(&mut state, &mut seen);
        self.walk_on(&state, &seen, each);
    }

    fn walk_on(&mut self, state: &State<S>, seen: &Seen, each: &mut dyn FnMut(&Story, &[Anomaly])) {
        let actions = self.enabled(state);
        if actions.iter().all(|action| self.is_fault(state, *action)) {
            each(seen.story.as_ref().unwrap_or(&Story::default()), &seen.anomalies);
        }
        for action in actions {
            let (mut state, mut seen) = (state.clone(), seen.clone());
            self.apply(&mut state, action, &mut seen);
            self.settle(&mut state, &mut seen);
            self.walk_on(&state, &seen, each);
        }
    }

    /// A step that no lock may count on.
    fn is_fault(&self, state: &State<S>, action: Action) -> bool {
        match action {
            Action::Crash(..) | Action::Reset(..) => true,
            Action::Expire(client) => !state.is_gone(client),
            Action::Lapse => !self.may_lapse(state),
            _ => false,
        }
    }

    fn finding(&mut self, anomaly: Anomaly, first: &First, nodes: &[Option<Node>]) -> Finding {
        let mut steps: Vec<Action> = first.action.into_iter().collect();
        let mut at = first.node;
        while let Some(Node { before, action }) = nodes[at] {
            steps.push(action);
            at = before;
        }
        steps.reverse();
        let mut state = self.initial();
        let mut seen = Seen { story: Some(Story::default()), ..Seen::default() };
        self.settle(&mut state, &mut seen);
        for action in steps {
            self.apply(&mut state, action, &mut seen);
            self.settle(&mut state, &mut seen);
        }
        let schedule = seen.story.map(|story| story.actions).unwrap_or_default();
        Finding { anomaly, states: first.states, steps: first.steps, schedule }
    }

    /// Takes exactly these steps and tells what happens, and what it breaks. A deadlock is looked
    /// for at the end.
    ///
    /// # Errors
    /// With the number of the first step, from 0, that cannot be taken.
    pub fn replay(&mut self, schedule: &[Action]) -> Result<(Story, Vec<Anomaly>), usize> {
        let reduce = std::mem::replace(&mut self.reduce, false);
        let mut state = self.initial();
        let mut seen = Seen { story: Some(Story::default()), ..Seen::default() };
        let mut refused = None;
        for (at, action) in schedule.iter().enumerate() {
            if !self.enabled(&state).contains(action) {
                refused = Some(at);
                break;
            }
            self.apply(&mut state, *action, &mut seen);
            if self.waits_in_vain(&state) {
                seen.anomalies.push(Anomaly::WaitsForAnotherKey);
            }
        }
        let ends = self.enabled(&state).iter().all(|action| self.is_fault(&state, *action));
        if ends && let Some(Stuck::For(anomaly)) = self.stuck(&state) {
            seen.anomalies.push(anomaly);
        }
        self.reduce = reduce;
        seen.anomalies.sort_unstable();
        seen.anomalies.dedup();
        match refused {
            Some(at) => Err(at),
            None => Ok((seen.story.unwrap_or_default(), seen.anomalies)),
        }
    }
}

#[derive(Default)]
struct Search {
    nodes: Vec<Option<Node>>,
    transitions: u64,
    schedules: u128,
    ends: BTreeSet<u128>,
    depth: u64,
    /// A poller would have got on that was not let try again.
    cut: bool,
    firsts: BTreeMap<Anomaly, First>,
}

impl Search {
    fn saw(&mut self, anomaly: Anomaly, node: usize, action: Option<Action>) {
        let steps = self.depth + u64::from(action.is_some());
        let fresh = First { node, action, states: 0, steps };
        self.firsts.entry(anomaly).or_insert(fresh).states += 1;
    }
}
