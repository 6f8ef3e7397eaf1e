//! A limit of the bandwidth of a link: each direction carries so many bytes a second, for all its
//! connections together.

use super::{LinkProxy, SharedProxy, lock};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The limit of one direction.
pub struct Throttle {
    /// Bytes a second.
    rate: u32,
    /// The time until which it is busy.
    busy: Mutex<Instant>,
    carried: AtomicU64,
    ended: watch::Sender<bool>,
}

impl Throttle {
    fn new(rate: u32) -> Self {
        let busy = Mutex::new(Instant::now());
        Self { rate, busy, carried: AtomicU64::new(0), ended: watch::Sender::new(false) }
    }

    /// Carries bytes, behind those that came before them. Once the limit has ended, whatever still
    /// waits goes on.
    pub async fn carry(&self, bytes: usize) {
        let done = self.book(bytes);
        let mut ended = self.ended.subscribe();
        tokio::select! {
            () = sleep_until(done) => {}
            // The sender lives in `self`, so this cannot fail.
            _ = ended.wait_for(|ended| *ended) => {}
        }
    }

    /// Counts bytes, and returns the time at which they will have been carried.
    fn book(&self, bytes: usize) -> Instant {
        self.carried.fetch_add(bytes as u64, Relaxed);
        let takes = Duration::from_secs(bytes as u64) / self.rate.max(1);
        let mut busy = lock(&self.busy);
        *busy = (*busy).max(Instant::now()) + takes;
        *busy
    }
}

impl LinkProxy {
    /// Limits each direction to so many bytes a second until the returned guard is dropped.
    pub fn throttle(&self, rate: u32) -> Throttling {
        let (up, down) = (Arc::new(Throttle::new(rate)), Arc::new(Throttle::new(rate)));
        self.shared.up.throttles.add(&up);
        self.shared.down.throttles.add(&down);
        Throttling { shared: self.shared.clone(), up, down }
    }
}

/// A link with a limited bandwidth. Dropping it ends that.
#[must_use = "the link is as fast as before when this is dropped"]
pub struct Throttling {
    shared: Arc<SharedProxy>,
    up: Arc<Throttle>,
    down: Arc<Throttle>,
}

impl Throttling {
    /// Ends the limit, and returns the number of bytes that met it.
    pub fn end(self) -> u64 {
        self.carried()
    }

    /// The number of bytes that have met it so far.
    pub fn carried(&self) -> u64 {
        self.up.carried.load(Relaxed) + self.down.carried.load(Relaxed)
    }
}

impl Drop for Throttling {
    fn drop(&mut self) {
        self.shared.up.throttles.remove(&self.up);
        self.shared.down.throttles.remove(&self.down);
        for throttle in [&self.up, &self.down] {
            throttle.ended.send_replace(true);
        }
    }
}
