//! Configurations, and sets of them in which none makes another superfluous.

use super::bits::Bits;
use super::meter::{Meter, SpentBudget};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use std::hash::Hash;

/// The number of optional operations of each kind on a line, by kind; zeros are left out.
type Spent = SmallVec<[(u32, u32); 2]>;

/// One way in which the line may have gone.
#[derive(Clone, Debug)]
pub(super) struct Config<S> {
    pub(super) state: S,
    pub(super) way: Way,
}

/// The operations on a line, as far as they matter for what comes.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// The slots of the open operations that may be answered: they are on the line, or can be put
    /// there without a trace.
    pub(super) done: Bits,
    /// The slots of those that cannot be put on the line any more.
    pub(super) used: Bits,
    spent: Spent,
}

impl<S> Config<S> {
    pub(super) fn new(state: S) -> Self {
        Self { state, way: Way::default() }
    }

    /// The same line, in another state.
    pub(super) fn at(&self, state: S) -> Self {
        Self { state, way: self.way.clone() }
    }

    /// Bytes that it takes, with those outside of itself.
    pub(super) fn bytes(&self, heap: fn(&S) -> usize) -> usize {
        size_of::<Self>() + heap(&self.state) + self.way.heap()
    }

    /// Returns the way without the operation of a slot, which is over.
    pub(super) fn without(mut self, slot: usize) -> Self {
        self.way.done.remove(slot);
        self.way.used.remove(slot);
        self
    }
}

/// By hand: mostly nothing is spent, and to copy nothing should take no time.
impl Clone for Way {
    #[inline]
    fn clone(&self) -> Self {
        let spent = if self.spent.is_empty() { Spent::new() } else { self.spent.clone() };
        Self { done: self.done.clone(), used: self.used.clone(), spent }
    }
}

impl Way {
    pub(super) fn spent(&self, kind: usize) -> u32 {
        let place = self.spent.binary_search_by_key(&(kind as u32), |(kind, _)| *kind);
        place.map_or(0, |place| self.spent[place].1)
    }

    pub(super) fn spend(&mut self, kind: usize) {
        let kind = kind as u32;
        match self.spent.binary_search_by_key(&kind, |(kind, _)| *kind) {
            Ok(place) => self.spent[place].1 += 1,
            Err(place) => self.spent.insert(place, (kind, 1)),
        }
    }

    /// Returns true if, in the same state, it can go wherever the other can. Of each open operation
    /// it knows as much: what is only `done` in it may count as on the line and as not on it,
    /// whatever the other has. `fewer` is [`Model::fewer`](crate::models::Model::fewer).
    fn serves(&self, other: &Self, fewer: bool) -> bool {
        self.used.within(&other.used)
            && (fewer || other.done.within(&self.done))
            && at_most(&self.spent, &other.spent)
    }

    /// Returns true if all that is on it is on the other as well.
    pub(super) fn is_part_of(&self, other: &Self) -> bool {
        self.used.within(&other.used)
            && self.done.within(&other.done)
            && at_most(&self.spent, &other.spent)
    }

    /// Returns the number of open and of optional operations on it.
    pub(super) fn len(&self) -> u32 {
        self.used.count() + self.spent.iter().map(|(_, count)| count).sum::<u32>()
    }

    fn heap(&self) -> usize {
        let spent = if self.spent.spilled() { self.spent.capacity() * 8 } else { 0 };
        self.done.heap() + self.used.heap() + spent
    }
}

/// Returns true if no kind is spent more often in the first than in the second.
fn at_most(first: &Spent, second: &Spent) -> bool {
    let mut second = second.iter();
    first.iter().all(|(kind, count)| {
        second
            .find(|(other, _)| other >= kind)
            .is_some_and(|(other, limit)| other == kind && count <= limit)
    })
}

/// The number of configurations that are compared one by one, which is faster than a table.
const FEW: usize = 12;

/// A table that grows has room for so many configurations for each that is in it, while it is
/// copied.
const SLOTS: usize = 4;

/// A table that has room for more than this is not kept.
const ROOM: usize = 4096;

/// A set of configurations in which none makes another superfluous: of two in the same state,
/// neither serves for the other.
#[derive(Debug)]
pub(super) struct Frontier<S> {
    few: Vec<Config<S>>,
    /// All of them, once they are not few any more; by state and by what is equal in any two of
    /// which one may serve for the other.
    many: HashMap<(S, Bits), SmallVec<[Way; 1]>, FxBuildHasher>,
    fewer: bool,
    heap: fn(&S) -> usize,
    /// The bytes that are metered for it.
    bytes: usize,
}

impl<S: Clone + Eq + Hash> Frontier<S> {
    /// An empty one. `fewer` and `heap` are those of the [`Model`](crate::models::Model).
    pub(super) fn new(fewer: bool, heap: fn(&S) -> usize) -> Self {
        Self { few: Vec::new(), many: HashMap::default(), fewer, heap, bytes: 0 }
    }

    /// Adds a configuration, unless one that is in makes it superfluous, and removes those that it
    /// makes superfluous itself. Says whether it was added. `firm` are the slots of which each is
    /// used either in both of two configurations or in none, if one is to serve for the other.
    pub(super) fn insert(
        &mut self,
        config: Config<S>,
        firm: &Bits,
        meter: &mut Meter<'_, '_>,
    ) -> Result<bool, SpentBudget> {
        let bytes = config.bytes(self.heap) + (SLOTS - 1) * size_of::<Config<S>>();
        let added = match self.many.is_empty() {
            true => self.insert_in_list(config, meter)?,
            false => self.insert_in_table(config, firm, meter)?,
        };
        if added {
            self.bytes += bytes;
            meter.take(bytes)?;
        }
        if self.few.len() > FEW {
            for config in std::mem::take(&mut self.few) {
                self.insert_in_table(config, firm, meter)?;
            }
        }
        Ok(added)
    }

    fn insert_in_list(
        &mut self,
        config: Config<S>,
        meter: &mut Meter<'_, '_>,
    ) -> Result<bool, SpentBudget> {
        for known in &self.few {
            meter.tick()?;
            if known.state == config.state && known.way.serves(&config.way, self.fewer) {
                return Ok(false);
            }
        }
        let fewer = self.fewer;
        self.few
            .retain(|known| known.state != config.state || !config.way.serves(&known.way, fewer));
        self.few.push(config);
        Ok(true)
    }

    fn insert_in_table(
        &mut self,
        Config { state, way }: Config<S>,
        firm: &Bits,
        meter: &mut Meter<'_, '_>,
    ) -> Result<bool, SpentBudget> {
        let fewer = self.fewer;
        let key = if fewer { Bits::default() } else { way.used.and(firm) };
        let known = self.many.entry((state, key)).or_default();
        for other in known.iter() {
            meter.tick()?;
            if other.serves(&way, fewer) {
                return Ok(false);
            }
        }
        known.retain(|other| !way.serves(other, fewer));
        known.push(way);
        Ok(true)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_empty()
    }

    pub(super) fn clear(&mut self, meter: &mut Meter<'_, '_>) {
        meter.give(std::mem::take(&mut self.bytes));
        self.few.clear();
        self.many.clear();
        self.shrink();
    }

    /// Shrinks a large table: to empty one costs as much as it once held, every time.
    fn shrink(&mut self) {
        if self.many.capacity() > ROOM {
            self.many = HashMap::default();
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
        std::mem::swap(configs, &mut self.few);
        for ((state, _), ways) in self.many.drain() {
            configs.extend(ways.into_iter().map(|way| Config { state: state.clone(), way }));
        }
        self.shrink();
        meter.give(std::mem::replace(bytes, std::mem::take(&mut self.bytes)));
    }
}

#[cfg(test)]
mod tests;
