//! The clocks of a node: how its monotonic clock and its wall clock go, against the time of the
//! world, which nobody in it can read.
//!
//! Both go by one oscillator, whose rate may be wrong; the wall clock can be set as well. A
//! deadline is a reading of the node's own monotonic clock: it is put into the event queue at the
//! world's time at which that clock will say so, and again when the rate changes.

use base::{ClockChange, Mono, Node, WallTime};
use std::time::Duration;

/// The time at which every correct wall clock starts: 2025-01-01T00:00:00Z.
const EPOCH: u64 = 1_735_689_600 * SECOND;

const SECOND: u64 = 1_000_000_000;
const MILLION: u64 = 1_000_000;

/// The clocks of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The last change of the rate, by the time of the world, and what the monotonic clock read
    /// then.
    since: Mono,
    read: Mono,
    /// All drifts in force together, in parts per million.
    drift: i64,
    /// The number of faults that hold it still.
    frozen: u32,
    /// The lead of the wall clock over the monotonic one, in nanoseconds.
    ahead: i64,
    /// The lead of a correct wall clock over a correct monotonic one, in nanoseconds.
    right: i64,
    /// All jumps in force together, in nanoseconds.
    jumps: i64,
}

impl Clock {
    /// Right clocks of a machine that has been up for so long when the world begins.
    pub fn up_for(time: Duration) -> Self {
        let read = Mono::ZERO + time;
        let right = EPOCH as i64 - read.nanos() as i64;
        Self { since: Mono::ZERO, read, drift: 0, frozen: 0, ahead: right, right, jumps: 0 }
    }

    /// Returns the clocks of a node. Each machine has been up for another number of hours, so that
    /// a recipe that compares the monotonic clocks of two is wrong by hours.
    pub fn of(node: Node) -> Self {
        let hours = match node {
            Node::Client(client) => 100 + client,
            Node::Server(number) => 1 + number,
            Node::Vault => 0,
        };
        Self::up_for(Duration::from_secs(3_600) * hours)
    }

    /// Returns the monotonic clock's reading at this time of the world.
    pub fn mono(&self, now: Mono) -> Mono {
        let passed = now.nanos() - self.since.nanos();
        let counted = if self.is_true() { passed } else { self.counted(passed) };
        Mono::from_nanos(self.read.nanos() + counted)
    }

    /// Returns the nanoseconds that the oscillator counts while this many pass.
    #[cold]
    fn counted(&self, passed: u64) -> u64 {
        (u128::from(passed) * u128::from(self.rate()) / u128::from(MILLION)) as u64
    }

    /// Returns the wall clock's reading at this time of the world.
    pub fn wall(&self, now: Mono) -> WallTime {
        WallTime::from_nanos(self.mono(now).nanos().saturating_add_signed(self.ahead))
    }

    /// The first time of the world, from `now` on, at which the monotonic clock says `reading` or
    /// more. Never, if it stands still.
    pub fn due(&self, reading: Mono, now: Mono) -> Mono {
        let left = reading.nanos().saturating_sub(self.read.nanos());
        let lasts = if self.is_true() { left } else { self.lasts(left) };
        Mono::from_nanos(self.since.nanos().saturating_add(lasts)).max(now)
    }

    /// Returns the nanoseconds that pass until the oscillator has counted this many.
    #[cold]
    fn lasts(&self, left: u64) -> u64 {
        match self.rate() {
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
            ClockChange::Drift(ppm) => self.drift += i64::from(ppm),
            ClockChange::Freeze => self.frozen += 1,
        }
    }

    /// One thing that was wrong with it is right again. Once its rate is right, the wall clock is
    /// set, as NTP does it; a monotonic clock is never set. Says how far the wall clock was off.
    pub fn undo(&mut self, change: ClockChange, now: Mono) -> Duration {
        self.rebase(now);
        let off = self.off(now);
        match change {
            ClockChange::Jump(nanos) => self.jump(-nanos),
            ClockChange::Drift(ppm) => self.drift -= i64::from(ppm),
            ClockChange::Freeze => self.frozen -= 1,
        }
        if self.rate() == MILLION {
            self.ahead += self.jumps - self.off(now);
        }
        Duration::from_nanos(off.unsigned_abs())
    }

    fn jump(&mut self, nanos: i64) {
        self.jumps += nanos;
        self.ahead += nanos;
    }

    /// Returns the lead of the wall clock over a correct one, in nanoseconds.
    fn off(&self, now: Mono) -> i64 {
        let right = EPOCH as i64 + now.nanos() as i64;
        self.wall(now).nanos() as i64 - right
    }

    /// Returns true if it goes at the rate of the world, as most clocks do.
    fn is_true(&self) -> bool {
        self.drift == 0 && self.frozen == 0
    }

    /// Parts per million of the world's time.
    fn rate(&self) -> u64 {
        if self.frozen > 0 { 0 } else { MILLION.saturating_add_signed(self.drift) }
    }

    /// Counts from now on.
    fn rebase(&mut self, now: Mono) {
        (self.read, self.since) = (self.mono(now), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Rng;

    fn seconds(n: u64) -> Mono {
        Mono::from_nanos(n * SECOND)
    }

    fn wall(n: u64) -> WallTime {
        WallTime::from_nanos(EPOCH + n * SECOND)
    }

    #[test]
    fn right_clocks_differ_in_their_beginnings_alone() {
        let (server, client) = (Clock::of(Node::Server(0)), Clock::of(Node::Client(0)));
        assert_eq!(server.wall(seconds(5)), wall(5));
        assert_eq!(client.wall(seconds(5)), wall(5));
        assert_eq!(server.mono(seconds(5)), seconds(3_605));
        assert_eq!(server.translate(seconds(3_600).nanos(), seconds(5)), 0);
        assert!(client.mono(seconds(5)) > server.mono(seconds(5)));
    }

    #[test]
    fn a_jump_is_one_of_the_wall_clock_and_is_taken_back() {
        let mut clock = Clock::up_for(Duration::ZERO);
        clock.change(ClockChange::Jump(-3 * SECOND as i64), seconds(10));
        assert_eq!(clock.wall(seconds(11)), wall(8));
        assert_eq!(clock.mono(seconds(11)), seconds(11));
        let off = clock.undo(ClockChange::Jump(-3 * SECOND as i64), seconds(12));
        assert_eq!(off, Duration::from_secs(3));
        assert_eq!(clock.wall(seconds(12)), wall(12));
    }

    #[test]
    fn a_drift_bends_both_and_only_the_wall_clock_is_set_right() {
        let mut clock = Clock::up_for(Duration::ZERO);
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
        let mut clock = Clock::up_for(Duration::ZERO);
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
        let mut clock = Clock::up_for(Duration::ZERO);
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
            let mut clock = Clock::up_for(Duration::from_nanos(rng.below(1_000)));
            let now = Mono::from_nanos(rng.below(1_000));
            clock.change(ClockChange::Drift(rng.below(1_900_000) as i32 - 900_000), now);
            let reading = clock.mono(now) + Duration::from_nanos(1 + rng.below(10_000));
            let due = clock.due(reading, now);
            assert!(clock.mono(due) >= reading);
            assert!(clock.mono(Mono::from_nanos(due.nanos() - 1)) < reading);
        }
    }
}
