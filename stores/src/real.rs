//! The real world: the clocks, the timer and the randomness of the machine that a client runs on.
//! All real adapters stand on it.

mod clock;

pub use clock::{MachineClock, monotonic_nanos};

use base::{LocalFuture, Mono, Rng, WallTime, World};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

/// The machine of a client, as it sees it.
#[derive(Debug)]
pub struct RealWorld {
    clock: Rc<MachineClock>,
    rng: RefCell<Rng>,
}

impl RealWorld {
    /// The view of this machine; `seed` starts its randomness, so that clients draw what a harness
    /// chose.
    pub fn new(seed: u64) -> Self {
        Self { clock: MachineClock::of_this_thread(), rng: RefCell::new(Rng::new(seed)) }
    }

    /// Its clocks, which outlive it.
    pub fn clock(&self) -> Rc<MachineClock> {
        self.clock.clone()
    }

    /// Waits for some work, until the monotonic clock reads so.
    pub async fn in_time<T>(&self, deadline: Mono, work: impl Future<Output = T>) -> Option<T> {
        self.clock.in_time(deadline, work).await
    }
}

impl World for RealWorld {
    fn now(&self) -> WallTime {
        self.clock.wall()
    }

    fn monotonic(&self) -> Mono {
        self.clock.mono()
    }

    fn sleep(&self, duration: Duration) -> LocalFuture<'_, ()> {
        Box::pin(self.clock.sleep_until(self.monotonic() + duration))
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
