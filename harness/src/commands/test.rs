//! `picklock test`: one lock, one nemesis, one verdict.

#![expect(clippy::disallowed_methods, reason = "draws a seed and measures how long a run took")]

mod search;

use base::{Mono, Outcome, RunSpec};
use indicatif::{ProgressBar, ProgressStyle};
use sim::ChoiceLog;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::{Failure, can_be_folder, interruptible, judge::judge, tested, with_script, writable};
use crate::Exit;
use crate::cli::{ExpectedOutcome, Format, TestArgs};
use crate::fault_script;
use crate::folder::RunFolder;
use crate::input::JudgingBudget;
use crate::output::{OutputLosses, note, say, write_whole};
use crate::output_style;
use crate::run::{self, Means};
use crate::schedule::Schedule;
use crate::setup::Setup;
use crate::worlds::{RunWorld, choose_for};
use drive::{DriveError, EVENT, Recorder, Watcher};

pub fn run(args: &TestArgs) -> Result<Exit, Failure> {
    let lock = tested(&args.lock, &args.load)?;
    let seed = args.seed.unwrap_or_else(random_seed);
    let run = args.load.run(&lock.info, &args.nemesis, seed);
    let run = RunSpec { observe: args.observe, links: args.links, ..args.servers.under(run) };
    let run = with_script(run, args.script.as_deref())?;
    let setup = Setup::new(&lock, run.clone())?;
    let world = choose_for(&setup, args.backend.0)?;
    if args.print_script.as_deref() != Some(Path::new("-")) {
        writable([(&args.print_script, "--print-script")])?;
    }
    let results = Results {
        store: &args.store,
        format: args.format,
        script: args.print_script.as_deref(),
        expect: args.expect,
    };
    let budget = Some(JudgingBudget::new(Duration::MAX, args.memory_budget));
    let found = match args.seed {
        None if !world.is_real() => search::find_seed(&lock, &run, &*interruptible()?)?,
        _ => None,
    };
    let Some(found) = found else {
        return perform(&setup, world, ChoiceLog::record(), &results, budget);
    };
    tell_search(&found.summary, &results)?;
    let setup = Setup::new(&lock, RunSpec { seed: found.seed, ..run })?;
    perform(&setup, world, ChoiceLog::record(), &results, budget)
}

/// Says what was searched, above the result where people read that, else beside it.
fn tell_search(summary: &str, results: &Results<'_>) -> anyhow::Result<()> {
    match results.stdout_format() {
        Some(Format::Human) if !output_style::quiet() => {
            say(&output_style::render(&format!("{summary}\n\n")))
        }
        _ => {
            output_style::hint(summary);
            Ok(())
        }
    }
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
    fn stdout_format(&self) -> Option<Format> {
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

/// Makes a run, judges it and stores it with its schedule. The simulator keeps to the budget; real
/// servers take the time that they take.
pub fn perform(
    setup: &Setup,
    world: &RunWorld,
    choices: ChoiceLog,
    results: &Results<'_>,
    budget: Option<JudgingBudget>,
) -> Result<Exit, Failure> {
    let interrupted = interruptible()?;
    let budget = budget.filter(|_| !world.is_real());
    if world.is_real() {
        // In the simulator the run is over before anybody has read this.
        can_be_folder(results.store, "--store")?;
    }
    let mut losses = OutputLosses::default();
    let info = setup.info_for(world.name);
    let folder = RunFolder::create(results.store, &info, &mut losses)?;
    let choices = Rc::new(choices);
    let begun = Instant::now();

    let length = setup.run().time_limit() + setup.plan.quiet;
    let mut watcher = RunProgress::new(interrupted, length, budget, folder.as_ref());
    watcher.progress("starting");
    let means = Means {
        recorder: recorder(folder.as_ref(), &mut losses),
        watcher: &mut watcher,
        choices: Some(choices.clone()),
        logs: folder.as_ref().map(|folder| folder.file("log")),
        client: None,
    };
    let made = run::run(setup, world, means).map_err(|error| {
        folder.iter().for_each(RunFolder::discard);
        Failure::could_not(error)
    })?;
    watcher.bar.finish_and_clear();
    losses.note(made.stopped.map_err(anyhow::Error::from));
    losses.note(made.stored);
    match made.driven {
        // The history says what somebody else has done, and the verdict with it.
        Ok(()) | Err(DriveError::Interference(_)) => {}
        Err(error) => {
            losses.tell();
            let kept = folder.as_ref().filter(|_| losses.is_empty());
            return Err(cut_short(&error, watcher.spent, kept));
        }
    }

    let (run, played) = (made.run, made.played);
    if setup.world.observes_given && run.ledger.is_none() {
        output_style::hint(
            "the observed servers did not tell all: causes are those that are possible",
        );
    }
    let planned = setup.plan.replay.as_ref().map_or(0, |replay| replay.faults.len());
    let came = played.faults.len();
    if came < planned {
        output_style::hint(&format!(
            "{came} of the schedule's {planned} faults came: the others' moments did not come again"
        ));
    }
    let script = || fault_script::print(&setup.plan, &played, &info, &run.history);
    losses.note(results.write_script(script));
    if let Some(folder) = &folder {
        let link = crate::links::usual_delay(setup.world.link_delay);
        let schedule = Schedule::of(setup, played, choices.taken(link));
        losses.note(folder.write("schedule.json", &schedule.to_line()));
        if let Some(ledger) = &run.ledger {
            losses.note(folder.write("ledger.jsonl", &ledger.to_lines()));
        }
    }
    let (format, elapsed) = (results.stdout_format(), Some(begun.elapsed()));
    let outcome = judge(&run, folder.as_ref(), format, elapsed, budget, &mut losses)?;
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

/// Shows how far the run has got, on a terminal; in a pipe it is quiet.
struct RunProgress<'a> {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
    budget: Option<JudgingBudget>,
    /// The part of the budget that is used up.
    spent: Option<&'static str>,
    /// The folder that becomes the latest one once the run begins.
    folder: Option<&'a RunFolder>,
}

impl<'a> RunProgress<'a> {
    fn new(
        interrupted: Arc<AtomicBool>,
        length: Duration,
        budget: Option<JudgingBudget>,
        folder: Option<&'a RunFolder>,
    ) -> Self {
        let bar = ProgressBar::new(length.as_millis() as u64);
        bar.set_draw_target(output_style::progress());
        let style = "{elapsed_precise} [{bar:30}] {percent:>3}% {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Self { bar, interrupted, budget, spent: None, folder }
    }
}

impl Watcher for RunProgress<'_> {
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

    fn progress(&self, line: &str) {
        self.bar.set_message(line.to_owned());
        self.bar.tick();
    }

    fn started(&mut self) {
        self.folder.iter().for_each(|folder| folder.publish());
    }
}
