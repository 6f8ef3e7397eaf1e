//! Two clocks, two types: a reading of one can never be compared with one of the other by accident.

use serde::{Deserialize, Serialize};
use std::ops::Add;
use std::time::Duration;

/// A reading of a monotonic clock, in nanoseconds since some fixed start.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Mono(u64);

/// A reading of a wall clock, in nanoseconds since the Unix epoch. It may jump.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct WallTime(u64);

macro_rules! clock {
    ($name:ident) => {
        impl $name {
            /// The clock's zero.
            pub const ZERO: Self = Self(0);

            /// The reading that stands `nanos` nanoseconds after zero.
            pub const fn from_nanos(nanos: u64) -> Self {
                Self(nanos)
            }

            /// Nanoseconds since zero.
            pub const fn nanos(self) -> u64 {
                self.0
            }

            /// Whole milliseconds since zero.
            pub const fn millis(self) -> u64 {
                self.0 / 1_000_000
            }

            /// The reading so many nanoseconds later, or the last one.
            pub const fn after(self, nanos: u64) -> Self {
                Self(self.0.saturating_add(nanos))
            }

            /// The time from `earlier` to `self`; zero when `earlier` is later.
            pub const fn since(self, earlier: Self) -> Duration {
                Duration::from_nanos(self.0.saturating_sub(earlier.0))
            }
        }

        impl Add<Duration> for $name {
            type Output = Self;

            /// Saturates: a deadline beyond the end of time is "never".
            fn add(self, d: Duration) -> Self {
                let seconds = d.as_secs().saturating_mul(1_000_000_000);
                Self(self.0.saturating_add(seconds).saturating_add(u64::from(d.subsec_nanos())))
            }
        }
    };
}

clock!(Mono);
clock!(WallTime);
