//! The pace of a link: the time that it takes for what it lets through.

use base::Rng;
use std::time::Duration;
use tokio::time::Instant;

/// The delay of a link, each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The shortest delay.
    pub base: Duration,
    /// The most that is added to it, drawn for each chunk.
    pub jitter: Duration,
}

/// A schedule of the chunks of one direction of one connection. Order is kept: a chunk is never due
/// before the one ahead of it.
pub struct ChunkSchedule {
    delay: Delay,
    rng: Rng,
    last: Instant,
}

impl ChunkSchedule {
    pub fn new(delay: Delay, rng: Rng) -> Self {
        Self { delay, rng, last: Instant::now() }
    }

    /// The time at which a chunk that sets out now is due, if its delay becomes this.
    pub fn due(&mut self, delayed: impl FnOnce(Duration) -> Duration) -> Instant {
        let drawn = self.rng.between(Duration::ZERO, self.delay.jitter);
        self.last = self.last.max(Instant::now() + delayed(self.delay.base + drawn));
        self.last
    }
}
