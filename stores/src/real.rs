//! The real world: the clocks, the timer and the randomness of the machine that a client runs on.
//! Both real adapters stand on it.

#![expect(clippy::disallowed_methods, reason = "this is the real world's clock")]

use base::{LocalFuture, Mono, Rng, WallTime, World};
use nix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The lead of the wall clock of this process over that of this machine. A client's process stands for a
/// machine, which has one.
static WALL_LEAD_NS: AtomicI64 = AtomicI64::new(0);

/// Sets the wall clock that this process goes by so far ahead of this machine's, back when negative. Its
/// monotonic clock stays as it is.
pub fn set_wall_lead_ns(ahead_ns: i64) {
    WALL_LEAD_NS.store(ahead_ns, Relaxed);
}

/// The wall clock that this process goes by. A time before 1970 reads as 1970: no lock can do anything with
/// an earlier one.
pub fn wall_clock() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = (WallTime::ZERO + since).nanos();
    WallTime::from_nanos(nanos.saturating_add_signed(WALL_LEAD_NS.load(Relaxed)))
}

/// The machine of a client, as it sees it. Its monotonic clock is CLOCK_MONOTONIC itself, which all
/// processes of a host share: what a client stamps with it, the harness can compare.
#[derive(Debug)]
pub struct RealWorld {
    rng: RefCell<Rng>,
}

impl RealWorld {
    /// The view of this machine; `seed` starts its randomness, so that clients draw what a harness
    /// chose.
    pub fn new(seed: u64) -> Self {
        Self { rng: RefCell::new(Rng::new(seed)) }
    }
}

impl World for RealWorld {
    fn now(&self) -> WallTime {
        wall_clock()
    }

    fn monotonic(&self) -> Mono {
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
        Mono::ZERO + Duration::from(now)
    }

    fn sleep(&self, duration: Duration) -> LocalFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn random(&self) -> u64 {
        self.rng.borrow_mut().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward_and_a_seed_repeats_its_draws() {
        let (a, b) = (RealWorld::new(7), RealWorld::new(7));
        let before = a.monotonic();
        assert_eq!([a.random(), a.random()], [b.random(), b.random()]);
        assert!(a.monotonic() >= before);
        assert!(a.now() > WallTime::from_nanos(1_700_000_000_000_000_000));
    }
}
