//! `picklock explore`: many schedules of one lock in the simulator, and what they show.

use anyhow::Context;
use base::Outcome;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reports::units::{count, counted};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Failure, interruptible, judge::say, replay};
use crate::Exit;
use crate::cli::{ExploreArgs, Format};
use crate::explore::{Search, Searched, Tally, search};
use crate::schedule::{CutShort, Schedule, Shows, Shrunk, is_small, shrink, size};
use crate::setup::{Options, Setup};
use crate::simulate;

pub fn run(args: &ExploreArgs) -> Result<Exit, Failure> {
    if args.exhaustive.exhaustive {
        return super::exhaustive::run(args);
    }
    let options = args.options();
    Setup::new(options.clone()).map_err(Failure::arguments)?;
    let last = args.first_seed.checked_add(args.seeds);
    let last = last.ok_or_else(|| Failure::arguments("--first-seed and --seeds are too large"))?;
    if args.seeds == 0 || args.jobs == Some(0) {
        return Err(Failure::arguments("--seeds and --jobs must be at least 1"));
    }
    if let Some(out) = &args.out {
        writable(out)?;
    }
    let stop = interruptible()?;
    let seeds = args.shard.part(args.first_seed, last - args.first_seed);
    let bar = progress_bar(seeds.end - seeds.start);
    let what = Search {
        options: &options,
        seeds,
        jobs: args.jobs.unwrap_or_else(cores),
        until_found: args.until_found,
        stop: &stop,
    };
    let tally = search(&what, &|done| bar.inc(done)).map_err(Failure::could_not)?;
    bar.finish_and_clear();
    let exit = tell(&tally, args.format, args.out.as_deref())?;
    if args.shrink || (args.until_found && exit == Exit::Violated) {
        shrink_all(&tally, &options, args, &stop)?;
    }
    if stop.load(Ordering::Relaxed) && exit != Exit::Violated {
        return Err(Failure::could_not("interrupted; this is what was searched so far"));
    }
    Ok(exit)
}

/// Shrinks the first schedule of each anomaly and stores it.
fn shrink_all(
    tally: &Tally,
    options: &Options,
    args: &ExploreArgs,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    for (anomaly, sighting) in &tally.anomalies {
        let shows = Shows { property: sighting.property.clone(), anomaly: anomaly.clone() };
        let Shrunk { schedule, tried, cut_short } =
            shrink_best(&shows, &sighting.seeds, options, stop)?;
        // What was interrupted must not take the place of a smaller one that stands there.
        if stop.load(Ordering::Relaxed) {
            note(args, &format!("shrinking {anomaly} was interrupted; nothing was stored"));
            break;
        }
        if cut_short == Some(CutShort::Bound) {
            let tried = count(tried);
            note(args, &format!("shrinking {anomaly} ended at its bound, {tried} runs in all"));
        }
        let folder = &args.counterexamples;
        let Searched { algo, nemesis, .. } = &tally.searched;
        let name = format!("{algo}+{nemesis}+{}.json", anomaly.replace(' ', "-"));
        let path = folder.join(name);
        std::fs::create_dir_all(folder)
            .and_then(|()| write_whole(&path, &schedule.to_json()))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        if args.format == Format::Human {
            let told = replay::told(&schedule).map_err(Failure::could_not)?;
            let path = path.display();
            say(&format!("\n{told}shrunk in {} runs; picklock replay {path}\n", count(tried)));
        }
    }
    Ok(())
}

/// Says something in the result where people read that, else beside it.
fn note(args: &ExploreArgs, what: &str) {
    match args.format {
        Format::Human => say(&format!("\n{what}\n")),
        Format::Json => eprintln!("picklock: {what}"),
    }
}

/// Once a small and robust schedule was found, no more than about so many runs look for a smaller one.
const ENOUGH_RUNS: u64 = 5_000;

/// Shrinks the schedule of each of these seeds and takes the best: some are stuck earlier than others,
/// and some hang on a hair.
fn shrink_best(
    shows: &Shows,
    seeds: &[u64],
    options: &Options,
    stop: &AtomicBool,
) -> Result<Shrunk, Failure> {
    let bar = spinner(format!("shrinking {}", shows.anomaly));
    let mut all = Vec::new();
    let mut tried = 0;
    for seed in seeds {
        let options = Options { seed: *seed, ..options.clone() };
        let setup = Setup::new(options).map_err(Failure::arguments)?;
        let (_, schedule) =
            simulate::record(&setup).map_err(|error| Failure::could_not(error.to_string()))?;
        let shrunk = shrink(&schedule, shows, &mut |now| {
            bar.set_position(tried + now);
            !stop.load(Ordering::Relaxed)
        });
        let shrunk = shrunk.map_err(Failure::could_not)?;
        tried += shrunk.tried;
        all.push(shrunk);
        let is_good = |schedule: &Schedule| is_small(schedule) && schedule.is_robust();
        let enough = tried >= ENOUGH_RUNS && all.iter().any(|shrunk| is_good(&shrunk.schedule));
        if enough || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    bar.finish_and_clear();
    let rank = |s: &Schedule| (!is_small(s), !s.is_robust(), size(s));
    let best = all.into_iter().min_by_key(|shrunk| rank(&shrunk.schedule));
    let best = best.expect("an anomaly was seen by some seed");
    Ok(Shrunk { tried, ..best })
}

fn spinner(what: String) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = "{elapsed_precise} {spinner} {msg}, {human_pos} schedules tried";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar
}

/// Writes a file whole or not at all.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension("part");
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn progress_bar(schedules: u64) -> ProgressBar {
    let bar = ProgressBar::new(schedules);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = "{elapsed_precise} [{bar:30}] {human_pos}/{human_len} schedules, {per_sec}, \
                 {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar
}

/// Finds out before the search whether its result can be written after it.
pub fn writable(out: &Path) -> Result<(), Failure> {
    let folder = match out.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    match folder.is_dir() && !out.is_dir() {
        true => Ok(()),
        false => Err(Failure::could_not(format!(
            "cannot write `{}`: name a file in a folder that exists with --out",
            out.display()
        ))),
    }
}

/// A result as JSON, written to a file if one is named.
pub fn stored(result: &impl Serialize, out: Option<&Path>) -> Result<String, Failure> {
    let json = serde_json::to_string_pretty(result).context("cannot write the result")? + "\n";
    if let Some(out) = out {
        write_whole(out, &json).with_context(|| format!("cannot write `{}`", out.display()))?;
    }
    Ok(json)
}

/// Prints a result and stores it. The exit code is its answer.
pub fn tell(tally: &Tally, format: Format, out: Option<&Path>) -> Result<Exit, Failure> {
    let json = stored(tally, out)?;
    match format {
        Format::Json => say(&json),
        Format::Human => say(&summary(tally)),
    }
    Ok(tally.outcome().into())
}

/// The result, for people.
fn summary(tally: &Tally) -> String {
    let Tally { held, violated, inconclusive, .. } = *tally;
    let what = &tally.searched;
    let schedules = tally.schedules();
    let nemesis = match what.nemesis.as_str() {
        "none" => "without faults".to_owned(),
        nemesis => format!("under {nemesis}"),
    };
    let mut text = format!(
        "picklock {}: {} {nemesis}, {} in the simulator ({})\n\n",
        tally.picklock,
        what.algo,
        counted(schedules, "schedule", "schedules"),
        seeds(tally),
    );
    text.push_str(&format!(
        "held {}, violated {}, inconclusive {}\n",
        count(held),
        count(violated),
        count(inconclusive)
    ));
    if let Some(to_first) = tally.to_first() {
        let share = 100.0 * violated as f64 / schedules as f64;
        text.push_str(&format!(
            "the first violation came after {}; {share:.1} % of all violate\n",
            counted(to_first, "schedule", "schedules"),
        ));
    }
    text.push_str(&anomalies(tally));
    text.push('\n');
    text.push_str(&last_line(tally));
    text
}

/// What was seen; a reason that several share is told once.
fn anomalies(tally: &Tally) -> String {
    let mut text = String::new();
    let width = tally.anomalies.keys().map(String::len).max().unwrap_or(0);
    let mut told: Vec<&str> = Vec::new();
    for (name, sighting) in &tally.anomalies {
        let expected = if sighting.known.is_some() { "expected" } else { "NOT EXPECTED" };
        text.push_str(&format!(
            "\n  {name:width$}  in {}, first by seed {} ({}), {expected}",
            counted(sighting.schedules, "schedule", "schedules"),
            sighting.seeds.first().copied().unwrap_or_default(),
            sighting.property,
        ));
        told.extend(sighting.known.as_deref());
    }
    told.sort_unstable();
    told.dedup();
    for why in told {
        text.push_str(&format!("\n  {why}"));
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn seeds(tally: &Tally) -> String {
    let range = |range: &std::ops::Range<u64>| format!("{} to {}", range.start, range.end - 1);
    match tally.seeds.as_slice() {
        [] => "no seed".into(),
        ranges => format!("seeds {}", ranges.iter().map(range).collect::<Vec<_>>().join(", ")),
    }
}

fn last_line(tally: &Tally) -> String {
    match (tally.outcome(), tally.bound()) {
        (Outcome::Violated, _) => {
            let surprises: Vec<&str> = tally
                .anomalies
                .iter()
                .filter(|(_, sighting)| sighting.known.is_none())
                .map(|(name, _)| name.as_str())
                .collect();
            match surprises.is_empty() {
                true => "VIOLATED, as is known of this lock\n".into(),
                false => format!("VIOLATED, not expected: {}\n", surprises.join(", ")),
            }
        }
        (Outcome::Held, Some(bound)) => format!(
            "HELD: fewer than {:.3} % of such schedules break a promise, with 95 % confidence\n",
            bound * 100.0
        ),
        _ => "INCONCLUSIVE: most schedules could not have failed; give more time, clients or \
              holds\n"
            .into(),
    }
}
