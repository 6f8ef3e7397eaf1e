//! The command line: what can be typed, and what it means.

use base::visible;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write, stdout};
use std::path::PathBuf;
use std::time::Duration;

use crate::Exit;
use crate::commands;
use crate::manner::{self, Manner};
use crate::output;

mod budget;
mod check;
use crate::setup::Options;
pub use budget::BudgetArgs;
pub use check::{CheckArgs, ExportFormat, InputFormat};

mod exhaustive;
mod explore;

use crate::commands::bench::BenchCommand;
pub use exhaustive::ExhaustiveArgs;
pub use explore::{ExploreArgs, MergeArgs, ReplayArgs, Shard};

/// A fault-injection harness for distributed locks.
#[derive(Debug, Parser)]
#[command(name = "picklock", version, about, long_about = LONG_ABOUT, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    manner: Manner,
}

const LONG_ABOUT: &str = "Runs a distributed lock under contention while links are cut, processes \
paused and servers killed; records what every client believed and what the guarded resource saw; \
and decides from that record whether the lock kept its promises.\n\nThe same lock source runs in a \
deterministic simulator and on real servers in containers.";

const EXIT_CODES: &str = "Exit codes:
    0  the lock kept its promises
    1  it broke one, expected or not
    2  inconclusive: this run cannot tell
  130  interrupted, and nothing was broken by then
  254  bad arguments
  255  the run could not be made, or not to its end";

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs one lock under one nemesis and judges it.
    Test(TestArgs),
    /// Searches many schedules of one lock in the simulator.
    Explore(ExploreArgs),
    /// Runs a schedule again: a counterexample, a stored run, or a seed of `explore`.
    Replay(ReplayArgs),
    /// Adds up the results of `explore --shard`.
    Merge(MergeArgs),
    /// Judges a stored run again, or holds any history against a model.
    // Here, since the line above hides whatever `CheckArgs` says of itself at length.
    #[command(long_about = check::LONG_ABOUT)]
    Check(CheckArgs),
    /// Lists locks, nemeses, checkers, models and backends.
    List(ListArgs),
    /// Measures how fast picklock itself is on this machine.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Removes containers and networks that killed runs left behind.
    Clean,
    /// A lock client: reads requests as JSON lines and answers them. Started by `test`.
    #[command(hide = true)]
    Client,
}

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// Real servers when this machine is ready for them, else the simulator.
    Auto,
    /// The simulator: virtual time, replayed exactly by its seed.
    Sim,
    /// Real servers in containers; builds the image when it is missing.
    Docker,
}

/// How to say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON object.
    Json,
}

const TEST_EXAMPLES: &str = "Examples:
  picklock test --algo zk-rw --nemesis partition
  picklock test --algo redis-set-nx-px --nemesis pause --backend sim --seed 7
  picklock test --algo redis-setnx-expire --nemesis crash --link-delay 100ms
  picklock test --algo zk-sequential --nemesis partition,crash --backend docker --ttl 4s";

/// What `test` takes.
#[derive(Debug, Args)]
#[command(after_help = TEST_EXAMPLES)]
pub struct TestArgs {
    /// The lock under test (`picklock list locks`).
    #[arg(long, value_name = "LOCK")]
    pub algo: String,
    /// The faults (`picklock list nemeses`); several are joined by commas.
    #[arg(long, value_name = "NEMESIS", default_value = "none")]
    pub nemesis: String,
    /// Where to run.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendChoice,
    /// The load on the lock.
    #[command(flatten)]
    pub load: LoadArgs,
    /// Runs the same schedule again. Drawn at random when not given.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Where run folders go.
    #[arg(long, value_name = "FOLDER", default_value = "store")]
    pub store: PathBuf,
    /// How to say the result, on stdout.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// The load on the lock: who contends, for how long, over which links.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// How many clients contend [default: 5; 2 in an exhaustive search].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub clients: Option<u32>,
    /// How long faults are injected; a quiet phase follows.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration, default_value = "30s")]
    pub time_limit: Duration,
    /// The lock's time to live, or its session time-out [default: 4s on Redis, 2s on ZooKeeper].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = ttl)]
    pub ttl: Option<Duration>,
    /// The tick of the ZooKeeper servers; sessions live 2 to 20 of them [default: a sixth of --ttl].
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub tick: Option<Duration>,
    /// How many ticks of silence end a connection between ZooKeeper servers [default: 2].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub sync_limit: Option<u32>,
    /// The mean of a short hold; one hold in four is long, as the lock allows.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration, default_value = "50ms")]
    pub hold: Duration,
    /// Delays each client-server link by this, each way.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration, default_value = "0s")]
    pub link_delay: Duration,
    /// How many keys the clients contend for.
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1)]
    pub keys: u32,
}

/// What `list` takes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  picklock list\n  picklock list locks --format json")]
pub struct ListArgs {
    /// What to list; everything when not given.
    #[arg(value_enum)]
    pub what: Option<ListWhat>,
    /// How to say it.
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListWhat {
    /// The locks.
    Locks,
    /// The nemeses.
    Nemeses,
    /// The checkers.
    Checkers,
    /// The models that histories are held against.
    Models,
    /// The backends.
    Backends,
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write it as 500ms, 2s or 1m30s"))
}

/// A ttl that never runs out.
pub const UNLIMITED: Duration = Duration::MAX;

fn ttl(text: &str) -> Result<Duration, String> {
    if text == "unlimited" { Ok(UNLIMITED) } else { duration(text) }
}

impl LoadArgs {
    /// The options of a run under this load.
    pub fn options(&self, algo: &str, nemesis: &str, seed: u64) -> Options {
        let defaults = Options::new(algo, nemesis, seed);
        Options {
            clients: self.clients.unwrap_or(defaults.clients),
            time_limit: self.time_limit,
            ttl: self.ttl.unwrap_or(defaults.ttl),
            tick: self.tick,
            sync_limit: self.sync_limit,
            hold: self.hold,
            think: self.hold / 2,
            link_delay: self.link_delay,
            keys: self.keys,
            ..defaults
        }
    }
}

/// Says what is wrong with the arguments, or prints the help that they ask for.
fn refuse(error: &clap::Error) -> io::Result<()> {
    let text = error.render().to_string();
    let shown: Vec<_> = text.split('\n').map(visible).collect();
    match shown.iter().all(|line| matches!(line, Cow::Borrowed(_))) {
        true => error.print(),
        // An argument would move the cursor: it may come from the name of a file.
        false => io::stderr().write_all(shown.join("\n").as_bytes()),
    }
}

/// Runs the command line.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let command = Cli::command().color(manner::asked(&args));
    let parsed = command.try_get_matches_from(args);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            let told = output::unless_closed(refuse(&error).and_then(|()| stdout().flush()));
            return match (error.use_stderr(), told) {
                (true, _) => Exit::BadArguments,
                (false, Ok(())) => Exit::Held,
                (false, Err(error)) => {
                    output::note(&format!("picklock: cannot write to stdout: {error}"));
                    Exit::CouldNotRun
                }
            };
        }
    };
    cli.manner.take();
    let outcome = match cli.command {
        Command::Test(args) => commands::test::run(&args),
        Command::Explore(args) => commands::explore::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Merge(args) => commands::merge::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Bench(command) => commands::bench::run(&command),
        Command::Clean => commands::clean::run(),
        Command::Client => commands::client(),
    };
    outcome.unwrap_or_else(|failure| {
        output::note(&format!("picklock: {failure}"));
        failure.exit
    })
}
