//! The arguments of `sweep`.

use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::{Format, SweepLoadArgs};
use crate::options::parse_duration;

const SWEEP_EXAMPLES: &str = "Examples:
  picklock sweep --algo redis-set-nx-px --nemesis pause,crash --ttl 100ms..10s
  picklock sweep --algo zk-sequential --nemesis pause,crash --ttl 500ms..20s --points 9
  picklock sweep --algo redis-set-nx-px --nemesis crash --ttl 1s..30s --html trade.html --svg trade.svg

Exit codes:
    0  it was measured
  130  interrupted
  254  bad arguments
  255  a run could not be made";

/// The arguments of `sweep`.
#[derive(Args)]
#[command(after_help = SWEEP_EXAMPLES)]
pub struct SweepArgs {
    /// The lock under test (`picklock list locks`).
    #[arg(long, value_name = "LOCK")]
    pub algo: String,
    /// The faults (`picklock list nemeses`); several are joined by commas.
    #[arg(long, value_name = "NEMESIS", default_value = "pause,crash")]
    pub nemesis: String,
    /// The times to live, or session time-outs, from the least to the greatest.
    #[arg(long, value_name = "LEAST..GREATEST")]
    pub ttl: TtlRange,
    /// The number of ttls in this range, each so many times the one before.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub points: u32,
    /// The number of schedules of each ttl.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// The load on the lock.
    #[command(flatten)]
    pub load: SweepLoadArgs,
    /// Draws the curves to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Writes the table and the curves to this file, as HTML.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// The format of the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// A range of times to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlRange {
    /// The least.
    pub least: Duration,
    /// The greatest.
    pub greatest: Duration,
}

/// A text that is no range of times.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write it as 100ms..10s, the lesser time first")]
pub struct NoTtlRange;

impl FromStr for TtlRange {
    type Err = NoTtlRange;

    fn from_str(text: &str) -> Result<Self, NoTtlRange> {
        let (least, greatest) = text.split_once("..").ok_or(NoTtlRange)?;
        let time = |text: &str| parse_duration(text.trim()).map_err(|_| NoTtlRange);
        let range = Self { least: time(least)?, greatest: time(greatest)? };
        match range.least < range.greatest && !range.least.is_zero() {
            true => Ok(range),
            false => Err(NoTtlRange),
        }
    }
}

impl TtlRange {
    /// Returns so many times from the least to the greatest, each the same multiple of the one
    /// before, in whole milliseconds.
    pub fn points(self, many: u32) -> Vec<Duration> {
        let (least, greatest) = (self.least.as_secs_f64(), self.greatest.as_secs_f64());
        let last = many.saturating_sub(1).max(1);
        let point = |place: u32| match place {
            0 => self.least,
            place if place == last => self.greatest,
            place => {
                let seconds = least * (greatest / least).powf(f64::from(place) / f64::from(last));
                Duration::from_millis((seconds * 1e3).round() as u64)
            }
        };
        let mut points: Vec<Duration> = (0..=last).map(point).collect();
        points.dedup();
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_and_stepped_through() {
        let range: TtlRange = "100ms..10s".parse().expect("a range");
        let millis: Vec<u128> = range.points(5).iter().map(Duration::as_millis).collect();
        assert_eq!(millis, [100, 316, 1_000, 3_162, 10_000]);
        for wrong in ["10s..100ms", "1s", "0s..1s", "1s..", "a..b"] {
            assert_eq!(wrong.parse::<TtlRange>(), Err(NoTtlRange), "{wrong}");
        }
    }
}
