//! Mutual exclusion by one line sweep over the holds, and why that is exact.
//!
//! # The question
//! A history is *right* if its operations can be put on one line, each at a point between its
//! `invoke` and its answer, so that the lock steps from one legal set of holds to the next. Which
//! sets are legal is the lock's [`Rule`]; all that is used of it below is
//!
//! * **(closed)** a part of a legal set is legal, and so is a set in which an exclusive hold has
//!   become a shared one.
//!
//! Two normal forms define which operations there are:
//!
//! * **Strict** (`check --model`, Jepsen's rule). An operation that failed is dropped; one of
//!   unknown outcome takes its place at any point after its `invoke`, or nowhere.
//! * **Belief** (the checker `exclusion`). The same for acquires and conversions, but that a
//!   downgrade which failed counts as done, and that the holds of one process, which may take the
//!   lock again, never forbid each other. Whatever ends a hold (release, `lost`, death) may take
//!   its place at any point after its `invoke`, or nowhere, whatever its answer was.
//!
//! In both, a process does one thing at a time, and
//!
//! * **(owned)** every release or conversion belongs to a grant of the same process that was
//!   answered `ok` before it and is not released yet, each release to another one; but for an
//!   upgrade of unknown outcome, and for one that is *homeless*: of unknown outcome, of a lock that
//!   knows its owners, while its process has no such grant.
//! * **(tight)** after a homeless operation, or a downgrade of unknown outcome, its process neither
//!   takes the lock nor upgrades, but for operations of unknown outcome.
//!
//! [`strict`] checks that of operations from anywhere, and what is not so goes to the
//! [search](crate::search). The claims of [`holds`](crate::holds) are so by construction, if each
//! is taken for a process of its own, which does nothing after an operation of unknown outcome.
//!
//! A hold may be of several permits, which are taken at one point and given back at one point. Such
//! are only the claims of belief: `strict` leaves operations on several permits to the search.
//!
//! The **definite hold** of a granted acquire runs from its `ok` to the `invoke` of its release,
//! if there is one. It is exclusive from the `ok` of what made it so (the acquire, an upgrade) to
//! the `invoke` of what makes it shared again (a downgrade), and shared otherwise. Of a conversion
//! from a mode to the same nothing comes.
//!
//! # The claim
//! The history is right **if and only if** at no place the set of definite holds is illegal.
//!
//! *Only if.* Take a line that is right, and a place between two events of the history at which a
//! process has definite holds. It has done nothing homeless before the place: by (tight) it would
//! have none. Let *a* of its grants be answered before the place and *r* of its releases begun, so
//! that it has *a* - *r* definite holds there. On the line it has taken the lock at least *a* times
//! before the place and freed it at most *r* times: it holds it at least *a* - *r* times. A lock
//! that knows no owners (`mutex`, `semaphore`) has nothing homeless, and the same holds of all
//! processes together, since the lock counts no more than that.
//!
//! If one of these holds is definitely exclusive at the place, take the step on the line that made
//! it so, a granted acquire or an upgrade. All that the process had begun before was certain, or a
//! release, or takes more; for by (tight) no downgrade is in doubt. Right behind the step, the
//! process holds the lock once. With *t* acquires in doubt and *f* releases before it on the line,
//! *a* + *t* - *f* = 1, where *a* counts the grants so far, *f* ≤ *r* for the *r* releases begun by
//! then, and *a* - *r* ≥ 1, for that is how many definite holds there are. So *f* = *r* and *t* =
//! 0: no release is left that could come later, and nothing else makes the hold less than exclusive
//! before the `invoke` of what ends it. So on the line as well the process holds it exclusively.
//!
//! All definite holds of the place are thus part, perhaps weakened, of the set of holds on the
//! line, which is legal; so by (closed) they are legal.
//!
//! *If.* Put every granted acquire and every upgrade at its `ok`, every release and downgrade at
//! its `invoke`, and leave out the acquires and upgrades of unknown outcome and whatever is
//! homeless. Each point lies within its operation, two points never coincide because two events
//! never do, and by (owned) each release and conversion finds its hold. The set of holds on the
//! line is then at each place exactly the set of definite holds, which is legal by assumption, so
//! every step is one that the lock may take.
//!
//! # Tokens
//! A lock that is `fenced` also steps from each token to a greater one. Then tokens are distinct,
//! and acquires stand on the line in the order of their tokens. Let the *point* of a grant be the
//! earlier of its `ok` and the point of the next higher token; by induction from the highest token
//! down, no line that is right has the grant later than its point. So the hold is definite from
//! its point on, not only from its `ok`: *only if* holds as above, and no point may lie before its
//! `invoke`. *If* holds with every such acquire at its point, where those that share one stand in
//! the order of their tokens: a point is an `ok`, so nothing is released between them, the set of
//! holds only grows, and all its parts are legal if the last one is.
//!
//! # Two rules that are wrong
//! It is not enough to look at pairs: of k + 1 holds every two may overlap with k permits left,
//! and three holds of which every two are legal can be too deep. And a shared hold with a token
//! does not begin at its `ok`: two readers whose answers came in the other order than their grants
//! may have a writer between them. Both stand in the tests.
//!
//! Order is the event index, never the time; a hold that begins where another ends does not touch
//! it. A property test holds the line sweep against the search, and the search against all lines.

use crate::holds::Claims;
use base::Mode;
use std::collections::VecDeque;

pub(crate) mod strict;

/// The sets of holds that are legal. Each is closed as the proof asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// At most so many permits, of whomever: 1 for a mutex.
    Permits(u32),
    /// One exclusive hold alone, or shared ones.
    ReadWrite,
    /// The same among the holds of different processes: those of one process go together.
    Others,
    /// At most so many, all of one process.
    Reentrant(u32),
}

/// The kind of holds that overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Two exclusive ones, or one with more permits than the others leave by the rule.
    DoubleHold,
    /// A shared and an exclusive one.
    ReaderWriter,
}

/// A hold that was given, or made exclusive, while another definite hold forbade it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The kind of the overlap.
    pub overlap: Overlap,
    /// The oldest hold that forbade it.
    pub first: usize,
    /// The hold that should not have begun.
    pub second: usize,
    /// The event at which it begins.
    pub at: u64,
}

/// A definite hold begins, changes its mode or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldChange {
    /// The index of the event.
    pub at: u64,
    /// The hold, by its number.
    pub hold: u32,
    /// The mode in which it is held from here on; `None` when it ends.
    pub to: Option<Mode>,
}

/// The process that holds a lock, the lock, and the permits that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process number.
    pub process: u32,
    /// The lock, as a small number.
    pub key: usize,
    /// The number of permits; 1 of any lock that is no semaphore.
    pub permits: u32,
}

/// The definite holds of one key at the place that the line sweep has reached.
#[derive(Debug, Default)]
struct DefiniteHolds {
    exclusive: ModeHolds,
    shared: ModeHolds,
    /// The permits that are held, where the rule is about them.
    permits: u64,
    /// Its set of holds was illegal, and it is not looked at any more.
    over: bool,
}

/// The holds of one mode, oldest first. Those that have ended are still in it, until they come to
/// its front: so nothing is searched for.
#[derive(Debug, Default)]
struct ModeHolds {
    holds: VecDeque<u32>,
    live: u32,
}

impl ModeHolds {
    fn oldest(&mut self, is_live: impl Fn(u32) -> bool) -> Option<u32> {
        while let Some(hold) = self.holds.front() {
            if is_live(*hold) {
                return Some(*hold);
            }
            self.holds.pop_front();
        }
        None
    }
}

impl DefiniteHolds {
    fn of(&mut self, mode: Mode) -> &mut ModeHolds {
        match mode {
            Mode::Exclusive => &mut self.exclusive,
            Mode::Shared => &mut self.shared,
        }
    }

    fn count(&self) -> u32 {
        self.exclusive.live + self.shared.live
    }
}

/// One pass over the changes of many keys.
pub(crate) struct LineSweep<H> {
    rule: Rule,
    holder: H,
    keys: Vec<DefiniteHolds>,
    /// The mode in which each hold is held now.
    modes: Vec<Option<Mode>>,
}

impl<H: Fn(u32) -> Holder> LineSweep<H> {
    pub(crate) fn new(rule: Rule, keys: usize, holds: usize, holder: H) -> Self {
        let keys = (0..keys).map(|_| DefiniteHolds::default()).collect();
        Self { rule, holder, keys, modes: vec![None; holds] }
    }

    /// Takes the next change. Hands over the conflicts that it brings, at most one of each kind of
    /// overlap.
    pub(crate) fn step(&mut self, change: HoldChange, found: impl FnMut(Conflict)) {
        // Most histories have one key, and then nobody need be asked.
        let key = if self.keys.len() == 1 { 0 } else { (self.holder)(change.hold).key };
        let before = std::mem::replace(&mut self.modes[change.hold as usize], change.to);
        if before == change.to {
            return;
        }
        let permits = match self.rule {
            Rule::Permits(_) => u64::from((self.holder)(change.hold).permits),
            Rule::ReadWrite | Rule::Others | Rule::Reentrant(_) => 1,
        };
        let active = &mut self.keys[key];
        if let Some(mode) = before {
            active.of(mode).live -= 1;
            active.permits -= permits;
        }
        let Some(mode) = change.to else { return };
        active.permits += permits;
        if active.count() > 0 && !active.over {
            self.conflicts(change, key, mode, found);
        }
        let line = self.keys[key].of(mode);
        if line.live == 0 {
            line.holds.clear();
        }
        line.live += 1;
        line.holds.push_back(change.hold);
    }

    /// The conflicts of a hold that begins with those that are active.
    fn conflicts(
        &mut self,
        change: HoldChange,
        key: usize,
        mode: Mode,
        mut found: impl FnMut(Conflict),
    ) {
        let writer = self.rival(key, Mode::Exclusive, change.hold);
        let reader = self.rival(key, Mode::Shared, change.hold);
        let mut conflict = |overlap, first: Option<u32>| {
            let second = change.hold as usize;
            let conflict = |first| Conflict { overlap, first, second, at: change.at };
            first.into_iter().for_each(|first| found(conflict(first as usize)));
        };
        match (self.rule, mode) {
            (Rule::ReadWrite | Rule::Others, Mode::Exclusive) => {
                conflict(Overlap::DoubleHold, writer);
                conflict(Overlap::ReaderWriter, reader);
            }
            (Rule::ReadWrite | Rule::Others, Mode::Shared) => {
                conflict(Overlap::ReaderWriter, writer)
            }
            (Rule::Permits(_) | Rule::Reentrant(_), _) => {
                let first = writer.or(reader);
                let first = first.filter(|first| self.forbids(*first, change.hold, key));
                conflict(Overlap::DoubleHold, first);
            }
        }
    }

    /// Returns true if one more hold is too many, by a rule for holds of one mode.
    fn forbids(&mut self, oldest: u32, new: u32, key: usize) -> bool {
        let active = &mut self.keys[key];
        match self.rule {
            Rule::Permits(permits) => active.permits > u64::from(permits),
            Rule::Reentrant(depth) => {
                // As long as the set is legal, all are of one process: that of the oldest.
                let process = |hold| (self.holder)(hold).process;
                active.over = active.count() >= depth || process(oldest) != process(new);
                active.over
            }
            Rule::ReadWrite | Rule::Others => unreachable!("they look at modes"),
        }
    }

    /// The oldest hold of a mode that may forbid a new one.
    fn rival(&mut self, key: usize, mode: Mode, new: u32) -> Option<u32> {
        let oldest = self.oldest(key, mode, new)?;
        let process = |hold: u32| (self.holder)(hold).process;
        if self.rule != Rule::Others || process(oldest) != process(new) {
            return Some(oldest);
        }
        let is_live = |hold: u32| self.modes[hold as usize] == Some(mode);
        let mut line = self.keys[key].of(mode).holds.iter().copied();
        line.find(|hold| is_live(*hold) && process(*hold) != process(new))
    }

    fn oldest(&mut self, key: usize, mode: Mode, but: u32) -> Option<u32> {
        let modes = &self.modes;
        self.keys[key].of(mode).oldest(|hold| hold != but && modes[hold as usize] == Some(mode))
    }

    /// The holds of a key that are active, oldest first.
    pub(crate) fn active(&self, key: usize) -> Vec<(u32, Mode)> {
        let active = &self.keys[key];
        let lines = [(Mode::Exclusive, &active.exclusive), (Mode::Shared, &active.shared)];
        let mut seen = Vec::new();
        for (mode, line) in lines {
            let live = line.holds.iter().filter(|hold| self.modes[**hold as usize] == Some(mode));
            seen.extend(live.map(|hold| (*hold, mode)));
        }
        seen.sort_unstable_by_key(|(hold, _)| *hold);
        seen.dedup();
        seen
    }
}

/// Returns the places where clients believe what a lock forbids by this rule, in order. Every
/// offending grant or upgrade is named once per kind of overlap, however many holds it offends.
pub fn conflicts(claims: &Claims, rule: Rule) -> Vec<Conflict> {
    let Claims { claims, changes, keys, .. } = claims;
    let holder = |hold: u32| claims[hold as usize].holder();
    let mut sweep = LineSweep::new(rule, keys.len(), claims.len(), holder);
    let mut conflicts = Vec::new();
    changes.iter().for_each(|change| sweep.step(*change, |conflict| conflicts.push(conflict)));
    conflicts
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;
