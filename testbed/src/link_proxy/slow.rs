//! A link that takes so many times as long as usual.

use super::{LinkProxy, SharedProxy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The time that a message takes over a link without a delay of its own, as in the simulator: over
/// the loopback it takes next to none, and many times that is none, too.
const USUAL: Duration = Duration::from_micros(300);

/// A slowness in force.
pub struct Slowness {
    times: u32,
    delayed: AtomicU64,
}

impl Slowness {
    /// Returns the delay of a chunk that would have this one, and counts it.
    pub fn delay(&self, delay: Duration) -> Duration {
        self.delayed.fetch_add(1, Relaxed);
        delay + slowed_by(delay, self.times)
    }
}

/// The time that a message over a link with this delay takes longer, if it takes so many times as
/// long.
pub fn slowed_by(delay: Duration, times: u32) -> Duration {
    (USUAL + delay).saturating_mul(times.saturating_sub(1))
}

impl LinkProxy {
    /// Makes each chunk take so many times as long, at least once, until the returned guard is
    /// dropped.
    pub fn slow(&self, times: u32) -> Slowing {
        let slowness = Arc::new(Slowness { times: times.max(1), delayed: AtomicU64::new(0) });
        self.shared.up.slownesses.add(&slowness);
        self.shared.down.slownesses.add(&slowness);
        Slowing { shared: self.shared.clone(), slowness }
    }
}

/// A slow link. Dropping it ends that.
#[must_use = "the link is as fast as before when this is dropped"]
pub struct Slowing {
    shared: Arc<SharedProxy>,
    slowness: Arc<Slowness>,
}

impl Slowing {
    /// Ends the slowness, and returns the number of chunks that met it.
    pub fn end(self) -> u64 {
        self.slowness.delayed.load(Relaxed)
    }
}

impl Drop for Slowing {
    fn drop(&mut self) {
        self.shared.up.slownesses.remove(&self.slowness);
        self.shared.down.slownesses.remove(&self.slowness);
    }
}
