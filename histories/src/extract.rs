//! The extract of a history that a picture against a model shows: for each key one order of its
//! operations, as far as there is one, and the operations around the place where it ends.
//!
//! This explains what was decided and decides nothing: with too small a budget there is less to
//! see.

use crate::decide::{Decision, Illegal, keys};
use crate::models::NamedModel;
use crate::operation::Operation;
use crate::search::{Budget, Line, LinePoint, Meter, WantedLine};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The limits of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The number of keys.
    pub keys: usize,
    /// The number of operations of a key, if as many are to be seen as can be.
    pub operations: usize,
    /// The number of operations of a key, if they are to be seen at a glance.
    pub close: usize,
    /// The number of processes of a key.
    pub processes: usize,
}

/// The factor by which more operations are considered than there is room for.
const CHOICE: usize = 8;

/// The part of a history that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extract {
    /// The keys: first those whose operations cannot be ordered, by where that shows.
    pub keys: Vec<KeyExtract>,
    /// The number of keys that are left out.
    pub left_out: usize,
}

/// The part of a key that is shown. Operations are indices of the list that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyExtract {
    /// The number of the key.
    pub key: u32,
    /// The reason why its operations cannot be ordered, if they cannot.
    pub illegal: Option<Illegal>,
    /// An order of them, as far as one was found.
    pub line: Line,
    /// The few operations that show the most.
    pub close: ShownOperations,
    /// The most operations that there is room for.
    pub wide: ShownOperations,
    /// The number of its operations.
    pub operations: usize,
}

/// The operations that one picture shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownOperations {
    /// The operations, by their begin.
    pub shown: Vec<usize>,
    /// The number of hidden operations that began right before each begin and answer of a shown
    /// one, and behind the last; places without any are left out.
    pub skipped: BTreeMap<u64, usize>,
}

/// Chooses what is shown of operations about which this was decided.
pub fn extract(
    model: NamedModel,
    operations: &[Operation],
    decision: &Decision,
    room: Room,
    mut budget: Budget<'_>,
) -> Extract {
    let illegal = match decision {
        Decision::Illegal(illegal) => &illegal[..],
        _ => &[],
    };
    let mut keys = keys(operations);
    let all = keys.len();
    let place = |key: &[u32]| {
        let number = operations[key[0] as usize].key;
        illegal.iter().position(|illegal| illegal.key == number).unwrap_or(usize::MAX)
    };
    keys.sort_by_key(|key| place(key));
    keys.truncate(room.keys);
    let mut meter = Meter::new(&mut budget);
    let one = |key: Vec<u32>| {
        let illegal = illegal.get(place(&key)).cloned();
        let ids = Ids { operations, key: &key };
        let line = ids.line(model, illegal.as_ref(), &mut meter);
        meter.give_all();
        let view = |most| {
            let shown = ids.shown(illegal.as_ref(), &line, Room { operations: most, ..room });
            ids.view(shown)
        };
        let (close, wide) = (view(room.close), view(room.operations));
        let number = operations[key[0] as usize].key;
        KeyExtract { key: number, illegal, line, close, wide, operations: key.len() }
    };
    let keys: Vec<KeyExtract> = keys.into_iter().map(one).collect();
    Extract { left_out: all - keys.len(), keys }
}

/// The operations of a key.
struct Ids<'a> {
    operations: &'a [Operation],
    key: &'a [u32],
}

impl Ids<'_> {
    /// An order that goes up to the answer of what cannot be put anywhere, or to the end.
    fn line(
        &self,
        model: NamedModel,
        illegal: Option<&Illegal>,
        meter: &mut Meter<'_, '_>,
    ) -> Line {
        let until = illegal.map_or(u64::MAX, |it| self.operations[it.stuck].deadline());
        let states_after: Vec<usize> = illegal
            .map_or(&[][..], |it| &it.concurrent)
            .iter()
            .filter_map(|id| self.key.binary_search(&(*id as u32)).ok())
            .collect();
        let ours: Vec<&Operation> =
            self.key.iter().map(|id| &self.operations[*id as usize]).collect();
        let wanted = WantedLine { until, states_after: &states_after };
        let line = (model.spec.line)(model.bound, &ours, &wanted, meter);
        let global =
            |point: LinePoint| LinePoint { operation: self.key[point.operation] as usize, ..point };
        Line { points: line.points.into_iter().map(global).collect(), ..line }
    }

    /// The operations by their begin, and how many are missing where.
    fn view(&self, mut shown: Vec<usize>) -> ShownOperations {
        shown.sort_by_key(|id| self.operations[*id].invoke);
        let operation = |id: &usize| &self.operations[*id];
        let ends = |id| [Some(operation(id).invoke), operation(id).answer];
        let mut places: Vec<u64> = shown.iter().flat_map(ends).flatten().collect();
        places.sort_unstable();
        let mut skipped = BTreeMap::new();
        let known: BTreeSet<u64> = shown.iter().map(|id| operation(id).invoke).collect();
        for id in self.key {
            let begin = self.operations[*id as usize].invoke;
            if !known.contains(&begin) {
                let next = places.get(places.partition_point(|place| *place < begin));
                *skipped.entry(next.copied().unwrap_or(u64::MAX)).or_default() += 1;
            }
        }
        ShownOperations { shown, skipped }
    }

    /// Chooses what cannot be put anywhere, what stands in its way, and what is nearest to it.
    fn shown(&self, illegal: Option<&Illegal>, line: &Line, room: Room) -> Vec<usize> {
        let mut choice = Selection {
            operations: self.operations,
            room,
            shown: Vec::new(),
            seen: BTreeSet::new(),
            lanes: BTreeSet::new(),
        };
        if let Some(Illegal { stuck, concurrent, .. }) = illegal {
            choice.add([*stuck], 1);
            let mut beside = concurrent.clone();
            beside.sort_by_key(|id| (!self.operations[*id].certain(), Reverse(*id)));
            choice.add(beside, room.operations / 2);
        }
        // What can be ordered to the end is shown from its begin on.
        let at = line.until.unwrap_or(0);
        let answered = |id: &usize| self.operations[*id].answer.is_some_and(|answer| answer <= at);
        let all = self.key.iter().map(|id| *id as usize);
        let (before, others): (Vec<usize>, Vec<usize>) = all.partition(answered);
        let (open, later): (Vec<usize>, Vec<usize>) =
            others.into_iter().partition(|id| self.operations[*id].invoke < at);
        let invoke = |id: &usize| self.operations[*id].invoke;
        choice.add(nearest(open, room, |id| Reverse(invoke(id))), room.operations / 4);
        let kept = if line.until.is_some() { room.operations / 8 } else { 0 };
        let most = room.operations.saturating_sub(choice.shown.len() + kept);
        choice.add(nearest(before, room, |id| Reverse(self.operations[*id].answer)), most);
        choice.add(nearest(later, room, invoke), room.operations);
        choice.shown
    }
}

/// The operations that are shown, as far as there is room.
struct Selection<'a> {
    operations: &'a [Operation],
    room: Room,
    shown: Vec<usize>,
    seen: BTreeSet<usize>,
    lanes: BTreeSet<u32>,
}

impl Selection<'_> {
    /// Adds at most so many of these, and none of a process for which there is no lane any more.
    fn add(&mut self, ids: impl IntoIterator<Item = usize>, most: usize) {
        let full = self.shown.len().saturating_add(most).min(self.room.operations);
        for id in ids {
            let process = self.operations[id].process;
            if self.shown.len() >= full {
                break;
            }
            if self.seen.contains(&id)
                || !self.lanes.contains(&process) && self.lanes.len() == self.room.processes
            {
                continue;
            }
            self.seen.insert(id);
            self.lanes.insert(process);
            self.shown.push(id);
        }
    }
}

/// The first few of these in this order: enough to choose from.
fn nearest<K: Ord>(mut ids: Vec<usize>, room: Room, place: impl Fn(&usize) -> K) -> Vec<usize> {
    let enough = room.operations.saturating_mul(CHOICE);
    if ids.len() > enough {
        ids.select_nth_unstable_by_key(enough, &place);
        ids.truncate(enough);
    }
    ids.sort_by_key(place);
    ids
}

#[cfg(test)]
mod tests;
