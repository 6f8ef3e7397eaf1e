//! The memory of a memcached server: a list of items by last use, with room for so many.
//!
//! It is that of memcached 1.6.18 with the settings of `store.rs`. `slab_sizes=1024` makes the
//! smallest chunk a kilobyte, so that all items of locks share one slab class, and `-m 2` gives it
//! two pages. `-o no_modern` keeps one list for a class, without a thread that sorts it in the
//! background at moments of its own. [`Memory`] models what a server with these
//! settings was seen to do:
//!
//! * The 2,048th item is the last that evicts none; from then on each one evicts the item at the
//!   end of the list.
//! * Room is made before a command looks for its key: an `add` in vain evicts an item, too, and
//!   that of its own key if it is the last one. Then it succeeds.
//! * A `get` and an `add` in vain count as a use, but not within the first minute after the last
//!   use that counted. Until then items go in the order in which they were stored.
//! * An item that is over keeps its place until somebody asks for it, or room is made while it is
//!   at the end of the list: five of these are then removed, and that is no eviction.

use std::collections::BTreeMap;

/// The number of items for which there is room.
pub const CAPACITY: usize = 2_048;

/// The number of items at the end of the list that are removed at once if they are over.
const AT_ONCE: usize = 5;

/// The number of ticks after a use during which no other counts.
pub const GRAIN: i64 = 60;

/// An item in the store.
#[derive(Clone, Debug)]
pub struct StoredItem {
    /// The value of the item.
    pub value: String,
    /// The tick at which it is gone; `None`: never.
    pub gone_at: Option<i64>,
    /// True once it is gone for whoever asks, though it still takes room.
    gone: bool,
    /// The tick of the last use that counted.
    used: i64,
    /// Its place in the list: the last one has the least.
    place: u64,
}

/// The items in the order of their last use.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    items: BTreeMap<String, StoredItem>,
    /// The number of places that were given out.
    places: u64,
    /// The number of items that are gone and still take room.
    gone: usize,
    /// The number of items of junk. They have evicted all that came before them, so that they are
    /// the last of the list.
    junk: usize,
}

impl Memory {
    /// The items that are there, by key.
    pub fn items(&self) -> impl Iterator<Item = (&String, &StoredItem)> {
        self.items.iter().filter(|(_, item)| !item.gone)
    }

    /// Finds an item. One that is gone is removed by whoever looks for it.
    pub fn find(&mut self, key: &str) -> Option<&StoredItem> {
        if self.items.get(key)?.gone {
            self.remove(key);
        }
        self.items.get(key)
    }

    /// Counts a use of an item.
    pub fn touch(&mut self, key: &str, now: i64) {
        if let Some(item) = self.items.get_mut(key).filter(|item| item.used < now - GRAIN) {
            (item.used, item.place) = (now, self.places);
            self.places += 1;
        }
    }

    /// Makes room for one item. Returns the key of the item that was evicted for it, if one was.
    pub fn make_room(&mut self, now: i64) -> Option<String> {
        self.reclaim(now);
        if self.items.len() + self.junk < CAPACITY {
            return None;
        }
        if self.junk > 0 {
            self.junk -= 1;
            return None;
        }
        let evicted = self.last()?.to_owned();
        let was_gone = self.items.get(&evicted).is_some_and(|item| item.gone);
        self.remove(&evicted);
        self.reclaim(now);
        Some(evicted).filter(|_| !was_gone)
    }

    /// Puts an item in front, in place of the one with its key, if there is one.
    pub fn store(&mut self, key: &str, value: &str, gone_at: Option<i64>, now: i64) {
        self.remove(key);
        let item =
            StoredItem { value: value.into(), gone_at, gone: false, used: now, place: self.places };
        self.items.insert(key.into(), item);
        self.places += 1;
    }

    /// Removes an item.
    pub fn remove(&mut self, key: &str) {
        if self.items.remove(key).is_some_and(|item| item.gone) {
            self.gone -= 1;
        }
    }

    /// Marks the items whose time is over, and returns their keys.
    pub fn expire(&mut self, now: i64) -> Vec<String> {
        let mut gone = Vec::new();
        for (key, item) in self.items.iter_mut().filter(|(_, item)| !item.gone) {
            if item.gone_at.is_some_and(|gone_at| gone_at <= now) {
                item.gone = true;
                gone.push(key.clone());
            }
        }
        self.gone += gone.len();
        gone
    }

    /// Removes everything, and returns the keys of what was there.
    pub fn clear(&mut self) -> Vec<String> {
        let cleared = std::mem::take(self);
        let there = cleared.items.into_iter().filter(|(_, item)| !item.gone);
        there.map(|(key, _)| key).collect()
    }

    /// Stores as much junk as there is room for, one item after the other. Returns the keys of what
    /// was evicted.
    pub fn fill(&mut self) -> Vec<String> {
        let evicted = self.clear();
        self.junk = CAPACITY;
        evicted
    }

    /// Removes the junk that is left.
    pub const fn take_out_junk(&mut self) {
        self.junk = 0;
    }

    /// Removes the last items as long as they are over. (One whose last tick has just come is gone
    /// for whoever asks, and not yet for this.)
    fn reclaim(&mut self, now: i64) {
        for _ in 0..AT_ONCE {
            if self.gone == 0 || self.junk > 0 {
                return;
            }
            let is_over = |key: &&str| self.items[*key].gone_at.is_some_and(|at| at < now);
            let Some(last) = self.last().filter(is_over).map(str::to_owned) else { return };
            self.remove(&last);
        }
    }

    /// The key of the last item.
    fn last(&self) -> Option<&str> {
        self.items.iter().min_by_key(|(_, item)| item.place).map(|(key, _)| key.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A memory with these items, and so many others after them.
    fn memory(early: &[(&str, Option<i64>)], others: usize) -> Memory {
        let mut memory = Memory::default();
        for (key, gone_at) in early {
            memory.store(key, "v", *gone_at, 0);
        }
        for n in 0..others {
            memory.store(&format!("other-{n}"), "v", None, 0);
        }
        memory.expire(0);
        memory
    }

    #[test]
    fn the_last_item_goes_when_there_is_no_room_for_another() {
        let mut nearly = memory(&[("a", None), ("b", None)], CAPACITY - 3);
        assert_eq!(nearly.make_room(0), None);
        nearly.store("c", "v", None, 0);
        assert_eq!(nearly.make_room(0), Some("a".into()));
        assert_eq!(nearly.make_room(0), None, "there is room now");
    }

    /// Stores an item as a command does, and returns the key of what was evicted for it.
    fn put(memory: &mut Memory, key: &str) -> Option<String> {
        let evicted = memory.make_room(0);
        memory.store(key, "v", None, 0);
        evicted
    }

    #[test]
    fn junk_is_as_many_items_as_there_is_room_for() {
        let mut filled = memory(&[("a", None), ("over", Some(-1)), ("b", None)], 0);
        let mut stored = filled.clone();
        let junk = (0..CAPACITY).filter_map(|n| put(&mut stored, &format!("junk-{n}")));
        assert_eq!(filled.fill(), junk.collect::<Vec<_>>());
        for n in 0..CAPACITY {
            let key = format!("late-{n}");
            let evicted = put(&mut stored, &key);
            assert!(evicted.is_some_and(|key| key.starts_with("junk")));
            assert_eq!(put(&mut filled, &key), None);
        }
        let last = Some("late-0".to_owned());
        assert_eq!((put(&mut stored, "c"), put(&mut filled, "c")), (last.clone(), last));
    }

    #[test]
    fn there_is_room_when_the_junk_is_out() {
        let mut filled = memory(&[], 0);
        filled.fill();
        filled.take_out_junk();
        assert!((0..CAPACITY).all(|n| put(&mut filled, &n.to_string()).is_none()));
        assert_eq!(put(&mut filled, "c"), Some("0".into()));
    }

    #[test]
    fn a_use_puts_an_item_in_front_a_minute_after_the_last() {
        let mut memory = memory(&[("a", None), ("b", None)], CAPACITY - 2);
        memory.touch("a", GRAIN);
        assert_eq!(memory.clone().make_room(GRAIN), Some("a".into()));
        memory.touch("a", GRAIN + 1);
        assert_eq!(memory.make_room(GRAIN + 1), Some("b".into()));
    }

    #[test]
    fn what_is_over_takes_room_until_it_is_found_or_is_the_last() {
        let over = [("over-0", Some(-1)), ("over-1", Some(-1))];
        let mut last = memory(&over, CAPACITY - 2);
        assert_eq!(last.make_room(0), None, "both are removed");
        assert_eq!(last.items.len(), CAPACITY - 2);

        let mut behind = memory(&[("a", None), over[0]], CAPACITY - 2);
        assert!(behind.clone().find("over-0").is_none());
        assert_eq!(behind.make_room(0), Some("a".into()), "it hides the one before it");
        assert_eq!(behind.items.len(), CAPACITY - 2, "which is removed after it");

        let mut found = memory(&[("a", None), over[0]], CAPACITY - 2);
        found.find("over-0");
        assert_eq!(found.make_room(0), None);
    }

    #[test]
    fn an_item_whose_last_tick_has_come_is_gone_and_still_not_over() {
        let mut memory = memory(&[("a", Some(0))], CAPACITY - 1);
        assert!(memory.items().all(|(key, _)| key != "a"));
        assert_eq!(memory.clone().make_room(0), None, "nobody misses what is evicted");
        assert_eq!(memory.make_room(1), None);
        assert_eq!(memory.items.len(), CAPACITY - 1);
    }
}
