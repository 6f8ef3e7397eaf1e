//! The run's clock: CLOCK_MONOTONIC, which one machine shares among all its processes, so that what
//! a client read on it means the same here.

use base::Mono;
use stores::real::monotonic_nanos;

/// A clock that shows the time since the run began.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    origin: u64,
}

impl RunClock {
    /// A clock that stands at zero now.
    pub fn start() -> Self {
        Self { origin: monotonic_nanos() }
    }

    /// The current reading.
    pub fn now(self) -> Mono {
        self.at(monotonic_nanos())
    }

    /// The reading at the moment when CLOCK_MONOTONIC stood at `nanos`.
    pub fn at(self, nanos: u64) -> Mono {
        Mono::from_nanos(nanos.saturating_sub(self.origin))
    }
}
