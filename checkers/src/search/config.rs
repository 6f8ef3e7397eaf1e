//! Configurations, and sets of them in which none makes another superfluous.

use super::bits::Bits;
use super::meter::{Meter, Stop};
use super::open::Candidate;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use std::hash::Hash;

/// How many of each kind of optional operations are on a line, by kind; zeros are left out.
type Spent = SmallVec<[(u32, u32); 2]>;

/// One way in which the line may have gone.
#[derive(Clone, Debug)]
pub(super) struct Config<S> {
    pub(super) state: S,
    /// The slots of the open operations that are on it.
    pub(super) taken: Bits,
    spent: Spent,
}

impl<S> Config<S> {
    pub(super) fn new(state: S) -> Self {
        Self { state, taken: Bits::default(), spent: Spent::new() }
    }

    /// The same line, in another state.
    pub(super) fn at(&self, state: S) -> Self {
        Self { state, taken: self.taken.clone(), spent: self.spent.clone() }
    }

    pub(super) fn spent(&self, kind: usize) -> u32 {
        let place = self.spent.binary_search_by_key(&(kind as u32), |(kind, _)| *kind);
        place.map_or(0, |place| self.spent[place].1)
    }

    pub(super) fn spend(&mut self, candidate: Candidate) {
        match candidate {
            Candidate::Slot(slot) => self.taken.set(slot),
            Candidate::Kind(kind) => {
                let kind = kind as u32;
                match self.spent.binary_search_by_key(&kind, |(kind, _)| *kind) {
                    Ok(place) => self.spent[place].1 += 1,
                    Err(place) => self.spent.insert(place, (kind, 1)),
                }
            }
        }
    }

    fn heap(&self) -> usize {
        let spent = if self.spent.spilled() { self.spent.capacity() * 8 } else { 0 };
        self.taken.heap() + spent
    }
}

/// A table that has room for more than this is not kept.
const ROOM: usize = 4096;

/// Whether no kind is spent more often in the first than in the second.
fn at_most(first: &Spent, second: &Spent) -> bool {
    let mut second = second.iter();
    first.iter().all(|(kind, count)| {
        second
            .find(|(other, _)| other >= kind)
            .is_some_and(|(other, limit)| other == kind && count <= limit)
    })
}

/// Slots, and what is spent, of configurations of which none makes another superfluous.
type Known = SmallVec<[(Bits, Spent); 1]>;

/// A set of configurations in which none makes another superfluous: of two with the same state and
/// slots, neither spends at most what the other does.
#[derive(Debug)]
pub(super) struct Frontier<S> {
    /// By state and, unless lines with fewer steps are better, by slots; else those stand with
    /// what is spent.
    by_state: HashMap<(S, Bits), Known, FxBuildHasher>,
    fewer: bool,
    /// What is metered for it.
    bytes: usize,
}

impl<S: Clone + Eq + Hash> Frontier<S> {
    /// An empty one. `fewer` is [`Model::fewer`](crate::models::Model::fewer).
    pub(super) fn new(fewer: bool) -> Self {
        Self { by_state: HashMap::default(), fewer, bytes: 0 }
    }

    /// Adds a configuration, unless one that is in makes it superfluous, and removes those that it
    /// makes superfluous itself. Says whether it was added.
    pub(super) fn insert(
        &mut self,
        config: Config<S>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<bool, Stop> {
        let bytes = size_of::<Config<S>>() + size_of::<(Bits, Spent)>() + config.heap();
        let (key, taken) = match self.fewer {
            true => (Bits::default(), config.taken),
            false => (config.taken, Bits::default()),
        };
        let known = self.by_state.entry((config.state, key)).or_default();
        for (bits, spent) in known.iter() {
            meter.tick()?;
            if bits.within(&taken) && at_most(spent, &config.spent) {
                return Ok(false);
            }
        }
        known.retain(|(bits, spent)| !(taken.within(bits) && at_most(&config.spent, spent)));
        known.push((taken, config.spent));
        self.bytes += bytes;
        meter.take(bytes)?;
        Ok(true)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_state.is_empty()
    }

    pub(super) fn clear(&mut self, meter: &mut Meter<'_, '_>) {
        meter.give(std::mem::take(&mut self.bytes));
        self.by_state.clear();
        self.shrink();
    }

    /// To empty a large table costs as much as it once held, every time.
    fn shrink(&mut self) {
        if self.by_state.capacity() > ROOM {
            self.by_state = HashMap::default();
        }
    }

    /// Replaces these configurations by its own, and the bytes that are metered for them.
    pub(super) fn drain_into(
        &mut self,
        configs: &mut Vec<Config<S>>,
        bytes: &mut usize,
        meter: &mut Meter<'_, '_>,
    ) {
        configs.clear();
        let fewer = self.fewer;
        for ((state, key), known) in self.by_state.drain() {
            for (bits, spent) in known {
                let taken = if fewer { bits } else { key.clone() };
                configs.push(Config { state: state.clone(), taken, spent });
            }
        }
        self.shrink();
        meter.give(std::mem::replace(bytes, std::mem::take(&mut self.bytes)));
    }
}
