//! A set of small numbers: the slots of open operations.

use smallvec::SmallVec;

/// Two words lie in place: most histories have at most 128 operations open at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Bits(SmallVec<[u64; 2]>);

impl Bits {
    pub(super) fn has(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    pub(super) fn set(&mut self, bit: usize) {
        let words = self.0.len().max(bit / 64 + 1);
        self.0.resize(words, 0);
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Removes it, and says whether it was in. No zero word stays at the end, so that equal sets
    /// are equal.
    pub(super) fn take(&mut self, bit: usize) -> bool {
        let had = self.has(bit);
        if had {
            self.0[bit / 64] &= !(1 << (bit % 64));
            while self.0.last() == Some(&0) {
                self.0.pop();
            }
        }
        had
    }

    /// Whether all of these are in the other.
    pub(super) fn within(&self, other: &Self) -> bool {
        let words = self.0.iter().enumerate();
        words.fold(true, |all, (at, word)| all && word & !other.0.get(at).unwrap_or(&0) == 0)
    }

    /// Bytes outside of the value itself.
    pub(super) fn heap(&self) -> usize {
        if self.0.spilled() { self.0.capacity() * 8 } else { 0 }
    }
}
