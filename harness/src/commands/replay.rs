//! `picklock replay`: the same schedule again, exactly in the simulator, or on real servers with the
//! same faults at the same moments in the life of the lock.

use base::units::{counted, span};
use reports::terminal::story;
use sim::ChoiceLog;
use std::path::Path;

use super::choice::choose;
use super::test::{Results, perform};
use super::{Failure, with_script};
use crate::Exit;
use crate::cli::{Format, ReplayArgs};
use crate::input::JudgingBudget;
use crate::manner::{quiet, style};
use crate::output::say;
use crate::place;
use crate::plan::{FaultTiming, Options};
use crate::schedule::{Schedule, Shows};
use crate::setup::{Setup, replay_command};
use crate::shrink::{StoryError, ToldCounterexample, story_of};
use crate::simulate;

pub fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let budget = args.budget.begin();
    let schedule = find(args, budget)?;
    let world = schedule.setup(FaultTiming::Time).map_err(Failure::could_not)?.world();
    let choice = choose(args.backend, &world, &schedule.needs())?;
    let setup = schedule.setup(choice.aim()).map_err(Failure::could_not)?;
    if args.format == Format::Human && schedule.shows.is_some() && !quiet() {
        // What it showed once may have been mended since, in the lock or in a model.
        let story = told(&schedule, false).unwrap_or_else(|why| format!("{why}\n"));
        say(&format!("{story}\n"))?;
    }
    let mut info = setup.info_for(choice.name());
    info.command = again(args, choice.name())?;
    info.seed = seed(args).unwrap_or(info.seed);
    let choice_log = ChoiceLog::replay(schedule.chance.clone());
    let results = Results { store: &args.store, format: args.format, script: None, expect: None };
    perform(&setup, info, choice, choice_log, &results, Some(budget))
}

/// The command that replays it once more. (`picklock test` with the same options would draw another
/// schedule.)
fn again(args: &ReplayArgs, backend: &str) -> Result<String, Failure> {
    if let Some((algo, seed)) = args.algo.as_ref().zip(seed(args)) {
        let command = replay_command(&options(args, algo, seed)?);
        return Ok(format!("{command} --backend {backend}"));
    }
    // Tomorrow `store/latest` is another run.
    let what = place::real(Path::new(&args.what)).display().to_string();
    let what = shlex::try_quote(&what).unwrap_or_else(|_| what.as_str().into());
    Ok(format!("picklock replay {what} --backend {backend}"))
}

/// The options of a seed.
fn options(args: &ReplayArgs, algo: &str, seed: u64) -> Result<Options, Failure> {
    let options = args.load.options(algo, &args.nemesis, seed);
    with_script(Options { swarm: !args.fixed, ..options }, args.script.as_deref())
}

/// The seed that was asked for, if it was one.
fn seed(args: &ReplayArgs) -> Option<u64> {
    args.what.parse().ok().filter(|_| !Path::new(&args.what).exists())
}

/// The schedule that was asked for.
fn find(args: &ReplayArgs, budget: JudgingBudget) -> Result<Schedule, Failure> {
    let path = Path::new(&args.what);
    if path.is_dir() {
        let file = path.join("schedule.json");
        if !file.is_file() {
            let place = path.display();
            let line = format!("`{place}` is not a run folder with a schedule.json in it");
            return Err(Failure::could_not(line));
        }
        return Schedule::read_within(&file, budget).map_err(Failure::could_not);
    }
    match seed(args) {
        Some(seed) => of_seed(seed, args),
        None if path.exists() => Schedule::read_within(path, budget).map_err(Failure::could_not),
        None => {
            let help = "give a schedule file, a run folder or a seed";
            Err(Failure::arguments(place::missing(path, help)))
        }
    }
}

fn of_seed(seed: u64, args: &ReplayArgs) -> Result<Schedule, Failure> {
    let algo = args.algo.as_deref();
    let algo = algo.ok_or_else(|| Failure::arguments("a seed needs its lock: give --algo"))?;
    let setup = Setup::new(options(args, algo, seed)?)?;
    let recorded = simulate::record(&setup);
    recorded.map(|(_, schedule)| schedule).map_err(Failure::could_not)
}

/// The story of a counterexample, as it is in the simulator; explained where nothing else explains
/// it.
pub fn told(schedule: &Schedule, explained: bool) -> Result<String, StoryError> {
    let Some(Shows { anomaly, .. }) = &schedule.shows else { return Ok(String::new()) };
    let ToldCounterexample { anomaly: found, messages, steps } = story_of(schedule)?;
    let title = format!(
        "{anomaly} of {} (ttl {}) with {}, {}, {}",
        schedule.algo,
        span(schedule.ttl_ns),
        counted(schedule.client_count().into(), "client", "clients"),
        counted(schedule.faults.len() as u64, "fault", "faults"),
        counted(messages as u64, "message", "messages"),
    );
    let explanation = explained.then_some(found.explanation.as_str());
    Ok(story(&title, &steps, explanation, style()))
}
