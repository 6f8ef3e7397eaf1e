//! A link over which each message takes another time.

use super::{LinkProxy, SharedProxy, lock};
use base::Rng;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A jitter in force.
pub struct Jitter {
    most: Duration,
    rng: Mutex<Rng>,
    delayed: AtomicU64,
}

impl Jitter {
    /// Returns the delay of a chunk that would have this one, and counts it.
    pub fn delay(&self, delay: Duration) -> Duration {
        self.delayed.fetch_add(1, Relaxed);
        delay + lock(&self.rng).between(Duration::ZERO, self.most)
    }
}

impl LinkProxy {
    /// Makes each chunk take up to so much longer until the returned guard is dropped. Their order
    /// is kept.
    pub fn jitter(&self, most: Duration) -> Jittering {
        let seed = lock(&self.shared.rng).next();
        let rng = Mutex::new(Rng::new(seed));
        let jitter = Arc::new(Jitter { most, rng, delayed: AtomicU64::new(0) });
        self.shared.up.jitters.add(&jitter);
        self.shared.down.jitters.add(&jitter);
        Jittering { shared: self.shared.clone(), jitter }
    }
}

/// A link with a jitter. Dropping it ends that.
#[must_use = "the link has no jitter when this is dropped"]
pub struct Jittering {
    shared: Arc<SharedProxy>,
    jitter: Arc<Jitter>,
}

impl Jittering {
    /// Ends the jitter, and returns the number of chunks that met it.
    pub fn end(self) -> u64 {
        self.jitter.delayed.load(Relaxed)
    }
}

impl Drop for Jittering {
    fn drop(&mut self) {
        self.shared.up.jitters.remove(&self.jitter);
        self.shared.down.jitters.remove(&self.jitter);
    }
}
