//! Faults of the clocks of a node.

use serde::{Deserialize, Serialize};

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
