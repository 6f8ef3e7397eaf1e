//! The clocks of a client's machine. They are those of this machine until faults make them go
//! wrong: then readings, sleeps and time-outs bend as in the simulator (`base::Clock`).

#![expect(clippy::disallowed_methods, reason = "this is the real world's clock")]

use base::{Clock, ClockSetting, Mono, WallTime};
use futures_util::future::{Either, select};
use nix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;
use tokio::time::timeout;

thread_local! {
    static OF_THIS_THREAD: Rc<MachineClock> = Rc::default();
}

/// The clocks of one machine. A client's process stands for a machine, and has one thread.
#[derive(Debug)]
pub struct MachineClock {
    /// They go against CLOCK_MONOTONIC as the time of the world.
    clock: Cell<Clock>,
    /// Wakes whoever waits for a time when it is due at another moment.
    changed: Notify,
}

impl MachineClock {
    /// The clocks of the machine that this thread stands for.
    pub fn of_this_thread() -> Rc<Self> {
        OF_THIS_THREAD.with(Rc::clone)
    }

    /// Takes the clocks for those of a machine on which faults have worked before this process
    /// began: both have gained so much at a wrong rate.
    pub fn begin(&self, setting: ClockSetting, drifted_ns: i64) {
        self.change(|clock, now| {
            clock.gain(drifted_ns);
            clock.set(setting, now);
        });
    }

    /// Has the clocks be wrong in this way and no other from now on.
    pub fn set(&self, setting: ClockSetting) {
        self.change(|clock, now| clock.set(setting, now));
    }

    fn change(&self, change: impl FnOnce(&mut Clock, Mono)) {
        let mut clock = self.clock.get();
        change(&mut clock, machine_mono());
        self.clock.set(clock);
        self.changed.notify_waiters();
    }

    /// The wall clock. A time before 1970 reads as 1970: no lock can do anything with an earlier
    /// one.
    pub fn wall(&self) -> WallTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = (WallTime::ZERO + since).nanos();
        let lead_ns = self.clock.get().lead_ns(machine_mono());
        WallTime::from_nanos(nanos.saturating_add_signed(lead_ns))
    }

    /// The monotonic clock.
    pub fn mono(&self) -> Mono {
        self.clock.get().mono(machine_mono())
    }

    /// A reading of the monotonic clock as one of CLOCK_MONOTONIC, which the harness reads, too.
    pub fn translate(&self, reading: u64) -> u64 {
        self.clock.get().translate(reading, machine_mono())
    }

    /// Waits until the monotonic clock reads so.
    pub async fn sleep_until(&self, reading: Mono) {
        loop {
            // From here on no change is missed.
            let changed = self.changed.notified();
            let (clock, now) = (self.clock.get(), machine_mono());
            let due = clock.due(reading, now);
            if due <= now {
                return;
            }
            // It is looked at anew whichever of the two comes.
            let _ = timeout(due.since(now), changed).await;
        }
    }

    /// Waits for some work, until the monotonic clock reads so.
    pub async fn in_time<T>(&self, deadline: Mono, work: impl Future<Output = T>) -> Option<T> {
        match select(pin!(work), pin!(self.sleep_until(deadline))).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }
}

impl Default for MachineClock {
    fn default() -> Self {
        let now = machine_mono();
        Self { clock: Cell::new(Clock::right(WallTime::ZERO, now, now)), changed: Notify::new() }
    }
}

fn machine_mono() -> Mono {
    Mono::from_nanos(monotonic_nanos())
}

/// CLOCK_MONOTONIC, in nanoseconds.
pub fn monotonic_nanos() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::future::pending;
    use std::time::Duration;

    const FROZEN: ClockSetting = ClockSetting { rate_ppm: 0, ..ClockSetting::RIGHT };
    const HOUR: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn a_clock_that_stands_still_lets_nobody_go_before_it_goes_on() {
        let clock = MachineClock::default();
        clock.set(FROZEN);
        let (mono, wall) = (clock.mono(), clock.wall());
        let mut sleep = pin!(clock.sleep_until(mono + Duration::from_nanos(1)));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(sleep.as_mut().now_or_never().is_none());
        assert_eq!(clock.mono(), mono);
        clock.set(ClockSetting::RIGHT);
        assert!(clock.wall().since(wall) >= Duration::from_millis(20), "it is set right");
        sleep.await;
        assert!(clock.mono() > mono && clock.mono() < mono + HOUR);
        let behind = clock.translate(mono.nanos()) - mono.nanos();
        assert!(behind >= 20_000_000, "the monotonic clock is not set");
    }

    #[tokio::test]
    async fn whoever_waits_goes_by_the_rate_that_the_clock_has_meanwhile() {
        let clock = MachineClock::default();
        let until = clock.mono() + HOUR;
        let (mut early, mut late) =
            (pin!(clock.sleep_until(until)), pin!(clock.in_time(until + HOUR, pending::<()>())));
        assert!(early.as_mut().now_or_never().is_none());
        assert!(late.as_mut().now_or_never().is_none());
        // An hour passes in a millisecond.
        clock.set(ClockSetting { rate_ppm: 3_600_000_000_000, ..ClockSetting::RIGHT });
        early.await;
        assert!(clock.mono() >= until);
        assert_eq!(late.await, None);
        assert_eq!(clock.in_time(until, async { 7 }).await, Some(7), "what is done is done");
        assert_eq!(clock.in_time(until, pending::<()>()).await, None);
    }

    #[test]
    fn a_process_begins_with_the_clocks_of_its_machine() {
        let (right, clock) = (MachineClock::default(), MachineClock::default());
        let second = 1_000_000_000;
        clock.begin(ClockSetting { jumps_ns: 100 * second, ..FROZEN }, -50 * second);
        let lead = clock.wall().since(right.wall()).as_secs_f64();
        assert!((49.0..=50.0).contains(&lead), "{lead}");
        let behind = right.mono().since(clock.mono()).as_secs_f64();
        assert!((50.0..51.0).contains(&behind), "{behind}");
        let asked = right.mono().nanos();
        assert!(clock.translate(clock.mono().nanos()) >= asked);
    }
}
