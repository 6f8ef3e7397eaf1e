//! Faults of the clocks of a node.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A change to the clocks of a node. Both go by one oscillator: a drift or a stop affects both.
/// Only the wall clock can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockChange {
    /// The wall clock is set ahead by so many nanoseconds, back when negative.
    #[serde(rename = "jump_ns")]
    Jump(i64),
    /// Both clocks run fast by so many parts per million, slow when negative.
    #[serde(rename = "drift_ppm")]
    Drift(i32),
    /// Both clocks stand still; the node runs on.
    Freeze,
}

impl ClockChange {
    /// Its extent in words: "5.000 s ahead", "1.50 % slow".
    pub(super) fn amount(self) -> String {
        match self {
            Self::Jump(nanos) => {
                let by = Duration::from_nanos(nanos.unsigned_abs()).as_secs_f64();
                format!("{by:.3} s {}", if nanos < 0 { "back" } else { "ahead" })
            }
            Self::Drift(ppm) => {
                let percent = f64::from(ppm.unsigned_abs()) / 10_000.0;
                format!("{percent:.2} % {}", if ppm < 0 { "slow" } else { "fast" })
            }
            Self::Freeze => String::new(),
        }
    }
}
