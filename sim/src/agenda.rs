//! What happens when: a priority queue of things to come, first come first served at equal times.
//!
//! It is a binary heap of small keys that knows where each key stands, so that a thing which is not
//! to happen any more leaves it at once: a call has a time-out, most calls are answered, and timers
//! that lingered would be most of the queue.

use base::Mono;

/// The things to come, in order of time. The items stand apart from the heap, so that ordering
/// moves small keys and not packets.
pub struct Agenda<T> {
    heap: Vec<Key>,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    sequence: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    at: u64,
    /// Counts what was put on the agenda: it decides between equal times.
    sequence: u64,
    slot: u32,
}

struct Slot<T> {
    item: Option<T>,
    /// Where its key stands in the heap.
    place: u32,
    /// Its key's sequence number: a ticket with another one is out of date.
    sequence: u64,
}

/// A thing on the agenda, to take it off again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    slot: u32,
    sequence: u64,
}

impl<T> Agenda<T> {
    pub fn new() -> Self {
        Self { heap: Vec::new(), slots: Vec::new(), free: Vec::new(), sequence: 0 }
    }

    pub fn push(&mut self, at: Mono, item: T) -> Ticket {
        self.sequence += 1;
        let sequence = self.sequence;
        let content = Slot { item: Some(item), place: 0, sequence };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = content;
                slot
            }
            None => {
                self.slots.push(content);
                self.slots.len() as u32 - 1
            }
        };
        let key = Key { at: at.nanos(), sequence, slot };
        self.heap.push(key);
        self.rise(self.heap.len() - 1, key);
        Ticket { slot, sequence }
    }

    /// Takes the first item, if it is due by `until`.
    pub fn pop(&mut self, until: Mono) -> Option<(Mono, T)> {
        let first = *self.heap.first()?;
        if first.at > until.nanos() {
            return None;
        }
        self.remove(0);
        self.free.push(first.slot);
        let item = self.slots[first.slot as usize].item.take();
        Some((Mono::from_nanos(first.at), item.expect("every key in the heap has its item")))
    }

    /// Takes something off the agenda. What has happened already, or was taken off, is passed over.
    pub fn cancel(&mut self, ticket: Ticket) {
        let slot = &mut self.slots[ticket.slot as usize];
        if slot.sequence == ticket.sequence && slot.item.take().is_some() {
            let place = slot.place as usize;
            self.free.push(ticket.slot);
            self.remove(place);
        }
    }

    /// How much there is to come.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    fn remove(&mut self, place: usize) {
        let last = self.heap.pop().expect("something stands there");
        if place < self.heap.len() {
            let place = self.sink(place, last);
            self.rise(place, last);
        }
    }

    fn put(&mut self, place: usize, key: Key) {
        self.heap[place] = key;
        self.slots[key.slot as usize].place = place as u32;
    }

    /// Moves a key up to its place, from a place that is free.
    fn rise(&mut self, mut place: usize, key: Key) {
        while place > 0 {
            let parent = (place - 1) / 2;
            let above = self.heap[parent];
            if above <= key {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, key);
    }

    /// Finds the place of a key down from a place that is free; says which.
    fn sink(&mut self, mut place: usize, key: Key) -> usize {
        loop {
            let mut child = 2 * place + 1;
            let Some(&left) = self.heap.get(child) else { return place };
            let mut below = left;
            if let Some(&right) = self.heap.get(child + 1)
                && right < left
            {
                (child, below) = (child + 1, right);
            }
            if key <= below {
                return place;
            }
            self.put(place, below);
            place = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn by_time_then_by_arrival() {
        let mut agenda = Agenda::new();
        for (at, item) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b'), (9, 'x')] {
            agenda.push(Mono::from_nanos(at), item);
        }
        let due = std::iter::from_fn(|| agenda.pop(Mono::from_nanos(5)).map(|(_, item)| item));
        assert_eq!(due.collect::<String>(), "abcd");
    }

    #[test]
    fn a_ticket_is_good_for_one_thing() {
        let mut agenda = Agenda::new();
        let first = agenda.push(Mono::from_nanos(1), 'a');
        agenda.cancel(first);
        // The next thing takes the same slot.
        agenda.push(Mono::from_nanos(2), 'b');
        agenda.cancel(first);
        assert_eq!(agenda.len(), 1);
        assert_eq!(agenda.pop(Mono::from_nanos(9)).map(|(_, item)| item), Some('b'));
    }

    /// Held against a sorted map, through thousands of random pushes, pops and cancellations.
    #[test]
    fn it_is_a_sorted_map() {
        let mut rng = Rng::new(7);
        let (mut agenda, mut map) = (Agenda::new(), BTreeMap::new());
        let mut tickets = Vec::new();
        for n in 0..20_000u64 {
            match rng.below(5) {
                0 | 1 => {
                    let at = rng.below(50);
                    tickets.push((agenda.push(Mono::from_nanos(at), n), (at, n)));
                    map.insert((at, n), ());
                }
                2 if !tickets.is_empty() => {
                    let chosen = rng.below(tickets.len() as u64) as usize;
                    let (ticket, key) = tickets.swap_remove(chosen);
                    agenda.cancel(ticket);
                    map.remove(&key);
                }
                _ => {
                    let until = rng.below(60);
                    let expected = map.first_key_value().map(|(key, ())| *key);
                    let expected = expected.filter(|(at, _)| *at <= until);
                    let popped = agenda.pop(Mono::from_nanos(until));
                    assert_eq!(popped.map(|(at, n)| (at.nanos(), n)), expected);
                    if let Some(key) = expected {
                        map.remove(&key);
                    }
                }
            }
            assert_eq!(agenda.len(), map.len());
        }
    }
}
