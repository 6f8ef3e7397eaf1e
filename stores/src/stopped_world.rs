//! The world of a test in which no time passes.

use base::{LocalFuture, Mono, WallTime, World};
use std::future::ready;
use std::time::Duration;

/// A machine whose clocks stand still.
pub struct StoppedWorld;

impl World for StoppedWorld {
    fn now(&self) -> WallTime {
        WallTime::ZERO
    }

    fn monotonic(&self) -> Mono {
        Mono::ZERO
    }

    fn sleep(&self, _: Duration) -> LocalFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn random(&self) -> u64 {
        0
    }
}
