//! One direction of a link: open, or held by one or more faults.

use super::lock;
use super::throttle::Throttle;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// The amount that a hold has held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes that arrived while it lasted.
    pub bytes: u64,
    /// Connections that could not be made, or not be closed, while it lasted.
    pub connections: u64,
}

impl Held {
    /// The sum of both.
    pub fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, connections: self.connections + other.connections }
    }
}

/// A gate that faults hold shut. Holds nest: it is open again when the last of them is released.
pub struct Gate {
    holds: watch::Sender<u32>,
    bytes: AtomicU64,
    connections: AtomicU64,
    throttles: Mutex<Vec<Arc<Throttle>>>,
}

impl Gate {
    pub fn new() -> Self {
        Self {
            holds: watch::Sender::new(0),
            bytes: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            throttles: Mutex::new(Vec::new()),
        }
    }

    pub fn hold(&self) {
        self.holds.send_modify(|holds| *holds += 1);
    }

    pub fn release(&self) {
        self.holds.send_modify(|holds| *holds -= 1);
    }

    pub fn is_held(&self) -> bool {
        *self.holds.borrow() > 0
    }

    /// Waits until no fault holds it.
    pub async fn open(&self) {
        let mut holds = self.holds.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = holds.wait_for(|holds| *holds == 0).await;
    }

    /// Limits what goes through it.
    pub fn throttle(&self, throttle: Arc<Throttle>) {
        lock(&self.throttles).push(throttle);
    }

    /// Takes a limit away.
    pub fn unthrottle(&self, gone: &Arc<Throttle>) {
        lock(&self.throttles).retain(|throttle| !Arc::ptr_eq(throttle, gone));
    }

    /// Waits until bytes have gone through it, as slowly as its limits let them.
    pub async fn carry(&self, bytes: usize) {
        let throttles = lock(&self.throttles).clone();
        for throttle in throttles {
            throttle.carry(bytes).await;
        }
    }

    /// Counts bytes that arrive while it is held.
    pub fn count_bytes(&self, bytes: usize) {
        if self.is_held() {
            self.bytes.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// Counts a connection that begins or ends while it is held.
    pub fn count_connection(&self) {
        if self.is_held() {
            self.connections.fetch_add(1, Relaxed);
        }
    }

    /// The sum of all that was ever held.
    pub fn held(&self) -> Held {
        Held { bytes: self.bytes.load(Relaxed), connections: self.connections.load(Relaxed) }
    }
}
