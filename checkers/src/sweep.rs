//! Mutual exclusion by one sweep over the holds, in O(n log n), and why that is exact.
//!
//! # The question
//! A history is *right* if its operations can be put on one line, each at a point between its
//! `invoke` and its answer, so that the lock steps from one legal set of holds to the next:
//! at most one exclusive holder and then nobody else, or any number of shared ones. Operations are
//! taken as **belief** has them: an acquire that failed is dropped; an acquire of unknown outcome
//! may take its place at any point after its `invoke`, or nowhere; whatever ends a hold (release,
//! `lost`, death) frees the lock at any point after its `invoke`, or never, whatever its answer
//! was. Each of these belongs to an acquire of the same process that was answered `ok` before.
//!
//! # The claim
//! The history is right **if and only if** at no place the set of definite holds is illegal.
//!
//! *Only if.* Take a line that is right, and a place between two events of the history. A definite
//! hold that covers the place has its `ok` before it and the `invoke` of its end, if there is one,
//! after it. So its acquire stands before the place on the line and its end does not: the lock is
//! held by it there. All definite holds of the place are thus part of the set of holds on the
//! line, which is legal; and a part of a legal set is legal.
//!
//! *If.* Put every granted acquire at its `ok`, every end at its `invoke`, and leave out the
//! acquires of unknown outcome. Each point lies within its operation, two points never coincide
//! because two events never do, and each end frees what the line holds. The set of holds on the
//! line is then at each place exactly the set of definite holds, which is legal by assumption, so
//! every step is one that the lock may take.
//!
//! The proof asks of the rules only that a part of a legal set is legal. Order is the event index,
//! never the time; a hold that begins where another ends does not touch it. A property test holds
//! the sweep against a search over all lines.

use crate::holds::Claim;
use base::Mode;
use std::collections::BTreeSet;

/// What kind of holds overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Two exclusive ones.
    DoubleHold,
    /// A shared and an exclusive one.
    ReaderWriter,
}

/// A grant that was given while another definite hold forbade it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What overlaps.
    pub overlap: Overlap,
    /// The oldest hold that forbade the grant, as an index into the claims.
    pub first: usize,
    /// The hold that should not have begun, as an index into the claims.
    pub second: usize,
}

/// The definite holds of one key at the place that the sweep has reached, oldest grant first.
#[derive(Debug, Default)]
struct Active {
    exclusive: BTreeSet<(u64, usize)>,
    shared: BTreeSet<(u64, usize)>,
}

impl Active {
    fn of(&mut self, mode: Mode) -> &mut BTreeSet<(u64, usize)> {
        match mode {
            Mode::Exclusive => &mut self.exclusive,
            Mode::Shared => &mut self.shared,
        }
    }

    /// The conflicts of a new hold with those that are active: at most one of each kind.
    fn conflicts(&self, second: usize, mode: Mode) -> impl Iterator<Item = Conflict> {
        let oldest = |set: &BTreeSet<(u64, usize)>| set.first().map(|&(_, first)| first);
        let (double, readers) = match mode {
            Mode::Exclusive => (oldest(&self.exclusive), oldest(&self.shared)),
            Mode::Shared => (None, oldest(&self.exclusive)),
        };
        let conflict = move |overlap| move |first| Conflict { overlap, first, second };
        let double = double.map(conflict(Overlap::DoubleHold));
        double.into_iter().chain(readers.map(conflict(Overlap::ReaderWriter)))
    }
}

/// The places where a set of definite holds becomes illegal, in order. Every offending grant is
/// named once per kind of overlap, however many holds it offends.
pub fn sweep(claims: &[Claim]) -> Vec<Conflict> {
    let keys = claims.iter().map(|claim| claim.key + 1).max().unwrap_or(0);
    let mut active: Vec<Active> = (0..keys).map(|_| Active::default()).collect();
    let mut conflicts = Vec::new();
    for (_, begins, id) in edges(claims) {
        let claim = &claims[id];
        let Some(ok) = claim.granted() else { continue };
        let active = &mut active[claim.key];
        if begins {
            conflicts.extend(active.conflicts(id, claim.mode));
            active.of(claim.mode).insert((ok, id));
        } else {
            active.of(claim.mode).remove(&(ok, id));
        }
    }
    conflicts
}

/// Begin and end of every definite hold, by event index.
fn edges(claims: &[Claim]) -> Vec<(u64, bool, usize)> {
    let holds = || claims.iter().enumerate().filter_map(|(id, c)| Some((id, c.definite()?)));
    let begins = holds().map(|(id, hold)| (hold.start, true, id));
    let ends = holds().map(|(id, hold)| (hold.end, false, id));
    let mut edges: Vec<_> = begins.chain(ends).collect();
    // A stable sort merges the two runs, each of which is nearly in order already.
    edges.sort_by_key(|(at, ..)| *at);
    edges
}

#[cfg(test)]
mod property;
