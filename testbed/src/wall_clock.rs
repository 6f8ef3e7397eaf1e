//! The wall clock of a server's process, as libfaketime tells it by the text of a file: all that is
//! wrong with it, and the words for that. It bends as the clocks of the simulator do
//! (`base::Clock`).
//!
//! libfaketime counts a rate from the start of the process. So a distance stands beside the rate,
//! by which the clock is at the moment of a change where it was before.

use base::{Clock, ClockChange, Mono, WallTime};
use nix::time::{ClockId, clock_gettime};

const SECOND: u64 = 1_000_000_000;
const MILLION: i64 = 1_000_000;

/// The format of the time at which a clock stands still: seconds since 1970, whatever time zone the
/// process is in.
const FORMAT: &str = "%s";

/// The wall clock of a server. Times are nanoseconds since 1970 by the clock of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerWallClock {
    /// The start of the process, as far as it is known.
    started_ns: i64,
    /// The last change.
    changed_ns: i64,
    /// The clock, in a world that began in 1970.
    clock: Clock,
    /// The clock before the last change.
    before: Clock,
}

impl ServerWallClock {
    /// A right clock of a process that is about to start.
    pub fn new(now_ns: i64) -> Self {
        let clock = Clock::right(WallTime::ZERO, time(now_ns), time(now_ns));
        Self { started_ns: now_ns, changed_ns: now_ns, clock, before: clock }
    }

    /// Notes that a process that goes by it is about to start.
    pub const fn start(&mut self, now_ns: i64) {
        (self.started_ns, self.changed_ns) = (now_ns, now_ns);
    }

    /// Makes it go wrong.
    pub fn change(&mut self, change: ClockChange, now_ns: i64) {
        (self.changed_ns, self.before) = (now_ns, self.clock);
        self.clock.change(change, time(now_ns));
    }

    /// One thing that was wrong with it is right again. Once its rate is right, it is set.
    pub fn undo(&mut self, change: ClockChange, now_ns: i64) {
        (self.changed_ns, self.before) = (now_ns, self.clock);
        self.clock.undo(change, time(now_ns));
    }

    /// Takes note that the process's own word differs from what was expected of it by so much. The
    /// process started earlier or later, then.
    pub fn correct(&mut self, error_ns: i64) {
        if self.has_rate() {
            let by = i128::from(error_ns) * i128::from(MILLION);
            self.started_ns += (by / i128::from(MILLION - self.rate_ppm())) as i64;
        }
    }

    /// The lead over the true time.
    pub fn ahead_ns(&self, now_ns: i64) -> i64 {
        self.clock.lead_ns(time(now_ns))
    }

    /// The lead over the true time now, and as it would be without the last change; `None` where the
    /// rate is not the right one, by which the process's own time is not known exactly.
    pub fn leads_ns(&self, now_ns: i64) -> [Option<i64>; 2] {
        [self.clock, self.before].map(|clock| {
            let is_exact = clock.setting().rate_ppm as i64 == MILLION;
            is_exact.then(|| clock.lead_ns(time(now_ns)))
        })
    }

    /// The part of its lead by which it was set.
    pub fn jumps_ns(&self) -> i64 {
        self.clock.setting().jumps_ns
    }

    /// Returns true if it goes on at another rate than the right one.
    pub fn has_rate(&self) -> bool {
        ![0, MILLION].contains(&self.rate_ppm())
    }

    /// Returns the text of its file for libfaketime. A rate has to be given, or an earlier one
    /// would stay.
    pub fn faketime_text(&self) -> String {
        let rate_ppm = self.rate_ppm();
        if rate_ppm == 0 {
            let stands_at = self.clock.wall(time(self.changed_ns)).nanos();
            return format!("{}.{:09}\n", stands_at / SECOND, stands_at % SECOND);
        }
        let since_start = parts(MILLION - rate_ppm, self.changed_ns - self.started_ns);
        let distance = self.ahead_ns(self.changed_ns).saturating_add(since_start);
        let (sign, nanos) = (if distance < 0 { '-' } else { '+' }, distance.unsigned_abs());
        let (whole, rest) = (rate_ppm / MILLION, rate_ppm % MILLION);
        format!("{sign}{}.{:09} x{whole}.{rest:06}\n", nanos / SECOND, nanos % SECOND)
    }

    /// Parts per million of the true time.
    fn rate_ppm(&self) -> i64 {
        self.clock.setting().rate_ppm as i64
    }
}

impl Default for ServerWallClock {
    fn default() -> Self {
        Self::new(true_ns())
    }
}

/// The time of the world at a time of the calendar.
const fn time(now_ns: i64) -> Mono {
    Mono::from_nanos(now_ns.unsigned_abs())
}

/// The time by the wall clock of this machine, which no fault touches.
pub fn true_ns() -> i64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("every Linux has this clock");
    now.tv_sec() * SECOND as i64 + now.tv_nsec()
}

/// The environment of a process that goes by libfaketime's word in this file.
pub fn environment(file: &str) -> [(&'static str, String); 4] {
    [
        ("FAKETIME_TIMESTAMP_FILE", file.into()),
        ("FAKETIME_FMT", FORMAT.into()),
        ("FAKETIME_NO_CACHE", "1".into()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
    ]
}

/// So many parts per million of a time.
fn parts(ppm: i64, nanos: i64) -> i64 {
    (i128::from(ppm) * i128::from(nanos) / i128::from(MILLION)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = SECOND as i64;

    /// A clock of a process that started at second 100.
    fn clock() -> ServerWallClock {
        ServerWallClock::new(100 * S)
    }

    /// The seconds that libfaketime makes of a text at a time, for a process that started then.
    fn read(text: &str, started: f64, now: f64) -> f64 {
        match text.trim_end().split_once(" x") {
            Some((distance, rate)) => {
                let number = |text: &str| text.parse::<f64>().expect("a number");
                started + number(distance) + number(rate) * (now - started)
            }
            None => text.trim_end().parse().expect("a time"),
        }
    }

    #[test]
    fn a_distance_is_written_with_a_sign_and_a_rate() {
        for (ahead_ns, text) in [
            (0, "+0.000000000 x1.000000\n"),
            (5 * S, "+5.000000000 x1.000000\n"),
            (-1_250_000_000, "-1.250000000 x1.000000\n"),
            (-70_000_000, "-0.070000000 x1.000000\n"),
        ] {
            let mut clock = clock();
            clock.change(ClockChange::Jump(ahead_ns), 100 * S);
            assert_eq!(clock.faketime_text(), text);
        }
    }

    #[test]
    fn a_clock_goes_on_from_where_it_is_at_each_change_and_is_right_after_the_heal() {
        let mut clock = clock();
        let reads =
            |clock: &ServerWallClock, now: i64| read(&clock.faketime_text(), 100.0, now as f64);
        let is = |seen: f64, wanted: f64| assert!((seen - wanted).abs() < 1e-6, "{seen} {wanted}");
        let (fast, jump) = (ClockChange::Drift(100_000), ClockChange::Jump(3 * S));
        clock.change(fast, 200 * S);
        is(reads(&clock, 200), 200.0);
        is(reads(&clock, 210), 211.0);
        clock.change(jump, 210 * S);
        is(reads(&clock, 220), 225.0);
        assert_eq!((clock.ahead_ns(220 * S), clock.jumps_ns()), (5 * S, 3 * S));
        clock.change(ClockChange::Freeze, 220 * S);
        is(reads(&clock, 230), 225.0);
        clock.undo(ClockChange::Freeze, 230 * S);
        is(reads(&clock, 240), 236.0);
        assert_eq!(clock.leads_ns(240 * S), [None, None]);
        clock.undo(fast, 240 * S);
        is(reads(&clock, 240), 243.0);
        assert_eq!(clock.leads_ns(240 * S), [Some(3 * S), None]);
        clock.undo(jump, 240 * S);
        assert_eq!(clock.leads_ns(250 * S), [Some(0), Some(3 * S)]);
        assert_eq!(clock.faketime_text(), "+0.000000000 x1.000000\n");
    }

    #[test]
    fn a_start_that_was_guessed_wrong_is_corrected_by_the_process_s_own_word() {
        for ppm in [100_000, -500_000, 10_000_000] {
            let mut clock = clock();
            clock.change(ClockChange::Drift(ppm), 200 * S);
            // It was there 20 ms later.
            let error = read(&clock.faketime_text(), 100.02, 200.0) - 200.0;
            clock.correct((error * 1e9) as i64);
            let right = read(&clock.faketime_text(), 100.02, 200.0) - 200.0;
            assert!(right.abs() < 1e-5, "{ppm}: {right}");
        }
        let mut right = clock();
        right.correct(S);
        assert_eq!(right, clock(), "a right clock depends on no start");
    }

    #[test]
    fn a_process_that_starts_again_goes_on_by_the_same_clock() {
        let mut clock = clock();
        clock.change(ClockChange::Drift(-500_000), 200 * S);
        clock.start(210 * S);
        assert_eq!(clock.ahead_ns(210 * S), -5 * S);
        assert!((read(&clock.faketime_text(), 210.0, 220.0) - 210.0).abs() < 1e-6);
    }
}
