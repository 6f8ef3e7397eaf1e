//! The event queue: future events in order of time, first come first served at equal times.
//!
//! It is a sorted list. A simulation has a few dozen things to come, a few hundred with hundreds of
//! clients, and most new ones come soon: inserting one moves a few small items, and taking the next
//! one moves nothing.

use base::Mono;

/// The things to come, in order of time; the next one is the last.
pub struct EventQueue<T> {
    items: Vec<(Ticket, T)>,
    sequence: u64,
}

/// A place in the event queue, to take something out again: when, and a count of what was put into
/// the event queue, which decides between equal times. These are halves of one number, because
/// comparing is most of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u128);

impl Ticket {
    fn new(at: Mono, sequence: u64) -> Self {
        Self(u128::from(at.nanos()) << 64 | u128::from(sequence))
    }

    fn at(self) -> Mono {
        Mono::from_nanos((self.0 >> 64) as u64)
    }
}

impl<T: Copy> EventQueue<T> {
    pub fn new() -> Self {
        Self { items: Vec::new(), sequence: 0 }
    }

    pub fn push(&mut self, at: Mono, item: T) -> Ticket {
        let booked = self.book(at);
        // What is booked last comes after all that is due by then, so that times alone are
        // compared.
        self.insert(booked, item, |other| other.at() <= at);
        booked
    }

    /// Keeps a place in the order for an item that may never need it: whatever is put into the
    /// event queue for the same time later comes after it.
    pub fn book(&mut self, at: Mono) -> Ticket {
        self.sequence += 1;
        Ticket::new(at, self.sequence)
    }

    /// Puts an item in its booked place, whose time has not come yet.
    pub fn fill(&mut self, booked: Ticket, item: T) {
        self.insert(booked, item, |other| other < booked);
    }

    /// Inserts an item. Most things come soon: the last few items make room one by one, which is
    /// cheaper than to search first.
    fn insert(&mut self, ticket: Ticket, item: T, is_before: impl Fn(Ticket) -> bool) {
        let near = self.items.len().saturating_sub(16);
        if near > 0 && is_before(self.items[near - 1].0) {
            let place = self.items[..near].partition_point(|(other, _)| !is_before(*other));
            return self.items.insert(place, (ticket, item));
        }
        let mut place = self.items.len();
        self.items.push((ticket, item));
        while place > near && is_before(self.items[place - 1].0) {
            self.items[place] = self.items[place - 1];
            place -= 1;
        }
        self.items[place] = (ticket, item);
    }

    /// Takes the first item, if it is due by `until`.
    pub fn pop(&mut self, until: Mono) -> Option<(Mono, T)> {
        let (next, item) = *self.items.last()?;
        if next.at() > until {
            return None;
        }
        self.items.pop();
        Some((next.at(), item))
    }

    /// Takes something out of the event queue. What has happened already, or was taken out, is
    /// passed over.
    pub fn cancel(&mut self, ticket: Ticket) {
        let place = self.items.partition_point(|(later, _)| *later > ticket);
        if self.items.get(place).is_some_and(|(found, _)| *found == ticket) {
            self.items.remove(place);
        }
    }

    /// Takes out all items that are meant, in their order.
    pub fn extract(&mut self, is_meant: impl Fn(&T) -> bool) -> Vec<T> {
        let taken = self.items.extract_if(.., |(_, item)| is_meant(item));
        let mut taken: Vec<T> = taken.map(|(_, item)| item).collect();
        taken.reverse();
        taken
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn by_time_then_by_arrival() {
        let mut queue = EventQueue::new();
        for (at, item) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b'), (9, 'x')] {
            queue.push(Mono::from_nanos(at), item);
        }
        let due = std::iter::from_fn(|| queue.pop(Mono::from_nanos(5)).map(|(_, item)| item));
        assert_eq!(due.collect::<String>(), "abcd");
    }

    #[test]
    fn a_ticket_is_good_for_one_thing() {
        let mut queue = EventQueue::new();
        let first = queue.push(Mono::from_nanos(1), 'a');
        queue.cancel(first);
        queue.push(Mono::from_nanos(2), 'b');
        queue.cancel(first);
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.pop(Mono::from_nanos(9)).map(|(_, item)| item), Some('b'));
    }

    #[test]
    fn what_is_extracted_keeps_its_order_and_so_does_the_rest() {
        let mut queue = EventQueue::new();
        for (at, item) in [(5, 'c'), (1, 'A'), (5, 'D'), (2, 'b'), (9, 'E')] {
            queue.push(Mono::from_nanos(at), item);
        }
        assert_eq!(queue.extract(|item| item.is_uppercase()), ['A', 'D', 'E']);
        let due = std::iter::from_fn(|| queue.pop(Mono::from_nanos(9)).map(|(_, item)| item));
        assert_eq!(due.collect::<String>(), "bc");
    }

    /// Held against a sorted map, through thousands of random pushes, pops and cancellations.
    #[test]
    fn it_is_a_sorted_map() {
        let mut rng = Rng::new(7);
        let (mut queue, mut map) = (EventQueue::new(), BTreeMap::new());
        let mut tickets = Vec::new();
        let mut longest = 0;
        for n in 0..20_000u64 {
            // It grows to hundreds and shrinks again.
            let grows = n / 1_000 % 2 == 0;
            match rng.below(if grows { 3 } else { 8 }) {
                0 | 1 => {
                    let at = rng.below(50);
                    tickets.push((queue.push(Mono::from_nanos(at), n), (at, n)));
                    map.insert((at, n), ());
                }
                2 if !tickets.is_empty() => {
                    let chosen = rng.below(tickets.len() as u64) as usize;
                    let (ticket, key) = tickets.swap_remove(chosen);
                    queue.cancel(ticket);
                    map.remove(&key);
                }
                _ => {
                    let until = rng.below(60);
                    let expected = map.first_key_value().map(|(key, ())| *key);
                    let expected = expected.filter(|(at, _)| *at <= until);
                    let popped = queue.pop(Mono::from_nanos(until));
                    assert_eq!(popped.map(|(at, n)| (at.nanos(), n)), expected);
                    if let Some(key) = expected {
                        map.remove(&key);
                    }
                }
            }
            assert_eq!(queue.len(), map.len());
            longest = longest.max(queue.len());
        }
        assert!(longest > 100, "{longest}");
    }
}
