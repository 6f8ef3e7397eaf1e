//! The program: reads the command line and runs the command that it names.

use base::visible;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{Write, stdout};

use super::limits;
use crate::Exit;
use crate::cli::{
    CHECK_ABOUT, CheckArgs, CleanArgs, ClientArgs, DoctorArgs, ExploreArgs, ListArgs, MergeArgs,
    ReplayArgs, SuiteArgs, SurveyArgs, SweepArgs, TestArgs,
};
use crate::commands::{self, bench::BenchCommand};
use crate::output;
use crate::output_style::{self, OutputStyle};

/// A fault-injection harness for distributed locks.
#[derive(Parser)]
#[command(name = "picklock", version, about, long_about = LONG_ABOUT, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
    #[command(flatten)]
    output_style: OutputStyle,
}

const LONG_ABOUT: &str = "Runs a distributed lock under contention while links are cut, processes \
paused and servers killed; records what every client believed and what the guarded resource saw; \
and decides from that record whether the lock kept its promises.\n\nThe same lock source runs in a \
deterministic simulator and on real servers, in containers or as processes of this machine.";

const EXIT_CODES: &str = "Exit codes:
    0  the lock kept its promises
    1  it broke one, expected or not
    2  inconclusive: this run cannot tell
  130  interrupted, and nothing was broken by then
  254  bad arguments, or a file that is not what it should be
  255  the run could not be made, or not to its end";

#[derive(Subcommand)]
enum CliCommand {
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
    #[command(long_about = CHECK_ABOUT)]
    Check(CheckArgs),
    /// Runs many entries with what is expected of each: the gate of a CI.
    Suite(SuiteArgs),
    /// Makes the report card of a lock: which faults it bears, and which not.
    Survey(SurveyArgs),
    /// Measures the trade between violations and time lost over the ttl, in the simulator.
    Sweep(SweepArgs),
    /// Lists locks, nemeses, checkers, models and backends.
    List(ListArgs),
    /// Says which servers and faults this machine is ready for, and how to get the rest.
    Doctor(DoctorArgs),
    /// Measures how fast picklock itself is on this machine.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Removes what killed runs left behind: containers and networks, processes and folders.
    Clean(CleanArgs),
    /// Tries the client of a lock of your own (`client check`); alone, it is the client of a lock of
    /// the catalogue, which reads requests as JSON lines and answers them.
    Client(ClientArgs),
}

/// Reads the arguments. An error shows those that would move the cursor or begin a line, as the
/// name of a file may, with such characters written out.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let command = Cli::command().color(output_style::asked(args));
    let parse = |args: &[OsString]| {
        Cli::from_arg_matches(&command.clone().try_get_matches_from(args.iter())?)
    };
    parse(args).map_err(|error| {
        let shown = args.iter().map(|arg| visible(&arg.to_string_lossy()).into_owned().into());
        parse(&shown.collect::<Vec<OsString>>()).err().unwrap_or(error)
    })
}

/// Runs the command line.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let printed = output::unless_closed(error.print().and_then(|()| stdout().flush()));
            return match (error.use_stderr(), printed) {
                (true, _) => Exit::BadArguments,
                (false, Ok(())) => Exit::Held,
                (false, Err(error)) => {
                    output::note(&format!("picklock: cannot write to stdout: {error}"));
                    Exit::CouldNotRun
                }
            };
        }
    };
    cli.output_style.take();
    limits::raise_open_files();
    if !limits::has_threads() {
        output::note("picklock: this machine has no threads left: raise the limit (`ulimit -u`)");
        return Exit::CouldNotRun;
    }
    let outcome = match cli.command {
        CliCommand::Test(args) => commands::test::run(&args),
        CliCommand::Explore(args) => commands::explore::run(&args),
        CliCommand::Replay(args) => commands::replay::run(&args),
        CliCommand::Merge(args) => commands::merge::run(&args),
        CliCommand::Check(args) => commands::check::run(&args),
        CliCommand::List(args) => commands::list::run(&args),
        CliCommand::Suite(args) => commands::suite::run(&args),
        CliCommand::Survey(args) => commands::survey::run(&args),
        CliCommand::Sweep(args) => commands::sweep::run(&args),
        CliCommand::Doctor(args) => commands::doctor::run(&args),
        CliCommand::Bench(command) => commands::bench::run(&command),
        CliCommand::Clean(args) => commands::clean::run(args),
        CliCommand::Client(args) => commands::client::run(&args),
    };
    outcome.unwrap_or_else(|failure| {
        output::note(&format!("picklock: {failure}"));
        failure.excerpt.iter().for_each(|line| output::note(line));
        failure.exit
    })
}
