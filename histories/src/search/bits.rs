//! A set of small numbers: the slots of open operations.

/// The number of bits stored in place: most histories have fewer operations open at once.
const LOW: usize = u128::BITS as usize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Bits {
    low: u128,
    /// The rest. No zero word stays at its end, so that equal sets are equal.
    high: Vec<u64>,
}

impl Bits {
    #[inline]
    pub(super) fn has(&self, bit: usize) -> bool {
        match bit.checked_sub(LOW) {
            None => self.low & (1 << bit) != 0,
            Some(bit) => self.high.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, bit: usize) {
        let Some(bit) = bit.checked_sub(LOW) else {
            self.low |= 1 << bit;
            return;
        };
        let words = self.high.len().max(bit / 64 + 1);
        self.high.resize(words, 0);
        self.high[bit / 64] |= 1 << (bit % 64);
    }

    #[inline]
    pub(super) fn remove(&mut self, bit: usize) {
        let Some(bit) = bit.checked_sub(LOW) else {
            self.low &= !(1 << bit);
            return;
        };
        if let Some(word) = self.high.get_mut(bit / 64) {
            *word &= !(1 << (bit % 64));
        }
        while self.high.last() == Some(&0) {
            self.high.pop();
        }
    }

    /// Adds all of these.
    #[inline]
    pub(super) fn add(&mut self, other: &Self) {
        self.low |= other.low;
        let words = self.high.len().max(other.high.len());
        self.high.resize(words, 0);
        self.high.iter_mut().zip(&other.high).for_each(|(word, more)| *word |= more);
    }

    /// Returns the numbers that are in both.
    pub(super) fn and(&self, other: &Self) -> Self {
        let high = self.high.iter().zip(&other.high).map(|(a, b)| a & b);
        let mut both = Self { low: self.low & other.low, high: high.collect() };
        while both.high.last() == Some(&0) {
            both.high.pop();
        }
        both
    }

    /// Returns true if all of these are in the other.
    #[inline]
    pub(super) fn within(&self, other: &Self) -> bool {
        let mut words = self.high.iter().enumerate();
        self.low & !other.low == 0
            && words.all(|(at, word)| word & !other.high.get(at).unwrap_or(&0) == 0)
    }

    /// Returns the number of its members.
    pub(super) fn count(&self) -> u32 {
        self.low.count_ones() + self.high.iter().map(|word| word.count_ones()).sum::<u32>()
    }

    /// Bytes outside of the value itself.
    pub(super) fn heap(&self) -> usize {
        self.high.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(numbers: &[usize]) -> Bits {
        let mut bits = Bits::default();
        numbers.iter().for_each(|number| bits.set(*number));
        bits
    }

    #[test]
    fn it_is_a_set_on_both_sides_of_what_lies_in_place() {
        for base in [0, 120, 127, 128, 190, 1000] {
            let mut all = bits(&[base, base + 1, base + 70]);
            assert!(all.has(base + 1) && !all.has(base + 2), "{base}");
            assert!(bits(&[base, base + 70]).within(&all), "{base}");
            assert!(!bits(&[base + 2]).within(&all), "{base}");
            assert!(!all.within(&bits(&[base, base + 1])), "{base}");
            assert_eq!(all.and(&bits(&[base + 1, base + 2])), bits(&[base + 1]), "{base}");
            all.remove(base + 70);
            assert_eq!(all, bits(&[base + 1, base]), "{base}");
            all.add(&bits(&[3, base + 300]));
            assert_eq!(all, bits(&[base + 300, base, base + 1, 3]), "{base}");
            assert_eq!(all.count(), 4, "{base}");
            [base, base + 1, base + 300, 3].into_iter().for_each(|bit| all.remove(bit));
            assert_eq!(all, Bits::default(), "{base}");
        }
    }
}
