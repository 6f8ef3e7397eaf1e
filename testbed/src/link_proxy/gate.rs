//! One direction of a link: open, or held by one or more faults, and the other faults in force
//! there.

use super::jitter::Jitter;
use super::lock;
use super::loss::CallLoss;
use super::slow::Slowness;
use super::throttle::Throttle;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// The amount that a hold has held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldBack {
    /// Bytes that arrived while it lasted.
    pub bytes: u64,
    /// Connections that could not be made, or not be closed, while it lasted.
    pub connections: u64,
}

impl HeldBack {
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
    pub throttles: InForce<Throttle>,
    pub losses: InForce<CallLoss>,
    pub slownesses: InForce<Slowness>,
    pub jitters: InForce<Jitter>,
    /// Tells calls from a client library's own housekeeping.
    carries_call: fn(&[u8]) -> bool,
}

/// The faults of one kind that are in force.
pub struct InForce<T>(Mutex<Vec<Arc<T>>>);

impl<T> InForce<T> {
    fn none() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Adds a fault.
    pub fn add(&self, fault: &Arc<T>) {
        lock(&self.0).push(fault.clone());
    }

    /// Takes a fault away.
    pub fn remove(&self, gone: &Arc<T>) {
        lock(&self.0).retain(|fault| !Arc::ptr_eq(fault, gone));
    }

    fn all(&self) -> Vec<Arc<T>> {
        lock(&self.0).clone()
    }
}

impl Gate {
    /// Makes an open gate.
    pub fn new(carries_call: fn(&[u8]) -> bool) -> Self {
        Self {
            holds: watch::Sender::new(0),
            bytes: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            throttles: InForce::none(),
            losses: InForce::none(),
            slownesses: InForce::none(),
            jitters: InForce::none(),
            carries_call,
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

    /// Waits until bytes have gone through it, as slowly as its limits let them.
    pub async fn carry(&self, bytes: usize) {
        for throttle in self.throttles.all() {
            throttle.carry(bytes).await;
        }
    }

    /// Returns true if these bytes are to be lost: they carry a call, and a loss waits for one.
    pub fn loses(&self, bytes: &[u8]) -> bool {
        let losses = self.losses.all();
        !losses.is_empty() && (self.carries_call)(bytes) && losses.iter().any(|it| it.strikes())
    }

    /// Returns the delay of a chunk that would have this one, and counts it where it is delayed.
    pub fn delayed(&self, delay: Duration) -> Duration {
        let slowed = self.slownesses.all().iter().fold(delay, |delay, it| it.delay(delay));
        self.jitters.all().iter().fold(slowed, |delay, it| it.delay(delay))
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
    pub fn held(&self) -> HeldBack {
        HeldBack { bytes: self.bytes.load(Relaxed), connections: self.connections.load(Relaxed) }
    }
}
