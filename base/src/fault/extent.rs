//! The extents of actions: a number for each, which a fault script gives in a field.

use super::{Action, ClockChange, LinkFault};
use std::time::Duration;

/// The extent that the actions of a line have.
#[derive(Clone, Copy, Debug)]
pub struct ActionExtent {
    /// The field of a fault script that gives it.
    pub field: &'static str,
    /// The words for what it is, with an example of the field.
    pub noun: &'static str,
    /// The form of the field, with an example.
    pub wanted: &'static str,
    /// The unit of the number.
    pub unit: ExtentUnit,
    /// The bounds of the number, in words.
    pub bounds: &'static str,
    /// Makes the action with this extent; `None` beyond the bounds.
    pub make: fn(i64) -> Option<Action>,
}

/// The unit of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentUnit {
    /// Nanoseconds ahead, or back when negative. A script gives a time.
    Nanos,
    /// Microseconds. A script gives a time.
    Micros,
    /// Parts per million fast, or slow when negative. A script gives percent.
    Ppm,
    /// A whole number from 1.
    Count,
}

impl Action {
    /// Its extent, in the unit of its line; 0 if it has none.
    pub fn extent(self) -> i64 {
        match self {
            Self::Clock(ClockChange::Jump(nanos)) => nanos,
            Self::Clock(ClockChange::Drift(ppm)) => ppm.into(),
            Self::Link(
                LinkFault::Slow(number) | LinkFault::Jitter(number) | LinkFault::Throttle(number),
            ) => number.into(),
            _ => 0,
        }
    }

    /// Its extent in words, as far as it has one: "5.000 s ahead", "1.50 % slow", "2.5 ms".
    pub(super) fn amount(self) -> String {
        let (number, unit) = (self.extent(), self.spec().extent.map(|extent| extent.unit));
        match unit {
            None => String::new(),
            Some(ExtentUnit::Nanos) => {
                let by = Duration::from_nanos(number.unsigned_abs()).as_secs_f64();
                format!("{by:.3} s {}", if number < 0 { "back" } else { "ahead" })
            }
            Some(ExtentUnit::Micros) => format!("{:.1} ms", number as f64 / 1_000.0),
            Some(ExtentUnit::Ppm) => {
                let percent = number.unsigned_abs() as f64 / 10_000.0;
                format!("{percent:.2} % {}", if number < 0 { "slow" } else { "fast" })
            }
            Some(ExtentUnit::Count) => number.to_string(),
        }
    }
}
