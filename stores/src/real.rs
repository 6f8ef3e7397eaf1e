//! The real world: the clocks, the timer and the randomness of the machine that a client runs on.
//! Both real adapters stand on it.

#![expect(clippy::disallowed_methods, reason = "this is the real world's clock")]

use base::{LocalFuture, Mono, Rng, WallTime, World};
use nix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    /// A clock before 1970 reads as 1970: no lock can do anything with an earlier time.
    fn now(&self) -> WallTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        WallTime::ZERO + since
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
