//! Small numbers for names.

use crate::reading::Value;
use std::collections::BTreeMap;

/// Small numbers for things, in the order in which they come.
#[derive(Debug)]
pub(super) struct Numbers<T> {
    pub(super) names: Vec<T>,
    ids: BTreeMap<T, u32>,
    /// The last number given: most histories name one thing many times in a row.
    last: u32,
    /// Bytes of the names, outside of the names themselves.
    heap: usize,
}

/// A thing that gets a number.
pub(super) trait Numbered: Clone + Ord {
    /// Bytes outside of the name itself.
    fn heap(&self) -> usize;
}

impl Numbered for Value {
    fn heap(&self) -> usize {
        Self::heap(self)
    }
}

impl Numbered for Option<Value> {
    fn heap(&self) -> usize {
        self.as_ref().map_or(0, Value::heap)
    }
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { names: Vec::new(), ids: BTreeMap::new(), last: 0, heap: 0 }
    }
}

impl<T: Numbered> Numbers<T> {
    pub(super) fn of(&mut self, name: &T) -> u32 {
        if self.names.get(self.last as usize) == Some(name) {
            return self.last;
        }
        self.last = match self.ids.get(name) {
            Some(id) => *id,
            None => {
                let id = self.names.len() as u32;
                self.heap += name.heap();
                self.ids.insert(name.clone(), id);
                self.names.push(name.clone());
                id
            }
        };
        self.last
    }

    /// Estimates the bytes that they take: each name stands in two places, a list that grows and a
    /// tree whose nodes are half full.
    pub(super) fn memory(&self) -> usize {
        self.names.capacity() * size_of::<T>()
            + self.names.len() * 2 * size_of::<(T, u32)>()
            + self.heap * 2
    }
}
