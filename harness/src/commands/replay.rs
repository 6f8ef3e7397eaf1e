//! `picklock replay`: the same schedule again, exactly in the simulator, or on real servers with the
//! same faults at the same moments in the life of the lock.

use reports::units::{Precision, counted, moment, span};
use sim::Tape;
use std::path::Path;

use super::test::{Choice, choose, perform};
use super::{Failure, judge::say};
use crate::Exit;
use crate::cli::{Format, ReplayArgs};
use crate::schedule::{Aim, Line, Schedule, Shows, story_of};
use crate::setup::{Options, Setup, flags};
use crate::simulate;

pub fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let schedule = find(args)?;
    let choice = choose(args.backend, &schedule.needs())?;
    let aim = match choice {
        Choice::Sim => Aim::Time,
        #[cfg(feature = "docker")]
        Choice::Docker => Aim::Moment,
    };
    let setup = schedule.setup(aim).map_err(Failure::could_not)?;
    if args.format == Format::Human && schedule.shows.is_some() {
        say(&(told(&schedule).map_err(Failure::could_not)? + "\n"));
    }
    let mut info = setup.info_for(choice.name());
    info.command = again(args, choice.name());
    info.seed = seed(args).unwrap_or(info.seed);
    let tape = Tape::replay(schedule.chance.clone());
    perform(&setup, info, choice, tape, &args.store, args.format)
}

/// The command that replays it once more. (`picklock test` with the same options would draw another
/// schedule.)
fn again(args: &ReplayArgs, backend: &str) -> String {
    let what = shlex::try_quote(&args.what).unwrap_or_else(|_| args.what.as_str().into());
    let command = format!("picklock replay {what} --backend {backend}");
    let Some((algo, seed)) = args.algo.as_ref().zip(seed(args)) else { return command };
    let fixed = if args.fixed { " --fixed" } else { "" };
    let flags = flags(&args.load.options(algo, &args.nemesis, seed));
    format!("{command} --algo {algo} --nemesis {}{fixed}{flags}", args.nemesis)
}

/// The seed that was asked for, if it was one.
fn seed(args: &ReplayArgs) -> Option<u64> {
    args.what.parse().ok().filter(|_| !Path::new(&args.what).exists())
}

/// The schedule that was asked for.
fn find(args: &ReplayArgs) -> Result<Schedule, Failure> {
    let path = Path::new(&args.what);
    if path.is_dir() {
        let file = path.join("schedule.json");
        if !file.is_file() {
            let place = path.display();
            let line = format!("`{place}` is no run folder with a schedule.json in it");
            return Err(Failure::could_not(line));
        }
        return Schedule::read(&file).map_err(Failure::could_not);
    }
    match seed(args) {
        Some(seed) => of_seed(seed, args),
        None if path.exists() => Schedule::read(path).map_err(Failure::could_not),
        None => Err(Failure::could_not(format!(
            "there is no `{}`; give a schedule file, a run folder or a seed",
            args.what
        ))),
    }
}

fn of_seed(seed: u64, args: &ReplayArgs) -> Result<Schedule, Failure> {
    let algo = args.algo.as_deref();
    let algo = algo.ok_or_else(|| Failure::arguments("a seed needs its lock: give --algo"))?;
    let options = args.load.options(algo, &args.nemesis, seed);
    let setup =
        Setup::new(Options { swarm: !args.fixed, ..options }).map_err(Failure::arguments)?;
    let recorded = simulate::record(&setup);
    recorded.map(|(_, schedule)| schedule).map_err(|e| Failure::could_not(e.to_string()))
}

/// The story of a counterexample, as it is in the simulator.
pub fn told(schedule: &Schedule) -> Result<String, String> {
    let Some(Shows { anomaly, .. }) = &schedule.shows else { return Ok(String::new()) };
    let (found, lines) = story_of(schedule)?;
    let clients = schedule.clients.len() as u64;
    let faults = schedule.faults.len() as u64;
    let mut text = format!(
        "{anomaly} of {} (ttl {}) with {}, {}, {}:\n\n",
        schedule.algo,
        span(schedule.ttl),
        counted(clients, "client", "clients"),
        counted(faults, "fault", "faults"),
        counted(lines.len() as u64, "message", "messages"),
    );
    let times: Vec<u64> = lines.iter().flat_map(|l| [Some(l.from), l.until]).flatten().collect();
    let precision = Precision::for_times(&times);
    let width = lines.iter().map(|line| line.who.len()).max().unwrap_or(0);
    for Line { from, until, who, what } in &lines {
        let ended = match until {
            Some(until) if until != from => format!(" ({})", moment(*until, precision)),
            Some(_) => String::new(),
            None => " (open)".into(),
        };
        text.push_str(&format!("  {:>9}  {who:width$}  {what}{ended}\n", moment(*from, precision)));
    }
    text.push_str(&format!("\n  {}\n\n", reports::reading::sentence(&found.explanation)));
    Ok(text)
}
