//! The clocks of a node: how its monotonic clock and its wall clock go, against the time of the
//! world, which nobody in it can read.
//!
//! Both go by one oscillator, whose rate may be wrong; the wall clock can be set as well. A
//! deadline is a reading of the node's own monotonic clock: whoever waits for it has to ask anew
//! when the rate changes.

use crate::{ClockChange, Mono, WallTime};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const MILLION: u64 = 1_000_000;

/// All that is wrong with the clocks of a node: the faults in force together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSetting {
    /// The time by which the wall clock was set ahead, back when negative.
    pub jumps_ns: i64,
    /// The rate of both clocks, in parts per million of the right one: 0 while they stand still.
    pub rate_ppm: u64,
}

impl ClockSetting {
    /// The setting of right clocks.
    pub const RIGHT: Self = Self { jumps_ns: 0, rate_ppm: MILLION };

    /// Returns true if nothing is wrong.
    pub fn is_right(&self) -> bool {
        *self == Self::RIGHT
    }
}

impl Default for ClockSetting {
    fn default() -> Self {
        Self::RIGHT
    }
}

/// The clocks of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The last change of the rate, by the time of the world, and what the monotonic clock read
    /// then.
    since: Mono,
    read: Mono,
    /// All drifts in force together, in parts per million.
    drift_ppm: i64,
    /// The number of faults that hold it still.
    frozen: u32,
    /// The lead of the wall clock over the monotonic one.
    ahead_ns: i64,
    /// The reading of a right wall clock when the time of the world was zero.
    epoch: WallTime,
    /// All jumps in force together.
    jumps_ns: i64,
}

impl Clock {
    /// Right clocks, of which the monotonic one reads so at this time of the world, in a world that
    /// began at this time of the calendar.
    pub const fn right(epoch: WallTime, now: Mono, mono: Mono) -> Self {
        let ahead_ns = (epoch.nanos() + now.nanos()) as i64 - mono.nanos() as i64;
        Self { since: now, read: mono, drift_ppm: 0, frozen: 0, ahead_ns, epoch, jumps_ns: 0 }
    }

    /// Returns the monotonic clock's reading at this time of the world.
    #[inline]
    pub fn mono(&self, now: Mono) -> Mono {
        let passed = now.nanos() - self.since.nanos();
        let counted = if self.is_true() { passed } else { self.counted(passed) };
        Mono::from_nanos(self.read.nanos() + counted)
    }

    /// Returns the nanoseconds that the oscillator counts while this many pass.
    #[cold]
    fn counted(&self, passed: u64) -> u64 {
        (u128::from(passed) * u128::from(self.rate_ppm()) / u128::from(MILLION)) as u64
    }

    /// Returns the wall clock's reading at this time of the world.
    #[inline]
    pub fn wall(&self, now: Mono) -> WallTime {
        WallTime::from_nanos(self.mono(now).nanos().saturating_add_signed(self.ahead_ns))
    }

    /// The first time of the world, from `now` on, at which the monotonic clock shows `reading` or
    /// more. Never, if it stands still.
    #[inline]
    pub fn due(&self, reading: Mono, now: Mono) -> Mono {
        let left = reading.nanos().saturating_sub(self.read.nanos());
        let lasts = if self.is_true() { left } else { self.lasts(left) };
        Mono::from_nanos(self.since.nanos().saturating_add(lasts)).max(now)
    }

    /// Returns the nanoseconds that pass until the oscillator has counted this many.
    #[cold]
    fn lasts(&self, left: u64) -> u64 {
        match self.rate_ppm() {
            0 if left > 0 => u64::MAX,
            0 => 0,
            rate => {
                // Rounded up: a timer must not go off before its time by the clock that it goes by.
                let nanos = (u128::from(left) * u128::from(MILLION)).div_ceil(u128::from(rate));
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        }
    }

    /// A reading of the monotonic clock in the time of the world, by how far they are apart now.
    pub fn translate(&self, reading: u64, now: Mono) -> u64 {
        let apart = now.nanos() as i64 - self.mono(now).nanos() as i64;
        reading.saturating_add_signed(apart)
    }

    /// Makes the clock go wrong.
    pub fn change(&mut self, change: ClockChange, now: Mono) {
        self.rebase(now);
        match change {
            ClockChange::Jump(nanos) => self.jump(nanos),
            ClockChange::Drift(ppm) => self.drift_ppm += i64::from(ppm),
            ClockChange::Freeze => self.frozen += 1,
        }
    }

    /// One thing that was wrong with it is right again. Once its rate is right, the wall clock is
    /// set, as NTP does it; a monotonic clock is never set. Returns how far the wall clock was off.
    pub fn undo(&mut self, change: ClockChange, now: Mono) -> Duration {
        self.rebase(now);
        let off_ns = self.lead_ns(now);
        match change {
            ClockChange::Jump(nanos) => self.jump(nanos.saturating_neg()),
            ClockChange::Drift(ppm) => self.drift_ppm -= i64::from(ppm),
            ClockChange::Freeze => self.frozen -= 1,
        }
        self.set_right(now);
        Duration::from_nanos(off_ns.unsigned_abs())
    }

    /// Returns all that is wrong with it.
    pub fn setting(&self) -> ClockSetting {
        ClockSetting { jumps_ns: self.jumps_ns, rate_ppm: self.rate_ppm() }
    }

    /// Makes this all that is wrong with it. To set the same again changes nothing.
    pub fn set(&mut self, setting: ClockSetting, now: Mono) {
        self.rebase(now);
        self.jump(setting.jumps_ns.saturating_sub(self.jumps_ns));
        (self.drift_ppm, self.frozen) = (setting.rate_ppm as i64 - MILLION as i64, 0);
        self.set_right(now);
    }

    /// Puts both clocks ahead by what they have gained at a wrong rate, back when negative.
    pub fn gain(&mut self, drifted_ns: i64) {
        self.read = Mono::from_nanos(self.read.nanos().saturating_add_signed(drifted_ns));
    }

    /// Returns the lead of the wall clock that comes of no jump.
    pub fn drifted_ns(&self, now: Mono) -> i64 {
        self.lead_ns(now).saturating_sub(self.jumps_ns)
    }

    /// Returns the lead of the wall clock over a right one.
    pub fn lead_ns(&self, now: Mono) -> i64 {
        let right = self.epoch.nanos() as i64 + now.nanos() as i64;
        (self.mono(now).nanos() as i64 - right).saturating_add(self.ahead_ns)
    }

    fn jump(&mut self, nanos: i64) {
        self.jumps_ns = self.jumps_ns.saturating_add(nanos);
        self.ahead_ns = self.ahead_ns.saturating_add(nanos);
    }

    /// Sets the wall clock right but for its jumps, if it goes at the right rate.
    fn set_right(&mut self, now: Mono) {
        if self.rate_ppm() == MILLION {
            self.ahead_ns -= self.drifted_ns(now);
        }
    }

    /// Returns true if it goes at the rate of the world, as most clocks do.
    #[inline]
    fn is_true(&self) -> bool {
        self.drift_ppm == 0 && self.frozen == 0
    }

    /// Parts per million of the world's time.
    fn rate_ppm(&self) -> u64 {
        if self.frozen > 0 { 0 } else { MILLION.saturating_add_signed(self.drift_ppm) }
    }

    /// Counts from now on.
    fn rebase(&mut self, now: Mono) {
        (self.read, self.since) = (self.mono(now), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    const SECOND: u64 = 1_000_000_000;

    /// The time of the calendar at which the world begins.
    const EPOCH: u64 = 1_000_000 * SECOND;

    /// Right clocks of a node that started with the world.
    fn clock() -> Clock {
        Clock::right(WallTime::from_nanos(EPOCH), Mono::ZERO, Mono::ZERO)
    }

    fn seconds(n: u64) -> Mono {
        Mono::from_nanos(n * SECOND)
    }

    fn wall(n: u64) -> WallTime {
        WallTime::from_nanos(EPOCH + n * SECOND)
    }

    #[test]
    fn a_jump_is_one_of_the_wall_clock_and_is_taken_back() {
        let mut clock = clock();
        clock.change(ClockChange::Jump(-3 * SECOND as i64), seconds(10));
        assert_eq!(clock.wall(seconds(11)), wall(8));
        assert_eq!(clock.mono(seconds(11)), seconds(11));
        let off = clock.undo(ClockChange::Jump(-3 * SECOND as i64), seconds(12));
        assert_eq!(off, Duration::from_secs(3));
        assert_eq!(clock.wall(seconds(12)), wall(12));
    }

    /// The wall clock itself reads zero then.
    #[test]
    fn a_lead_may_go_back_beyond_the_beginning_of_time() {
        let mut clock = Clock::right(WallTime::ZERO, seconds(1), seconds(1));
        clock.change(ClockChange::Jump(-9 * SECOND as i64), seconds(1));
        clock.change(ClockChange::Freeze, seconds(2));
        assert_eq!(
            (clock.wall(seconds(3)), clock.lead_ns(seconds(3))),
            (WallTime::ZERO, -10 * SECOND as i64)
        );
        assert_eq!(clock.drifted_ns(seconds(3)), -(SECOND as i64));
    }

    #[test]
    fn a_drift_bends_both_and_only_the_wall_clock_is_set_right() {
        let mut clock = clock();
        let fast = ClockChange::Drift(500_000);
        clock.change(fast, seconds(10));
        assert_eq!((clock.mono(seconds(14)), clock.wall(seconds(14))), (seconds(16), wall(16)));
        assert_eq!(clock.due(seconds(16), seconds(11)), seconds(14));
        assert_eq!(clock.undo(fast, seconds(14)), Duration::from_secs(2));
        assert_eq!((clock.mono(seconds(15)), clock.wall(seconds(15))), (seconds(17), wall(15)));
        assert_eq!(clock.due(seconds(18), seconds(15)), seconds(16));
    }

    #[test]
    fn what_stands_still_is_never_due() {
        let mut clock = clock();
        clock.change(ClockChange::Freeze, seconds(2));
        assert_eq!((clock.mono(seconds(9)), clock.wall(seconds(9))), (seconds(2), wall(2)));
        assert_eq!(clock.due(seconds(3), seconds(5)), Mono::from_nanos(u64::MAX));
        assert_eq!(clock.due(seconds(2), seconds(5)), seconds(5));
        clock.undo(ClockChange::Freeze, seconds(9));
        assert_eq!((clock.mono(seconds(9)), clock.wall(seconds(9))), (seconds(2), wall(9)));
        assert_eq!(clock.due(seconds(3), seconds(9)), seconds(10));
    }

    #[test]
    fn faults_of_one_clock_add_up_and_each_undoes_its_own() {
        let mut clock = clock();
        let (ahead, slow) = (ClockChange::Jump(SECOND as i64), ClockChange::Drift(-500_000));
        clock.change(ahead, seconds(0));
        clock.change(slow, seconds(0));
        assert_eq!(clock.wall(seconds(4)), wall(3));
        clock.undo(slow, seconds(4));
        assert_eq!(clock.wall(seconds(4)), wall(5), "the jump is still in force");
        clock.undo(ahead, seconds(4));
        assert_eq!(clock.wall(seconds(4)), wall(4));
    }

    /// At every rate a deadline has come when it is due, and a nanosecond before it has not.
    #[test]
    fn due_is_the_first_moment() {
        let mut rng = Rng::new(3);
        for _ in 0..10_000 {
            let mut clock =
                Clock::right(WallTime::ZERO, Mono::ZERO, seconds(0).after(rng.below(1_000)));
            let now = Mono::from_nanos(rng.below(1_000));
            clock.change(ClockChange::Drift(rng.below(1_900_000) as i32 - 900_000), now);
            let reading = clock.mono(now) + Duration::from_nanos(1 + rng.below(10_000));
            let due = clock.due(reading, now);
            assert!(clock.mono(due) >= reading);
            assert!(clock.mono(Mono::from_nanos(due.nanos() - 1)) < reading);
        }
    }

    #[test]
    fn a_setting_holds_the_effect_of_faults_on_a_clock_and_makes_another_the_same() {
        let (mut hit, mut copy) = (clock(), clock());
        let faults = [
            ClockChange::Jump(-3 * SECOND as i64),
            ClockChange::Drift(100_000),
            ClockChange::Freeze,
        ];
        assert!(hit.setting().is_right());
        for (second, fault) in (0..).step_by(10).zip(faults) {
            hit.change(fault, seconds(second));
            for again in 0..2 {
                copy.set(hit.setting(), seconds(second + again));
                let read = |clock: &Clock| (clock.mono(seconds(99)), clock.wall(seconds(99)));
                assert_eq!(read(&copy), read(&hit), "{fault:?}");
            }
        }
        assert_eq!(hit.setting(), ClockSetting { jumps_ns: -3 * SECOND as i64, rate_ppm: 0 });
        assert_eq!((hit.drifted_ns(seconds(30)), hit.lead_ns(seconds(30))), {
            let (gained, lost, set) = (SECOND as i64, 10 * SECOND as i64, 3 * SECOND as i64);
            (gained - lost, gained - lost - set)
        });
        for fault in faults {
            hit.undo(fault, seconds(40));
            copy.set(hit.setting(), seconds(40));
        }
        assert_eq!((hit.wall(seconds(40)), copy.wall(seconds(40))), (wall(40), wall(40)));
        assert_eq!(hit.mono(seconds(40)), copy.mono(seconds(40)), "it is never set");
    }

    #[test]
    fn a_process_that_starts_late_finds_the_clocks_of_its_machine_as_they_are() {
        let mut machine = clock();
        machine.change(ClockChange::Freeze, seconds(10));
        let mut late = Clock::right(WallTime::from_nanos(EPOCH), seconds(15), seconds(15));
        late.gain(machine.drifted_ns(seconds(15)));
        late.set(machine.setting(), seconds(15));
        assert_eq!((late.mono(seconds(20)), late.wall(seconds(20))), (seconds(10), wall(10)));
        late.set(ClockSetting::RIGHT, seconds(20));
        assert_eq!((late.mono(seconds(20)), late.wall(seconds(20))), (seconds(10), wall(20)));
    }
}
