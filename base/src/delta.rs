//! Delta debugging: of some pieces that show something together, the few that still do.
//!
//! Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 28(2), 2002.

/// Pieces of which ever fewer are proposed. The caller tries each proposal in its own way, and
/// keeps those that still show what all of them did. In the end no single piece can be left out.
#[derive(Debug)]
pub struct DeltaDebugger<T> {
    left: Vec<T>,
    /// True once it was proposed to do without all of them.
    begun: bool,
    /// The number of parts that the pieces are cut into, of which each is left out in turn.
    parts: usize,
    /// The number of pieces in a part.
    size: usize,
    /// The place of the part that was left out last.
    part: usize,
    /// The place of the part behind it.
    next: usize,
    /// True once one of these parts was not needed.
    taken_out: bool,
}

impl<T: Clone> DeltaDebugger<T> {
    /// Begins with all pieces, in their order.
    pub const fn new(pieces: Vec<T>) -> Self {
        let size = pieces.len().div_ceil(2);
        Self { left: pieces, begun: false, parts: 2, size, part: 0, next: 0, taken_out: false }
    }

    /// Returns the pieces to try next: none at all at first, then ever smaller parts left out.
    /// `None`: there is nothing left to try.
    pub fn propose(&mut self) -> Option<Vec<T>> {
        if !self.begun {
            self.begun = true;
            return (!self.left.is_empty()).then(Vec::new);
        }
        while self.left.len() > 1 {
            while self.next < self.left.len() {
                let rest = self.without_next();
                if !rest.is_empty() {
                    return Some(rest);
                }
            }
            if !self.look_again() {
                break;
            }
        }
        None
    }

    /// Goes on with what was proposed last, or with still fewer of these pieces.
    pub fn keep(&mut self, fewer: Vec<T>) {
        self.left = fewer;
        self.next = self.part;
        self.taken_out = true;
    }

    /// Returns the pieces that are left in the end.
    pub fn least(self) -> Vec<T> {
        self.left
    }

    fn without_next(&mut self) -> Vec<T> {
        self.part = self.next;
        self.next = self.left.len().min(self.part + self.size);
        [&self.left[..self.part], &self.left[self.next..]].concat()
    }

    /// Begins with the first part again: of smaller ones, if none of these could go. Returns false
    /// if there are no smaller ones.
    fn look_again(&mut self) -> bool {
        if self.size == 1 && !self.taken_out {
            return false;
        }
        self.parts = match self.taken_out {
            true => 2.max(self.parts - 1),
            false => self.left.len().min(self.parts * 2),
        };
        self.size = self.left.len().div_ceil(self.parts);
        (self.next, self.taken_out) = (0, false);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of `0..of` that are left where a list does if `shows` is true of it, and the
    /// number of lists that were tried.
    fn least(of: u32, shows: impl Fn(&[u32]) -> bool) -> (Vec<u32>, usize) {
        let mut debugger = DeltaDebugger::new((0..of).collect());
        let mut tried = 0;
        while let Some(fewer) = debugger.propose() {
            tried += 1;
            if shows(&fewer) {
                debugger.keep(fewer);
            }
        }
        (debugger.least(), tried)
    }

    #[test]
    fn what_is_not_needed_goes_at_once() {
        assert_eq!(least(0, |_| true), (vec![], 0));
        assert_eq!(least(1_000, |_| true), (vec![], 1));
        assert_eq!(least(1, |left| !left.is_empty()), (vec![0], 1));
    }

    #[test]
    fn the_pieces_that_are_needed_together_are_left_in_their_order() {
        for needed in [vec![0], vec![99], vec![3, 4], vec![0, 50, 99], vec![1, 20, 21, 77, 98]] {
            let shows = |left: &[u32]| needed.iter().all(|piece| left.contains(piece));
            let (left, tried) = least(100, shows);
            assert_eq!(left, needed);
            assert!(tried < 100, "{needed:?} took {tried}");
        }
    }

    #[test]
    fn no_single_piece_can_be_left_out_in_the_end() {
        // Any even number of pieces will do, at least four of them.
        let shows = |left: &[u32]| left.len() >= 4 && left.len().is_multiple_of(2);
        for of in (4..60).step_by(2) {
            let (left, _) = least(of, shows);
            let singles = (0..left.len()).map(|gone| [&left[..gone], &left[gone + 1..]].concat());
            assert!(singles.into_iter().all(|fewer| !shows(&fewer)), "{left:?}");
        }
    }

    #[test]
    fn all_of_them_may_be_needed() {
        assert_eq!(least(7, |left| left.len() == 7).0, (0..7).collect::<Vec<_>>());
    }

    #[test]
    fn still_fewer_than_proposed_may_be_kept() {
        let mut debugger = DeltaDebugger::new((0..100).collect::<Vec<u32>>());
        while let Some(mut fewer) = debugger.propose() {
            // What comes after the last piece that is needed is seen to be of no use.
            if let Some(place) = fewer.iter().position(|piece| *piece == 30) {
                fewer.truncate(place + 1);
                debugger.keep(fewer);
            }
        }
        assert_eq!(debugger.least(), [30]);
    }
}
