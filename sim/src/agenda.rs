//! What happens when: a priority queue of things to come, first come first served at equal times.

use base::Mono;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The things to come, in order of time. The items stand apart from the heap, so that ordering
/// moves small keys and not packets.
pub struct Agenda<T> {
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    items: Vec<Option<T>>,
    free: Vec<usize>,
    sequence: u64,
}

impl<T> Agenda<T> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), items: Vec::new(), free: Vec::new(), sequence: 0 }
    }

    pub fn push(&mut self, at: Mono, item: T) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.items[slot] = Some(item);
                slot
            }
            None => {
                self.items.push(Some(item));
                self.items.len() - 1
            }
        };
        self.sequence += 1;
        self.heap.push(Reverse((at.nanos(), self.sequence, slot)));
    }

    /// Takes the first item, if it is due by `until`.
    pub fn pop(&mut self, until: Mono) -> Option<(Mono, T)> {
        let Reverse((at, _, slot)) = *self.heap.peek()?;
        if at > until.nanos() {
            return None;
        }
        self.heap.pop();
        self.free.push(slot);
        let item = self.items[slot].take().expect("every key in the heap has its item");
        Some((Mono::from_nanos(at), item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_time_then_by_arrival() {
        let mut agenda = Agenda::new();
        for (at, item) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b'), (9, 'x')] {
            agenda.push(Mono::from_nanos(at), item);
        }
        let due = std::iter::from_fn(|| agenda.pop(Mono::from_nanos(5)).map(|(_, item)| item));
        assert_eq!(due.collect::<String>(), "abcd");
    }
}
