//! `picklock suite`: many runs with what is expected of each, as a gate.

#![expect(clippy::disallowed_methods, reason = "measures how long an entry took")]

mod report;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use base::BackendError;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Failure, UntilStopped, can_be_folder, interruptible, writable};
use crate::Exit;
use crate::cli::{Format, SuiteArgs};
use crate::folder::RunFolder;
use crate::input::{self, JudgingBudget};
use crate::output::{OutputLosses, say, write_whole};
use crate::output_style::{self, hint};
use crate::paths::missing;
use crate::run::{self, Means};
use crate::setup::Setup;
use crate::suite::{Baseline, EntryFinding, EntryOutcome, EntryStatus, Suite, SuiteEntry, search};
use crate::threads::{cores, side_by_side};
use crate::worlds::{RunWorld, WORLDS, choose_of};

/// The number of entries on real servers at a time: a run mostly waits, but more would starve each
/// other of processor time.
const REAL_SIDE_BY_SIDE: usize = 4;

const EXAMPLE: &str = include_str!("example.toml");

pub fn run(args: &SuiteArgs) -> Result<Exit, Failure> {
    if args.init {
        return init(&args.file);
    }
    let suite = read(&args.file)?;
    let work = work(&suite, args)?;
    let baseline = baseline(args)?;
    writable([(&args.out, "--out"), (&args.junit, "--junit"), (&args.summary, "--summary")])?;
    if args.update_baseline {
        writable([(&args.baseline, "--baseline")])?;
    }
    can_be_folder(&args.store, "--store")?;
    prepare(&work).map_err(Failure::could_not)?;
    let stop = interruptible()?;
    let run = SuiteRun {
        args,
        stop: &stop,
        next: AtomicUsize::new(0),
        done: Mutex::new((0..work.len()).map(|_| None).collect()),
        failed: Mutex::new(None),
        losses: Mutex::new(OutputLosses::default()),
        baseline,
        bar: progress_bar(work.len()),
        work,
    };
    let begun = Instant::now();
    let jobs = args.jobs.unwrap_or_else(|| usual_jobs(&run.work));
    side_by_side(jobs.min(run.work.len()), || run.go_on());
    run.bar.finish_and_clear();
    run.end(begun)
}

fn init(file: &Path) -> Result<Exit, Failure> {
    if file.exists() {
        let there = format!("`{}` is there already: name another file", file.display());
        return Err(Failure::arguments(there));
    }
    write_whole(file, EXAMPLE)?;
    say(&format!("written: picklock suite {}\n", file.display()))?;
    Ok(Exit::Held)
}

fn read(file: &Path) -> Result<Suite, Failure> {
    if !file.exists() {
        let help = "picklock suite FILE --init writes one to begin with";
        return Err(Failure::arguments(missing(file, help)));
    }
    let text = input::text(file, JudgingBudget::default())?;
    let folder = file.parent().unwrap_or(Path::new(""));
    Suite::read(&file.display().to_string(), &text, folder)
        .map_err(|error| Failure { excerpt: error.excerpt().to_vec(), ..Failure::arguments(error) })
}

/// Reads the baseline that was asked for; one that is to be written need not be there.
fn baseline(args: &SuiteArgs) -> Result<Option<Baseline>, Failure> {
    let Some(file) = &args.baseline else { return Ok(None) };
    match file.exists() {
        true => {
            let text = input::text(file, JudgingBudget::default())?;
            Baseline::read(file, &text).map(Some).map_err(Failure::arguments)
        }
        false if args.update_baseline => Ok(Some(Baseline::empty())),
        false => {
            let help = "--update-baseline writes one";
            Err(Failure::arguments(missing(file, help)))
        }
    }
}

/// An entry in a world.
struct Work {
    entry: SuiteEntry,
    world: &'static RunWorld,
    /// The reason why it cannot be run there.
    obstacle: Option<String>,
}

/// The obstacle of a program in the simulator, if it is not asked for on real servers, too.
const REAL_ONLY: &str = "it is a program, which needs real servers: --backend local or docker";

/// Returns an entry in the first of these worlds in which it can be run; none for an entry that is
/// for the simulator alone, if they are worlds of real servers.
fn place(entry: &SuiteEntry, worlds: &[&'static RunWorld]) -> Option<Work> {
    let world = worlds.first()?;
    let of = |world, obstacle| Work { entry: entry.clone(), world, obstacle };
    if !world.is_real() {
        let is_program = entry.lock.opener.program().is_some();
        return Some(of(world, is_program.then(|| REAL_ONLY.into())));
    }
    let setup = (entry.real > 0).then(|| entry.on_servers(0))?;
    let chosen = setup.map_err(|error| error.to_string());
    Some(match chosen.and_then(|setup| choose_of(worlds, &setup)) {
        Ok(chosen) => of(chosen, None),
        Err(reason) => of(world, Some(reason)),
    })
}

/// Makes what the worlds need beforehand: an image is to be made once, and not by each of them.
fn prepare(work: &[Work]) -> Result<(), BackendError> {
    let used = |world: &&&RunWorld| {
        work.iter().any(|it| it.world.name == world.name && it.obstacle.is_none())
    };
    WORLDS.iter().filter(used).try_for_each(|world| (world.prepare)(&hint))
}

/// The entries that were asked for, each in its worlds.
fn work(suite: &Suite, args: &SuiteArgs) -> Result<Vec<Work>, Failure> {
    let asked = |entry: &&SuiteEntry| {
        args.filter.is_empty() || args.filter.iter().any(|filter| entry.is_asked_for(filter))
    };
    if args.jobs == Some(0) {
        return Err(Failure::arguments("--jobs must be at least 1"));
    }
    let asked: Vec<&SuiteEntry> = suite.entries.iter().filter(asked).collect();
    let part = args.shard.part(0..asked.len() as u64).seeds();
    let asked = asked[part.start as usize..part.end as usize].iter();
    let places = asked.flat_map(|entry| {
        let places = args.backend.0.iter().filter_map(|worlds| place(entry, worlds));
        let mut places: Vec<Work> = places.collect();
        if places.iter().any(|work| work.world.is_real()) {
            places.retain(|work| work.world.is_real() || work.obstacle.is_none());
        }
        places
    });
    let work: Vec<Work> = places.collect();
    match work.is_empty() {
        true => Err(Failure::arguments(
            "no entry is left to run: ask for others with --filter, --shard or --backend",
        )),
        false => Ok(work),
    }
}

fn usual_jobs(work: &[Work]) -> usize {
    match work.iter().any(|work| work.world.is_real()) {
        true => REAL_SIDE_BY_SIDE,
        false => cores(),
    }
}

fn progress_bar(entries: usize) -> ProgressBar {
    let bar = ProgressBar::new(entries as u64);
    bar.set_draw_target(output_style::progress());
    let style = "{elapsed_precise} [{bar:30}] {pos}/{len} entries";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar.tick();
    bar
}

/// A suite on its way.
struct SuiteRun<'a> {
    args: &'a SuiteArgs,
    stop: &'a AtomicBool,
    work: Vec<Work>,
    next: AtomicUsize,
    done: Mutex<Vec<Option<EntryOutcome>>>,
    failed: Mutex<Option<Failure>>,
    losses: Mutex<OutputLosses>,
    baseline: Option<Baseline>,
    bar: ProgressBar,
}

impl SuiteRun<'_> {
    fn go_on(&self) {
        while !self.stop.load(Ordering::Relaxed) && self.lock_failed().is_none() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(work) = self.work.get(number) else { return };
            match self.one(work) {
                Ok(outcome) => self.take(number, outcome),
                Err(_) if self.stop.load(Ordering::Relaxed) => return,
                Err(failure) => {
                    self.lock_failed().get_or_insert(failure);
                }
            }
        }
    }

    fn lock_failed(&self) -> std::sync::MutexGuard<'_, Option<Failure>> {
        self.failed.lock().unwrap_or_else(|error| error.into_inner())
    }

    /// Runs an entry in its world, again if that is asked for.
    fn one(&self, work: &Work) -> Result<EntryOutcome, Failure> {
        let begun = Instant::now();
        let mut tries = if work.world.is_real() { self.args.retries } else { 0 };
        let finding = loop {
            let finding = self.search(work)?;
            let right = matches!(finding.outcome.status, EntryStatus::AsExpected);
            if right || tries == 0 || self.stop.load(Ordering::Relaxed) {
                break finding;
            }
            tries -= 1;
        };
        let EntryFinding { mut outcome, shown } = finding;
        outcome.took_ns = begun.elapsed().as_nanos() as u64;
        outcome.backend = work.world.name.into();
        outcome.command = shown.as_ref().map_or(String::new(), |(run, _)| run.info.command.clone());
        self.compare(&mut outcome);
        if let (EntryStatus::NotAsExpected(_), Some((run, judgement))) = (&outcome.status, &shown) {
            let mut losses = self.losses.lock().unwrap_or_else(|error| error.into_inner());
            let folder = RunFolder::create(&self.args.store, &run.info, &mut losses)?;
            outcome.folder = folder.as_ref().map(|it| it.path().display().to_string());
            folder.iter().for_each(|folder| folder.write_run(run, judgement, &mut losses));
        }
        Ok(outcome)
    }

    /// Holds the figures of an entry that is as expected against the baseline.
    fn compare(&self, outcome: &mut EntryOutcome) {
        let baseline = self.baseline.as_ref().filter(|_| !self.args.update_baseline);
        let worse = baseline.map_or(Vec::new(), |baseline| baseline.worse(outcome));
        if outcome.status == EntryStatus::AsExpected && !worse.is_empty() {
            outcome.status = EntryStatus::NotAsExpected(worse.join("; "));
        }
    }

    /// Returns the number of schedules of an entry in the simulator: what is rare is not seen in
    /// fewer than its own.
    fn seeds(&self, entry: &SuiteEntry) -> u64 {
        let least = if entry.rare { entry.seeds } else { 0 };
        self.args.seeds.map_or(entry.seeds, |seeds| seeds.max(least))
    }

    fn search(&self, Work { entry, world, obstacle }: &Work) -> Result<EntryFinding, Failure> {
        if let Some(reason) = obstacle {
            return Ok(EntryFinding::inconclusive(entry, reason.clone()));
        }
        let real = world.is_real();
        let seeds = if real { entry.real } else { self.seeds(entry) };
        // A lock that must hold is held against one run on real servers.
        let seeds = if real && !entry.expect.is_violation() { 1 } else { seeds };
        let setup = |seed| if real { entry.on_servers(seed) } else { entry.simulated(seed) };
        let run = |setup: &Setup| {
            let mut watcher = UntilStopped(self.stop);
            let made = run::run(setup, world, Means::in_memory(&mut watcher))?;
            made.whole().map(|(run, _)| run)
        };
        let found = search(entry, seeds, setup, run);
        found.map_err(|error| Failure::could_not(format!("{}: {error}", entry.name)))
    }

    fn take(&self, number: usize, outcome: EntryOutcome) {
        let line = report::line(&outcome);
        if self.args.format == Format::Human && !output_style::quiet() {
            let printed = self.bar.suspend(|| say(&line));
            self.losses.lock().unwrap_or_else(|error| error.into_inner()).note(printed);
        }
        self.bar.inc(1);
        self.done.lock().unwrap_or_else(|error| error.into_inner())[number] = Some(outcome);
    }

    /// Tells and writes the results.
    fn end(self, begun: Instant) -> Result<Exit, Failure> {
        if let Some(failure) = self.failed.into_inner().unwrap_or_else(|it| it.into_inner()) {
            return Err(failure);
        }
        let done = self.done.into_inner().unwrap_or_else(|error| error.into_inner());
        let left_out = done.iter().filter(|outcome| outcome.is_none()).count();
        let done = done.into_iter().flatten().collect();
        let results = report::SuiteResults::of(done, left_out, begun.elapsed());
        let mut losses = self.losses.into_inner().unwrap_or_else(|error| error.into_inner());
        if self.args.update_baseline
            && let Some((file, mut baseline)) = self.args.baseline.as_ref().zip(self.baseline)
        {
            results.entries().iter().for_each(|outcome| baseline.note(outcome));
            losses.note(super::judge::json(&baseline).and_then(|text| write_whole(file, &text)));
        }
        losses.write([
            (&self.args.out, results.json()),
            (&self.args.junit, results.junit()),
            (&self.args.summary, results.markdown()),
        ]);
        losses.note(match self.args.format {
            Format::Human => say(&results.human()),
            Format::Json => results.json().and_then(|text| say(&text)),
        });
        if self.stop.load(Ordering::Relaxed) {
            return Err(Failure::interrupted("interrupted; everything is healed and removed"));
        }
        Ok(match (results.exit(), losses.is_empty()) {
            (Exit::Violated, _) => {
                losses.tell();
                Exit::Violated
            }
            (exit, true) => exit,
            (_, false) => {
                losses.tell();
                Exit::CouldNotRun
            }
        })
    }
}
