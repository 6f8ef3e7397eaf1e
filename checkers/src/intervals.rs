//! Intervals of a history, and a search for those that meet another one, without a look at all the
//! others.

/// Intervals, in the order of their begins.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    /// The begin of each, and the number under which it was given.
    begins: Vec<(u64, u32)>,
    /// A tree over the ends: at `n` the latest of those at `2n` and `2n + 1`, and from `leaves` on
    /// the ends themselves.
    latest: Vec<u64>,
    leaves: usize,
}

impl Intervals {
    /// Makes intervals of their begins and ends, in any order.
    pub(crate) fn of(intervals: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let (begins, ends): (Vec<u64>, Vec<u64>) = intervals.into_iter().unzip();
        let mut begins: Vec<(u64, u32)> = begins.into_iter().zip(0..).collect();
        begins.sort_by_key(|(begin, _)| *begin);
        let leaves = begins.len().next_power_of_two();
        let mut latest = vec![0; 2 * leaves];
        for (place, (_, id)) in begins.iter().enumerate() {
            latest[leaves + place] = ends[*id as usize];
        }
        for node in (1..leaves).rev() {
            latest[node] = latest[2 * node].max(latest[2 * node + 1]);
        }
        Self { begins, latest, leaves }
    }

    /// Returns the intervals that begin at `to` or before and end at `from` or later, by their
    /// numbers, in the order of their begins.
    pub(crate) fn meeting(&self, from: u64, to: u64) -> impl Iterator<Item = usize> {
        let begun = self.begins.partition_point(|(begin, _)| *begin <= to);
        let mut next = 0;
        std::iter::from_fn(move || {
            let place = self.first_to_end(next, from).filter(|place| *place < begun)?;
            next = place + 1;
            Some(self.begins[place].1 as usize)
        })
    }

    /// The first place from `next` on whose interval ends at `from` or later.
    fn first_to_end(&self, next: usize, from: u64) -> Option<usize> {
        if next >= self.begins.len() {
            return None;
        }
        let mut node = self.leaves + next;
        while self.latest[node] < from {
            // A left child is followed by its sibling, and a right one by its parent's.
            node >>= node.trailing_ones();
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.latest[node] < from);
        }
        Some(node - self.leaves)
    }
}

/// Returns the length that intervals cover together, where several at once count once.
pub(crate) fn covered(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.sort_unstable();
    let (mut all, mut until) = (0, 0);
    for (begin, end) in intervals {
        all += end.saturating_sub(begin.max(until));
        until = until.max(end);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;

    #[test]
    fn those_that_meet_are_those_that_looking_at_all_finds() {
        let mut rng = Rng::new(3);
        for count in 0..40 {
            let intervals: Vec<(u64, u64)> = (0..count)
                .map(|_| {
                    let begin = rng.below(30);
                    (begin, if rng.chance(0.1) { u64::MAX } else { begin + rng.below(12) })
                })
                .collect();
            let known = Intervals::of(intervals.iter().copied());
            for (from, to) in (0..45).flat_map(|from| (from..45).map(move |to| (from, to))) {
                let mut met: Vec<usize> = known.meeting(from, to).collect();
                assert!(met.is_sorted_by_key(|id| intervals[*id].0));
                met.sort_unstable();
                let meets = |id: &usize| intervals[*id].0 <= to && from <= intervals[*id].1;
                let all: Vec<usize> = (0..intervals.len()).filter(meets).collect();
                assert_eq!(met, all, "{intervals:?} {from} {to}");
            }
        }
    }
}
