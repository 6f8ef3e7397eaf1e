//! Limits on the time and memory of reading and judging a file.

use crate::input::JudgingBudget;
use crate::options::parse_duration as duration;
use clap::Args;
use std::time::Duration;

/// The flags of every command that reads a file of any origin.
#[derive(Clone, Copy, Debug, Args)]
pub struct BudgetArgs {
    /// The time for reading and judging. Past it, the part that was read is judged, and the answer
    /// is inconclusive, unless it is violated.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration, default_value = "60s")]
    pub time_budget: Duration,
    /// The memory that the command may take; past it the same holds.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size, default_value = "4GiB")]
    pub memory_budget: usize,
}

impl BudgetArgs {
    /// The budget, from now on.
    pub fn begin(self) -> JudgingBudget {
        JudgingBudget::new(self.time_budget, self.memory_budget)
    }
}

/// A text that is no number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoSize {
    #[error("no unit is `{0}`; write it as 512MiB or 4GiB")]
    Unit(String),
    #[error("write it as 512MiB or 4GiB")]
    Number,
    #[error("more than this machine can count")]
    TooLarge,
}

/// A number of bytes: `512MiB`, `4GiB`, `2GB`.
pub(super) fn size(text: &str) -> Result<usize, NoSize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: usize = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => return Err(NoSize::Unit(other.to_owned())),
    };
    let number: usize = digits.parse().map_err(|_| NoSize::Number)?;
    number.checked_mul(unit).ok_or(NoSize::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("512MiB"), Ok(512 << 20));
        assert_eq!(size("2GB"), Ok(2_000_000_000));
        assert_eq!(size("7"), Ok(7));
        for wrong in
            ["", "GiB", "-1MiB", "1TiB", "1.5GiB", "99999999999999999999", "99999999999GiB"]
        {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
