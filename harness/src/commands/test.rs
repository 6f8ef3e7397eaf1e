//! `picklock test`: one lock, one nemesis, one verdict.

#![expect(clippy::disallowed_methods, reason = "draws a seed and measures how long a run took")]

use base::{Backend, Mono, Outcome, Run, RunInfo};
use indicatif::{ProgressBar, ProgressStyle};
use sim::ChoiceLog;
#[cfg(feature = "docker")]
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use stores::WorldSpec;

use super::choice::{Choice, choose_for};
use super::explore::writable;
use super::{Failure, interruptible, judge::judge, with_script};
use crate::Exit;
use crate::ExpectedOutcome;
use crate::cli::{Format, TestArgs};
use crate::drive::{DriveError, Recorder, Watcher, drive};
use crate::fault_script;
use crate::folder::RunFolder;
use crate::input::JudgingBudget;
use crate::manner;
#[cfg(feature = "docker")]
use crate::manner::hint;
use crate::output::{OutputLosses, note, say, write_whole};
use crate::plan::Options;
use crate::schedule::Schedule;
use crate::setup::Setup;
use crate::simulate;

pub fn run(args: &TestArgs) -> Result<Exit, Failure> {
    let setup = Setup::new(options(args)?)?;
    let choice = choose_for(&setup, args.backend)?;
    let info = setup.info_for(choice.name());
    if let Some(file) = args.print_script.as_deref().filter(|file| *file != Path::new("-")) {
        writable(file, "--print-script")?;
    }
    let results = Results {
        store: &args.store,
        format: args.format,
        script: args.print_script.as_deref(),
        expect: args.expect,
    };
    perform(&setup, info, choice, ChoiceLog::record(), &results, None)
}

/// The places for what a run has to tell.
pub struct Results<'a> {
    /// The folder in which its folder is made.
    pub store: &'a Path,
    /// The format of its result, on stdout.
    pub format: Format,
    /// The file for its faults as a script; `-` is stdout, which tells nothing else then.
    pub script: Option<&'a Path>,
    /// The outcome that is expected, if the exit code is to say whether it came.
    pub expect: Option<ExpectedOutcome>,
}

impl Results<'_> {
    /// The format of the result, if stdout is there for it.
    fn told(&self) -> Option<Format> {
        Some(self.format).filter(|_| self.script != Some(Path::new("-")))
    }

    /// Ends a run: its exit code is its outcome, or whether it came as expected.
    fn end(&self, outcome: Outcome, losses: OutputLosses) -> Exit {
        let Some(expected) = self.expect else { return losses.end(outcome) };
        let exit = expected.exit(outcome);
        match exit {
            Exit::Held => note("picklock: as expected"),
            Exit::Violated => note("picklock: not as expected"),
            _ => {}
        }
        losses.end_as(outcome, exit)
    }

    /// Writes the faults of a run as a script, if that was asked for.
    fn write_script(&self, script: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self.script {
            None => Ok(()),
            Some(file) if file == Path::new("-") => say(&script()),
            Some(file) => write_whole(file, &script()),
        }
    }
}

/// Makes a run, judges it and stores it with its schedule, under this header. The simulator keeps
/// to the budget; real servers take the time that they take.
pub fn perform(
    setup: &Setup,
    info: RunInfo,
    choice: Choice,
    choice_log: ChoiceLog,
    results: &Results<'_>,
    budget: Option<JudgingBudget>,
) -> Result<Exit, Failure> {
    let interrupted = interruptible()?;
    let budget = budget.filter(|_| choice.name() == Choice::Sim.name());
    let mut losses = OutputLosses::default();
    let folder = RunFolder::create(results.store, &info, &mut losses)?;
    let choice_log = Rc::new(choice_log);
    let begun = Instant::now();

    let mut recorder = recorder(folder.as_ref(), &mut losses);
    let plan = setup.plan();
    let mut watcher = RunProgress::new(interrupted, plan.time_limit + plan.quiet, budget);
    let mut backend = match start(choice, setup, &choice_log, folder.as_ref(), &watcher) {
        Ok(backend) => backend,
        Err(failure) => {
            folder.iter().for_each(RunFolder::discard);
            return Err(failure);
        }
    };
    folder.iter().for_each(RunFolder::publish);
    let outcome = drive(backend.as_mut(), &plan, setup.nemeses(), &mut recorder, &mut watcher);
    watcher.bar.set_message("stopping");
    let ledger = backend.ledger();
    losses.note(backend.stop().map_err(anyhow::Error::from));
    watcher.bar.finish_and_clear();
    losses.note(recorder.stored());
    match outcome {
        // The history says what somebody else has done, and the verdict with it.
        Ok(()) | Err(DriveError::Interference(_)) => {}
        Err(error) => {
            losses.tell();
            let kept = folder.as_ref().filter(|_| losses.is_empty());
            return Err(cut_short(&error, watcher.spent, kept));
        }
    }

    let link = crate::links::usual_delay(setup.world().link_delay);
    let played = recorder.take_played();
    let script = || fault_script::print(&plan, &played, &info, recorder.history());
    losses.note(results.write_script(script));
    let schedule = Schedule::of(setup, played, choice_log.taken(link));
    if let Some(folder) = &folder {
        losses.note(folder.write("schedule.json", &schedule.to_json()));
        if let Some(ledger) = &ledger {
            losses.note(folder.write("ledger.jsonl", &ledger.to_lines()));
        }
    }
    let run = Run { info, history: recorder.into_history(), ledger };
    let (told, elapsed) = (results.told(), Some(begun.elapsed()));
    let outcome = judge(&run, folder.as_ref(), told, elapsed, budget, &mut losses)?;
    Ok(results.end(outcome, losses))
}

/// Records to the run folder, as long as there is one that takes something.
fn recorder(folder: Option<&RunFolder>, losses: &mut OutputLosses) -> Recorder {
    let to_file = |folder: &RunFolder| Recorder::to_file(&folder.file("history.jsonl"));
    match folder.map(to_file) {
        Some(Ok(recorder)) => recorder,
        Some(Err(error)) => {
            losses.note(Err(error));
            Recorder::in_memory()
        }
        None => Recorder::in_memory(),
    }
}

fn options(args: &TestArgs) -> Result<Options, Failure> {
    let seed = args.seed.unwrap_or_else(random_seed);
    let options = args.load.options(&args.algo, &args.nemesis, seed);
    let options = Options { given: args.servers.clone(), toxiproxy: args.links, ..options };
    with_script(options, args.script.as_deref())
}

/// A seed short enough to be typed again.
fn random_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    base::Rng::new(since.as_nanos() as u64).below(1_000_000)
}

/// A run that did not come to its end.
fn cut_short(error: &DriveError, spent: Option<&str>, folder: Option<&RunFolder>) -> Failure {
    let why = match (error, spent) {
        (DriveError::Interrupted, Some(what)) => {
            format!("the {what} budget was spent in the run; give more with --{what}-budget")
        }
        (DriveError::Interrupted, None) => {
            "interrupted; everything is healed and removed".to_owned()
        }
        (error, _) => error.to_string(),
    };
    let place = folder.map(|folder| folder.path().display());
    let line = match (error, place) {
        (_, None) => why,
        (DriveError::Interrupted, Some(place)) => {
            format!("{why}, and the history so far is kept: picklock check {place}")
        }
        (_, Some(place)) => format!("{why} (the run is kept in {place})"),
    };
    match (error, spent) {
        (DriveError::Interrupted, None) => Failure::interrupted(line),
        _ => Failure::could_not(line),
    }
}

fn start(
    choice: Choice,
    setup: &Setup,
    choice_log: &Rc<ChoiceLog>,
    folder: Option<&RunFolder>,
    watcher: &RunProgress,
) -> Result<Box<dyn Backend>, Failure> {
    watcher.note("starting");
    let world = WorldSpec { logs: folder.map(|folder| folder.file("log")), ..setup.world() };
    match choice {
        Choice::Sim => Ok(simulate::world(setup.lock, &world, Some(choice_log.clone()))),
        #[cfg(feature = "real")]
        Choice::Local => {
            let backend = local::LocalBackend::start(&world, &|line| watcher.note(line));
            Ok(Box::new(backend.map_err(Failure::could_not)?))
        }
        #[cfg(feature = "real")]
        Choice::Given => {
            let start = testbed::RealBackend::<testbed::GivenServers>::start;
            let backend = start(&world, &|line| watcher.note(line));
            Ok(Box::new(backend.map_err(Failure::could_not)?))
        }
        #[cfg(feature = "real")]
        Choice::Docker => start_docker(&world, watcher),
    }
}

#[cfg(feature = "docker")]
fn start_docker(world: &WorldSpec, watcher: &RunProgress) -> Result<Box<dyn Backend>, Failure> {
    let say = |line: &str| watcher.note(line);
    let told = Cell::new(false);
    docker::ensure_image(&|line| {
        if !told.replace(true) {
            hint("making the image of the servers, once; this takes some minutes");
        }
        say(line);
    })
    .map_err(Failure::could_not)?;
    let backend = docker::DockerBackend::start(world, &say).map_err(Failure::could_not)?;
    Ok(Box::new(backend))
}

#[cfg(all(feature = "real", not(feature = "docker")))]
fn start_docker(_: &WorldSpec, _: &RunProgress) -> Result<Box<dyn Backend>, Failure> {
    Err(Failure::could_not(super::choice::NO_DOCKER))
}

/// Shows how far the run has got, on a terminal; in a pipe it is quiet.
struct RunProgress {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
    budget: Option<JudgingBudget>,
    /// The part of the budget that is used up.
    spent: Option<&'static str>,
}

/// The most memory that an event of a run takes, in bytes, with its share of all that is made of
/// it.
const EVENT: usize = 1 << 10;

impl RunProgress {
    fn new(interrupted: Arc<AtomicBool>, length: Duration, budget: Option<JudgingBudget>) -> Self {
        let bar = ProgressBar::new(length.as_millis() as u64);
        bar.set_draw_target(manner::progress());
        let style = "{elapsed_precise} [{bar:30}] {percent:>3}% {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Self { bar, interrupted, budget, spent: None }
    }

    fn note(&self, line: &str) {
        self.bar.set_message(line.to_owned());
        self.bar.tick();
    }
}

impl Watcher for RunProgress {
    fn goes_on(&mut self, now: Mono, events: usize) -> bool {
        self.bar.set_position(now.millis());
        self.bar.set_message(format!("{events} events"));
        self.spent = self.budget.and_then(|budget| match () {
            () if budget.is_over() => Some("time"),
            () if events > budget.memory / EVENT => Some("memory"),
            () => None,
        });
        self.spent.is_none() && !self.interrupted.load(Ordering::Relaxed)
    }
}
