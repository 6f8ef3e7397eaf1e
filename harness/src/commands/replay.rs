//! `picklock replay`: the same schedule again, exactly in the simulator, or on real servers with
//! the same faults at the same moments in the life of the lock.

use base::RunSpec;
use sim::ChoiceLog;
use std::path::Path;
use workloads::TestedLock;

use super::test::{Results, perform};
use super::{Failure, catalogued, defined, with_script};
use crate::Exit;
use crate::cli::{Format, ReplayArgs};
use crate::input::JudgingBudget;
use crate::output::say;
use crate::output_style::{quiet, style};
use crate::paths;
use crate::schedule::{ReadError, Schedule};
use crate::setup::{Setup, replay_command};
use crate::shrink::render_story;
use crate::simulate;
use crate::worlds::{RunWorld, choose};
use drive::plan::FaultTiming;

pub fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let budget = args.budget.begin();
    let (schedule, lock) = find(args, budget)?;
    let exact = schedule.setup(&lock, FaultTiming::Time).map_err(Failure::could_not)?;
    let world = choose(args.backend.0, &exact.world, &schedule.needs())?;
    let setup = schedule.setup(&lock, world.timing).map_err(Failure::could_not)?;
    if args.format == Format::Human && schedule.shows.is_some() && !quiet() {
        // What it showed once may have been mended since, in the lock or in a model.
        let story =
            render_story(&lock, &schedule, false, style()).unwrap_or_else(|why| format!("{why}\n"));
        say(&format!("{story}\n"))?;
    }
    let setup = setup.known_as(again(args, &lock, world)?, seed(args));
    let choices = ChoiceLog::replay(schedule.chance.clone());
    let results = Results { store: &args.store, format: args.format, script: None, expect: None };
    perform(&setup, world, choices, &results, Some(budget))
}

/// Returns the command that replays it once more. (`picklock test` with the same options would draw
/// another schedule.)
fn again(args: &ReplayArgs, lock: &TestedLock, world: &RunWorld) -> Result<String, Failure> {
    let backend = world.name;
    if let (Some(_), Some(seed)) = (&args.algo, seed(args)) {
        let command = replay_command(&lock.info, &of_seed(args, lock, seed)?);
        return Ok(format!("{command} --backend {backend}"));
    }
    // Tomorrow `store/latest` is another run.
    let what = paths::real(Path::new(&args.what)).display().to_string();
    let what = shlex::try_quote(&what).unwrap_or_else(|_| what.as_str().into());
    let own = match &args.lock {
        Some(_) => format!(" {}", lock.info.named()),
        None => String::new(),
    };
    Ok(format!("picklock replay {what}{own} --backend {backend}"))
}

/// Returns the run of a seed.
fn of_seed(args: &ReplayArgs, lock: &TestedLock, seed: u64) -> Result<RunSpec, Failure> {
    let run = args.load.run(&lock.info, &args.nemesis, seed);
    with_script(RunSpec { swarm: !args.fixed, ..run }, args.script.as_deref())
}

/// Returns the seed that was asked for, if it was one.
fn seed(args: &ReplayArgs) -> Option<u64> {
    args.what.parse().ok().filter(|_| !Path::new(&args.what).exists())
}

/// Returns the schedule that was asked for, with its lock.
fn find(args: &ReplayArgs, budget: JudgingBudget) -> Result<(Schedule, TestedLock), Failure> {
    let path = Path::new(&args.what);
    let own = args.lock.as_deref().map(defined).transpose()?;
    let lock_of = |name: &str| match &own {
        Some(own) => Some(own.clone()).filter(|own| own.name() == name),
        None => workloads::lock(name),
    };
    let read = |path: &Path| {
        Schedule::read_within(path, budget, &lock_of).map_err(|error| match error {
            ReadError::File(why) => why.into(),
            ReadError::Text { .. } => Failure::could_not(error),
        })
    };
    if path.is_dir() {
        let file = path.join("schedule.json");
        if !file.is_file() {
            let place = path.display();
            let line = format!("`{place}` is not a run folder with a schedule.json in it");
            return Err(Failure::could_not(line));
        }
        return read(&file);
    }
    match seed(args) {
        Some(seed) => {
            let algo = args.algo.as_deref();
            let algo =
                algo.ok_or_else(|| Failure::arguments("a seed needs its lock: give --algo"))?;
            let lock = catalogued(algo)?;
            let setup = Setup::new(&lock, of_seed(args, &lock, seed)?)?;
            let (_, schedule) = simulate::record(&setup).map_err(Failure::could_not)?;
            Ok((schedule, lock))
        }
        None if path.exists() => read(path),
        None => {
            let help = "give a schedule file, a run folder or a seed";
            Err(Failure::arguments(paths::missing(path, help)))
        }
    }
}
