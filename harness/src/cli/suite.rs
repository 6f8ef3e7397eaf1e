//! The arguments of `suite`.

use clap::Args;
use std::path::PathBuf;

use super::{Format, Shard, SuiteBackendArg, suite_backend};

const SUITE_EXAMPLES: &str = "Examples:
  picklock suite suites/seeds.toml
  picklock suite suites/seeds.toml --filter H7 --filter redlock
  picklock suite suites/seeds.toml --backend local --shard 2/3
  picklock suite my-suite.toml --junit target/junit.xml --summary \"$GITHUB_STEP_SUMMARY\"
  picklock suite my-suite.toml --baseline my-suite.baseline.json --update-baseline
  picklock suite my-suite.toml --baseline my-suite.baseline.json
  picklock suite my-suite.toml --init

Exit codes:
    0  every entry is as expected: what must hold held, what must break was caught
    1  an entry is not as expected
    2  an entry cannot tell, and none is other than expected
  130  interrupted
  254  bad arguments, or a mistake in the suite
  255  a run could not be made";

/// The arguments of `suite`.
#[derive(Args)]
#[command(after_help = SUITE_EXAMPLES)]
pub struct SuiteArgs {
    /// The suite: a TOML file (docs/ci.md).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Writes a suite with comments to the file, to begin with, and runs nothing.
    #[arg(long)]
    pub init: bool,
    /// The world to run in.
    #[arg(long, value_name = "BACKEND", value_parser = suite_backend(), default_value = "sim")]
    pub backend: SuiteBackendArg,
    /// Runs only entries whose name has this part, or that are about this hazard; may be given
    /// several times.
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// The number of entries at a time [default: one per core; 4 on real servers].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Runs only this part of the entries: 2/3 is the second of three.
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    pub shard: Shard,
    /// Searches so many schedules of each entry in the simulator instead of its own number; of a
    /// rare entry, no fewer than that.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: Option<u64>,
    /// Runs an entry that is not as expected on real servers so many times again.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Writes the results to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Writes the results to this file, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Writes a summary to this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Compares the figures of the entries with those in this file: one that has got worse than the
    /// file tolerates makes its entry other than expected.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Writes the figures to the baseline instead; those of entries that are not run stay.
    #[arg(long, requires = "baseline")]
    pub update_baseline: bool,
    /// The folder for the run folders of entries that are not as expected.
    #[arg(long, value_name = "FOLDER", default_value = "store")]
    pub store: PathBuf,
    /// The format of the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}
