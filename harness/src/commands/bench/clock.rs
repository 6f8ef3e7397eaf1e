//! The two clocks of a measurement: the time that passed, and the time that this thread was given
//! by the processor, which other programs on the machine do not lengthen.

#![expect(clippy::disallowed_methods, reason = "measures real time")]

use nix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Measures from its start on.
pub struct Stopwatch {
    begun: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { begun: Instant::now(), cpu: thread_cpu() }
    }

    /// The time that has passed.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The processor time that this thread has used.
    pub fn cpu(&self) -> Duration {
        thread_cpu().saturating_sub(self.cpu)
    }
}

fn thread_cpu() -> Duration {
    // Linux always has this clock.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
