//! What `picklock check` takes.

use super::{Format, duration};
use base::reading::{self, Value};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  picklock check store/latest
  picklock check store/zk-rw+partition/20260101T120000.000Z --format json
  picklock check store/latest --model owner-mutex
  picklock check jepsen/history.edn --model cas-register
  picklock check jepsen/history.edn --model cas-register --independent --initial 0
  zcat etcd.log.gz | picklock check - --model cas-register --time-budget 5m
  picklock check store/latest --export edn > history.edn";

const LONG_ABOUT: &str = "Judges a stored run again, and draws its report.\n\nWith --model: holds \
any history against a model (`picklock list models`), by Jepsen's rule: an operation that failed \
did not happen, and one of unknown outcome may have happened at any time after its begin, or not \
at all. Reads picklock's JSON Lines, Jepsen's and Knossos' EDN, and operations in a log, such as \
`INFO  jepsen.util - 0  :invoke  :write  4`.";

/// What `check` takes.
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = EXAMPLES)]
pub struct CheckArgs {
    /// A run folder, or the history in it; with --model any history, `-` for standard input.
    #[arg(value_name = "RUN|FILE")]
    pub run: PathBuf,
    /// Holds the history against this model (`picklock list models`).
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How the history is written; its first bytes say it when this is not given.
    #[arg(long, value_enum, value_name = "FORMAT", requires = "model")]
    pub input_format: Option<InputFormat>,
    /// Values are [key value], as those of `jepsen.independent`; each key is judged by itself.
    #[arg(long, requires = "model")]
    pub independent: bool,
    /// What a register holds at first, as EDN [default: nil; 0 in a run of picklock].
    #[arg(long, value_name = "VALUE", requires = "model", allow_hyphen_values = true, value_parser = value)]
    pub initial: Option<Value>,
    /// How long reading and deciding may take with a model; past it the answer is inconclusive.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration, default_value = "60s")]
    pub time_budget: Duration,
    /// How much memory the operations and the search may take; past it the answer is inconclusive.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size, default_value = "4GiB")]
    pub memory_budget: usize,
    /// Writes the history of a run to stdout in this format, and judges nothing.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "model")]
    pub export: Option<ExportFormat>,
    /// How to say the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// How a history is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// JSON Lines: an object an event.
    Jsonl,
    /// EDN: a map an event, one after another or in one vector.
    Edn,
    /// A log with operations in it, as Jepsen prints them.
    Log,
}

impl InputFormat {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Edn => "edn",
            Self::Log => "log",
        }
    }
}

impl From<InputFormat> for reading::Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Jsonl => Self::Jsonl,
            InputFormat::Edn => Self::Edn,
            InputFormat::Log => Self::Log,
        }
    }
}

impl From<reading::Format> for InputFormat {
    fn from(format: reading::Format) -> Self {
        match format {
            reading::Format::Jsonl => Self::Jsonl,
            reading::Format::Edn => Self::Edn,
            reading::Format::Log => Self::Log,
        }
    }
}

/// What a history can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// As Jepsen and Knossos read it: a map an event, a line each.
    Edn,
}

fn value(text: &str) -> Result<Value, String> {
    text.parse().map_err(|error| format!("{error}; write it as 0, nil or :a"))
}

/// A number of bytes: `512MiB`, `4GiB`, `2GB`.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: usize = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => return Err(format!("no unit is `{other}`; write it as 512MiB or 4GiB")),
    };
    let number: usize = digits.parse().map_err(|_| "write it as 512MiB or 4GiB".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "more than this machine can count".to_owned())
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
