//! A clock that is wrong, of a server or of a client: how far it went is measured by the word of
//! whose clock it is, and only what is certain counts.

use base::ClockChange;
use std::time::Duration;

/// The longest time that a server or a client may take to tell its time. One that is paused
/// meanwhile answers after that.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The lead of a wall clock over the clock of the run, in microseconds: it was read at some moment
/// between question and answer.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    least: i64,
    most: i64,
}

impl Lead {
    /// The lead of a clock that showed this time, in microseconds, between these two times of the
    /// run.
    pub fn of(time: i64, asked: i64, answered: i64) -> Self {
        Self { least: time - answered, most: time - asked }
    }

    /// The most likely one, in nanoseconds.
    pub const fn middle_ns(self) -> i64 {
        (self.least + self.most) * 500
    }

    /// The same without a part of it.
    fn without_ns(self, nanos: i64) -> Self {
        Self { least: self.least - nanos / 1_000, most: self.most - nanos / 1_000 }
    }

    /// The microseconds by which a clock with this lead certainly came to another one, ahead or
    /// back.
    fn moved_to(self, after: Self, ahead: bool) -> u64 {
        let micros = if ahead { after.least - self.most } else { self.least - after.most };
        micros.max(0) as u64
    }
}

/// A clock that a fault has made wrong.
#[derive(Clone, Copy, Debug)]
pub struct WrongClock {
    /// The fault.
    pub change: ClockChange,
    /// The microseconds by which it certainly went where it was sent at once.
    moved: u64,
    /// The lead that it had when its rate became wrong, without jumps; `None` if that was not read.
    lead: Option<Lead>,
}

impl WrongClock {
    /// A clock with these leads, if they were read, before the fault and as soon as it was in
    /// force: with jumps of so much then.
    pub fn new(
        change: ClockChange,
        before: Option<Lead>,
        after: Option<Lead>,
        jumps_ns: i64,
    ) -> Self {
        let moved = match (change, before, after) {
            (ClockChange::Jump(nanos), Some(before), Some(after)) => {
                before.moved_to(after, nanos >= 0)
            }
            _ => 0,
        };
        Self { change, moved, lead: after.map(|lead| lead.without_ns(jumps_ns)) }
    }

    /// Returns true if it goes wrong for as long as the fault lasts. One that was set is as wrong
    /// at once.
    pub const fn has_rate(&self) -> bool {
        !matches!(self.change, ClockChange::Jump(_))
    }

    /// The microseconds by which it certainly went wrong until it has this lead, of which jumps
    /// make so much; 0 if it was not read.
    pub fn moved(&self, now: Option<Lead>, jumps_ns: i64) -> u64 {
        let ahead = match self.change {
            ClockChange::Jump(_) => return self.moved,
            ClockChange::Drift(ppm) => ppm >= 0,
            ClockChange::Freeze => false,
        };
        let now = now.map(|lead| lead.without_ns(jumps_ns));
        self.lead.zip(now).map_or(0, |(then, now)| then.moved_to(now, ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(least: i64, most: i64) -> Lead {
        Lead { least, most }
    }

    #[test]
    fn only_what_is_certain_counts_as_moved() {
        let there = lead(1_000_000, 1_000_900);
        assert_eq!(there.moved_to(lead(6_000_000, 6_000_800), true), 4_999_100);
        assert_eq!(there.moved_to(lead(-4_000_000, -3_999_100), false), 4_999_100);
        assert_eq!(there.moved_to(lead(1_000_100, 1_001_000), true), 0, "it stood");
        assert_eq!(there.moved_to(lead(-4_000_000, -3_999_100), true), 0, "it went back");
        assert_eq!(there.moved_to(lead(5_000_000, 9_000_000), true), 3_999_100, "slow answer");
    }

    #[test]
    fn a_jump_counts_at_once_and_a_rate_until_its_end_without_jumps() {
        let (before, after) = (Some(lead(0, 100)), Some(lead(5_000_000, 5_000_100)));
        let later = Some(lead(3_000_000, 3_000_100));
        let jump = WrongClock::new(ClockChange::Jump(5_000_000_000), before, after, 5_000_000_000);
        assert_eq!((jump.has_rate(), jump.moved(None, 0)), (false, 4_999_900));
        let freeze = WrongClock::new(ClockChange::Freeze, None, after, 5_000_000_000);
        assert!(freeze.has_rate());
        assert_eq!(freeze.moved(later, 5_000_000_000), 1_999_900);
        assert_eq!(freeze.moved(later, 3_000_000_000), 0, "another fault had set it");
        assert_eq!(freeze.moved(None, 0), 0, "it was not told");
        let fast = WrongClock::new(ClockChange::Drift(1), None, before, 0);
        assert_eq!((fast.moved(later, 0), fast.moved(after, 0)), (2_999_900, 4_999_900));
    }
}
