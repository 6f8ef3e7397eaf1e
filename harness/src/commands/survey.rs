//! `picklock survey`: the report card of a lock, from runs under every nemesis that matters for it.

#![expect(clippy::disallowed_methods, reason = "measures how long the survey took")]

mod junit;

use base::{Outcome, Run, RunSpec, nanos};
use checkers::Judgement;
use indicatif::{ProgressBar, ProgressStyle};
use nemesis::Nemesis;
use reports::card::{self, Card, CardRow};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use workloads::TestedLock;

use super::judge::json;
use super::{Failure, UntilStopped, can_be_folder, interruptible, tested, writable};
use crate::Exit;
use crate::cli::{Format, SurveyArgs};
use crate::folder::RunFolder;
use crate::options::flags;
use crate::output::{OutputLosses, note, say};
use crate::output_style::{self, hint, quiet, style};
use crate::run::{self, Means};
use crate::setup::{Setup, place};
use crate::threads::{cores, side_by_side};
use crate::worlds::{RunWorld, SIMULATOR, choose, choose_of, real};

/// The nemeses that are tried unless others are asked for: each is another kind of bad luck.
const USUAL: [&str; 12] = [
    "none",
    "pause-client",
    "partition-client",
    "crash-client",
    "link-lose-reply",
    "pause-server",
    "crash-server",
    "crash-server-lose-data",
    "clock-jump-server",
    "evict",
    "failover",
    "partition-server",
];

/// The number of runs at a time for each core: most of a run is waiting.
const SIDE_BY_SIDE: usize = 3;

/// The rows of a terminal that the bar below the table takes, and the one that stays free.
const BELOW_TABLE: usize = 2;

pub fn run(args: &SurveyArgs) -> Result<Exit, Failure> {
    let lock = tested(&args.lock, &args.load.0)?;
    let files = [(&args.html, "--html"), (&args.markdown, "--markdown"), (&args.junit, "--junit")];
    writable(files)?;
    can_be_folder(&args.store, "--store")?;
    let plain = Setup::new(&lock, of(args, &lock, "none", 0))?;
    let world = world(args, &plain)?;
    (world.prepare)(&hint).map_err(Failure::could_not)?;
    let nemeses = nemeses(args, &lock, world)?;
    let runs = args.runs.unwrap_or(match (args.deep, world.is_real()) {
        (true, _) => 5,
        (false, true) => 2,
        (false, false) => 20,
    });
    let about =
        |name: &str| Nemesis::ALL.iter().find(|it| it.name() == name).map_or("", |it| it.summary());
    let rows = nemeses.iter().map(|name| CardRow::of(name, about(name))).collect();
    let stop = interruptible()?;
    let survey = Survey {
        args,
        lock: &lock,
        world,
        stop: &stop,
        // Every nemesis once, then all of them again: what was seen by an early end is of all.
        work: (0..runs).flat_map(|seed| (0..nemeses.len()).map(move |row| (row, seed))).collect(),
        next: AtomicUsize::new(0),
        card: Mutex::new(Card {
            rows,
            ..Card::of(&plain.info_for(world.name), command(args, &lock, world))
        }),
        failed: Mutex::new(None),
        losses: Mutex::new(OutputLosses::default()),
        bar: progress_bar(runs * nemeses.len() as u64),
    };
    survey.make()
}

/// Returns the run under a nemesis.
fn of(args: &SurveyArgs, lock: &TestedLock, nemesis: &str, seed: u64) -> RunSpec {
    let run = args.servers.under(args.load.0.run(&lock.info, nemesis, seed));
    match args.load.0.has("time-limit") {
        true => run,
        false => {
            let time_limit = (run.ttl() * 6).max(Duration::from_secs(6));
            RunSpec { time_limit_ns: nanos(time_limit), ..run }
        }
    }
}

/// Returns the world of the survey: processes start faster than containers.
fn world(args: &SurveyArgs, setup: &Setup) -> Result<&'static RunWorld, Failure> {
    if args.backend.0.is_some() || !setup.world.given.is_empty() {
        return choose(args.backend.0, &setup.world, &setup.needs()).map_err(Into::into);
    }
    let mut worlds: Vec<&RunWorld> = real().collect();
    worlds.sort_by_key(|world| world.is_made);
    match choose_of(&worlds, setup) {
        Ok(world) => Ok(world),
        Err(reasons) if setup.world.client.is_some() => Err(Failure::could_not(reasons)),
        Err(reasons) => {
            hint(&format!("surveying in the simulator: {reasons}"));
            Ok(SIMULATOR)
        }
    }
}

/// Returns the nemeses to try; those that were asked for must be possible, the others are left out
/// where they are not.
fn nemeses(
    args: &SurveyArgs,
    lock: &TestedLock,
    world: &'static RunWorld,
) -> Result<Vec<&'static str>, Failure> {
    let setup = |name: &str| Setup::new(lock, of(args, lock, name, 0));
    for name in &args.nemesis {
        let setup = setup(name)?;
        choose(Some(world), &setup.world, &setup.needs())?;
    }
    let known = nemesis::NEMESES.iter().map(|nemesis| nemesis.name);
    let is_possible =
        |name: &&str| setup(name).is_ok_and(|it| world.lack(lock.store(), &it.needs()).is_none());
    let is_wanted = |name: &&str| match args.nemesis.is_empty() {
        false => args.nemesis.iter().any(|asked| asked == name),
        true => (args.deep || USUAL.contains(name)) && is_possible(name),
    };
    Ok(known.filter(is_wanted).collect())
}

/// Returns the command that makes the card again.
fn command(args: &SurveyArgs, lock: &TestedLock, world: &RunWorld) -> String {
    let run = of(args, lock, "none", 0);
    let place = place(&run, world.name);
    let nemeses = match args.nemesis.as_slice() {
        [] => String::new(),
        nemeses => format!(" --nemesis {}", nemeses.join(",")),
    };
    let deep = if args.deep { " --deep" } else { "" };
    let runs = args.runs.map(|runs| format!(" --runs {runs}")).unwrap_or_default();
    let flags = flags(&run, &lock.info);
    format!("picklock survey {}{nemeses}{deep}{runs} {place}{flags}", lock.info.named())
}

fn progress_bar(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    bar.set_draw_target(output_style::progress());
    let style = "{prefix}{elapsed_precise} [{bar:30}] {pos}/{len} runs {msg}";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// A survey on its way.
struct Survey<'a> {
    args: &'a SurveyArgs,
    lock: &'a TestedLock,
    world: &'static RunWorld,
    stop: &'a AtomicBool,
    /// The runs: the row of the card, and the seed.
    work: Vec<(usize, u64)>,
    next: AtomicUsize,
    card: Mutex<Card>,
    /// The reason why a run could not be made.
    failed: Mutex<Option<String>>,
    losses: Mutex<OutputLosses>,
    bar: ProgressBar,
}

impl Survey<'_> {
    fn make(self) -> Result<Exit, Failure> {
        let begun = Instant::now();
        let jobs = self.args.jobs.map_or(cores() * SIDE_BY_SIDE, |jobs| jobs as usize);
        side_by_side(jobs.min(self.work.len()), || self.go_on());
        self.bar.finish_and_clear();
        self.end(begun)
    }

    fn go_on(&self) {
        while !self.stop.load(Ordering::Relaxed) && held(&self.failed).is_none() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((row, seed)) = self.work.get(number) else { return };
            if let Err(why) = self.one(*row, *seed)
                && !self.stop.load(Ordering::Relaxed)
            {
                held(&self.failed).get_or_insert(why);
            }
            self.bar.inc(1);
        }
    }

    /// Makes a run and adds it to its row.
    fn one(&self, row: usize, seed: u64) -> Result<(), String> {
        let name = held(&self.card).rows[row].nemesis.clone();
        self.bar.set_message(name.clone());
        let run = of(self.args, self.lock, &name, seed);
        let setup = Setup::new(self.lock, run).map_err(|error| error.to_string())?;
        let mut watcher = UntilStopped(self.stop);
        let made = run::run(&setup, self.world, Means::in_memory(&mut watcher));
        let run = made.and_then(run::MadeRun::whole).map_err(|error| error.to_string())?.0;
        let judgement = Judgement::of(&run);
        let Judgement { verdicts, outcome, .. } = &judgement;
        if held(&self.card).rows[row].add(&run.info, verdicts, *outcome) {
            let report = self.keep(&run, &judgement).map_err(|error| error.to_string())?;
            held(&self.card).rows[row].report = report;
        }
        self.show();
        Ok(())
    }

    /// Shows the table as far as it has been filled, above the bar, where there is room for it.
    fn show(&self) {
        let card = held(&self.card);
        let Some((columns, rows)) = output_style::screen() else { return };
        // The last column stays free: some terminals begin a new line behind it.
        let table = card::table(&card, style(), columns.saturating_sub(1));
        let is_narrow = card.rows.iter().any(|row| row.nemesis.len() >= columns);
        if table.len() + BELOW_TABLE <= rows && !is_narrow {
            self.bar.set_prefix(table.join("\n") + "\n");
        }
    }

    /// Writes a run into a folder of its own; returns its report.
    fn keep(&self, run: &Run, judgement: &Judgement) -> anyhow::Result<Option<String>> {
        let mut losses = held(&self.losses);
        let folder = RunFolder::create(&self.args.store, &run.info, &mut losses)?;
        folder.iter().for_each(|folder| folder.write_run(run, judgement, &mut losses));
        Ok(folder.map(|folder| folder.file("report.html").display().to_string()))
    }

    /// Tells and writes the card.
    fn end(self, begun: Instant) -> Result<Exit, Failure> {
        let mut card = self.card.into_inner().unwrap_or_else(|it| it.into_inner());
        let mut losses = self.losses.into_inner().unwrap_or_else(|it| it.into_inner());
        card.took_ns = begun.elapsed().as_nanos() as u64;
        let interrupted = self.stop.load(Ordering::Relaxed);
        if let Some(why) = self.failed.into_inner().unwrap_or_else(|it| it.into_inner()) {
            return Err(Failure::could_not(why));
        }
        if interrupted {
            note(&format!("picklock: interrupted; {} of {} runs", card.runs(), self.work.len()));
            card.rows.retain(|row| row.runs > 0);
            card.interrupted_of = Some(self.work.len() as u64);
        }
        let junit = junit::of(&card, interrupted);
        losses.write([
            (&self.args.html, Ok(card::page(&card))),
            (&self.args.markdown, Ok(card::markdown(&card))),
            (&self.args.junit, junit),
        ]);
        losses.note(match self.args.format {
            Format::Human if quiet() => say(&card::last_line(&card, style())),
            Format::Human => say(&card::terminal(&card, style())),
            Format::Json => json(&card).and_then(|text| say(&text)),
        });
        let outcome = match self.args.allow_known {
            true => card.outcome_beyond_known(),
            false => card.outcome(),
        };
        Ok(match outcome {
            _ if !losses.is_empty() => losses.end(outcome),
            Outcome::Violated => Exit::Violated,
            _ if interrupted => Exit::Interrupted,
            outcome => losses.end(outcome),
        })
    }
}

/// Locks a part of a survey, which is whole at every moment.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}
