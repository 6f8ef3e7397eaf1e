//! The arguments of `survey`.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::path::PathBuf;

use super::load::argument;
use super::{BackendArg, Format, LoadArgs, LockArgs, ServersArgs, backend};
use crate::options::OPTIONS;

const SURVEY_EXAMPLES: &str = "Examples:
  picklock survey --lock my-lock.toml
  picklock survey --client \"python3 my_lock.py\" --on redis --promises recovers --ttl 1s
  picklock survey --lock my-lock.toml --allow-known --junit target/junit.xml
  picklock survey --lock my-lock.toml --markdown \"$GITHUB_STEP_SUMMARY\"
  picklock survey --algo redis-set-nx-px --backend sim
  picklock survey --lock my-lock.toml --deep

Exit codes:
    0  the lock kept its promises under all faults that were tried
    1  it broke one, known of the lock or not (with --allow-known: not known)
    2  something could not be told, and nothing was broken
  130  interrupted
  254  bad arguments, or a mistake in the definition file
  255  the runs could not be made";

/// The arguments of `survey`.
#[derive(Args)]
#[command(after_help = SURVEY_EXAMPLES)]
pub struct SurveyArgs {
    /// The lock under test.
    #[command(flatten)]
    pub lock: LockArgs,
    /// The faults to try, joined by commas [default: those that matter for the lock and its
    /// servers].
    #[arg(long, value_name = "NEMESIS", value_delimiter = ',')]
    pub nemesis: Vec<String>,
    /// Tries every nemesis that the servers can have, five times each.
    #[arg(long, conflicts_with_all = ["nemesis", "runs"])]
    pub deep: bool,
    /// The number of runs under each nemesis [default: 2; 20 in the simulator].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub runs: Option<u64>,
    /// The number of runs at a time [default: 3 for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    pub jobs: Option<u64>,
    /// The world to run in; `auto` prefers local servers here, since they start faster.
    #[arg(long, value_name = "BACKEND", value_parser = backend(), default_value = "auto")]
    pub backend: BackendArg,
    /// Servers in the place of a backend.
    #[command(flatten)]
    pub servers: ServersArgs,
    /// The load on the lock.
    #[command(flatten)]
    pub load: SurveyLoadArgs,
    /// Writes the card to this file, as a page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Writes the card to this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Writes the results to this file, as JUnit XML: a test case for each nemesis, which fails if
    /// a promise broke in a way that is not known of the lock.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Ends with 0 where promises broke only in ways that are known of the lock.
    #[arg(long)]
    pub allow_known: bool,
    /// The folder for the run folders of runs that broke a promise.
    #[arg(long, value_name = "FOLDER", default_value = "store")]
    pub store: PathBuf,
    /// The format of the card, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The load of a survey: every option of a run, of which the length has a default of its own.
#[derive(Clone, Default)]
pub struct SurveyLoadArgs(pub LoadArgs);

const TIME_LIMIT: &str = "The time for which faults are injected in each run; a quiet phase \
                          follows [default: 6 ttls, but 6 s at least]";

impl Args for SurveyLoadArgs {
    fn augment_args(command: Command) -> Command {
        OPTIONS.iter().fold(command, |command, option| {
            command.arg(match option.name {
                "time-limit" => argument(option).default_value(None::<&str>).help(TIME_LIMIT),
                _ => argument(option),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SurveyLoadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        LoadArgs::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
