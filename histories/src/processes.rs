//! A record for each process. Numbers are small in most histories, and then nothing is hashed.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Processes below this number have their place in a list.
const SMALL: u32 = 1 << 12;

/// A record for each process, by its number.
#[derive(Debug)]
pub struct Processes<T> {
    small: Vec<T>,
    large: HashMap<u32, T, FxBuildHasher>,
}

impl<T> Default for Processes<T> {
    fn default() -> Self {
        Self { small: Vec::new(), large: HashMap::default() }
    }
}

impl<T: Default> Processes<T> {
    /// Returns the record of a process.
    pub fn of(&mut self, process: u32) -> &mut T {
        if process >= SMALL {
            return self.large.entry(process).or_default();
        }
        let place = process as usize;
        if self.small.len() <= place {
            self.small.resize_with(place + 1, T::default);
        }
        &mut self.small[place]
    }

    /// All that have been asked for, and perhaps others, by their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut large: Vec<(u32, &T)> = self.large.iter().map(|(n, it)| (*n, it)).collect();
        large.sort_unstable_by_key(|(process, _)| *process);
        (0..).zip(&self.small).chain(large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_own_and_they_come_in_order() {
        let mut seen: Processes<u32> = Processes::default();
        for process in [u32::MAX, 2, SMALL, 2, SMALL - 1, u32::MAX, 2] {
            *seen.of(process) += 1;
        }
        let counted: Vec<(u32, u32)> =
            seen.all().filter(|(_, n)| **n > 0).map(|(process, n)| (process, *n)).collect();
        assert_eq!(counted, [(2, 3), (SMALL - 1, 1), (SMALL, 1), (u32::MAX, 2)]);
    }
}
