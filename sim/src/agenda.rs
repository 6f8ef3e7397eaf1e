//! What happens when: a priority queue of things to come, first come first served at equal times.
//!
//! It is a sorted list. A simulation has a few dozen things to come, a few hundred with hundreds of
//! clients, and most new ones come soon: inserting one moves a few small keys, taking the next one
//! moves nothing, and a heap costs three times as much.

use base::Mono;

/// The things to come, in order of time. The items stand apart from the list, so that ordering
/// moves small keys and not packets.
pub struct Agenda<T> {
    /// The next one is the last.
    keys: Vec<Ticket>,
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    sequence: u64,
}

/// A thing on the agenda, to take it off again: when, a count of what was put on the agenda, which
/// decides between equal times, and the slot of its item. These are 64, 40 and 24 bits of one number,
/// because comparing is most of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u128);

const SLOT_BITS: u32 = 24;

impl Ticket {
    fn new(at: Mono, sequence: u64, slot: u32) -> Self {
        debug_assert!(slot < 1 << SLOT_BITS && sequence < 1 << 40);
        Self(u128::from(at.nanos()) << 64 | u128::from(sequence << SLOT_BITS | u64::from(slot)))
    }

    fn with_slot(self, slot: u32) -> Self {
        debug_assert!(slot < 1 << SLOT_BITS && self.slot() == 0);
        Self(self.0 | u128::from(slot))
    }

    /// Whether it comes before another, booked or filled.
    pub fn is_before(self, other: Self) -> bool {
        self.0 >> SLOT_BITS < other.0 >> SLOT_BITS
    }

    fn at(self) -> Mono {
        Mono::from_nanos((self.0 >> 64) as u64)
    }

    fn slot(self) -> u32 {
        self.0 as u32 & ((1 << SLOT_BITS) - 1)
    }
}

impl<T> Agenda<T> {
    pub fn new() -> Self {
        Self { keys: Vec::new(), slots: Vec::new(), free: Vec::new(), sequence: 0 }
    }

    pub fn push(&mut self, at: Mono, item: T) -> Ticket {
        let booked = self.book(at);
        self.fill(booked, item)
    }

    /// Keeps a place in the order for an item that may never need it: whatever is put on the agenda
    /// for the same time later comes after it.
    pub fn book(&mut self, at: Mono) -> Ticket {
        self.sequence += 1;
        Ticket::new(at, self.sequence, 0)
    }

    /// Puts an item in its booked place, whose time has not come yet.
    pub fn fill(&mut self, booked: Ticket, item: T) -> Ticket {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(item);
                slot
            }
            None => {
                self.slots.push(Some(item));
                self.slots.len() as u32 - 1
            }
        };
        let ticket = booked.with_slot(slot);
        let place = self.place(ticket);
        self.keys.insert(place, ticket);
        ticket
    }

    /// Takes the first item, if it is due by `until`.
    pub fn pop(&mut self, until: Mono) -> Option<(Mono, T)> {
        let next = *self.keys.last()?;
        if next.at() > until {
            return None;
        }
        self.keys.pop();
        Some((next.at(), self.take(next)))
    }

    /// Takes something off the agenda. What has happened already, or was taken off, is passed over.
    pub fn cancel(&mut self, ticket: Ticket) {
        let place = self.place(ticket);
        if self.keys.get(place) == Some(&ticket) {
            self.keys.remove(place);
            self.take(ticket);
        }
    }

    /// How much there is to come.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Where a ticket stands, or would.
    fn place(&self, ticket: Ticket) -> usize {
        self.keys.partition_point(|later| *later > ticket)
    }

    fn take(&mut self, ticket: Ticket) -> T {
        self.free.push(ticket.slot());
        let item = self.slots[ticket.slot() as usize].take();
        item.expect("every ticket on the list has its item")
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
