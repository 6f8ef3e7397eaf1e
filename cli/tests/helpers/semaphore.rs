//! A semaphore of three permits, for one worker.

#[path = "../../../adapters/rust/src/picklock.rs"]
mod picklock;

use picklock::{Answer, Error, Lock};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

struct Semaphore {
    free: AtomicU64,
}

impl Lock for Semaphore {
    type Grant = u64;
    const CAN: &'static [&'static str] = &["timed", "permits"];

    fn acquire(&self, key: &str, timeout: Duration, _: bool) -> Answer<u64> {
        self.acquire_permits(key, timeout, 1)
    }

    fn acquire_permits(&self, _: &str, _: Duration, permits: u64) -> Answer<u64> {
        if permits > self.free.load(Relaxed) {
            return Err(Error::Failed("not granted".into()));
        }
        self.free.fetch_sub(permits, Relaxed);
        Ok(permits)
    }

    fn release(&self, permits: u64) -> Answer<()> {
        self.free.fetch_add(permits, Relaxed);
        Ok(())
    }
}

fn main() {
    picklock::serve(|_| Semaphore { free: 3.into() });
}
