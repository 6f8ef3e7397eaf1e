//! `picklock explore`: many schedules of one lock in the simulator, and what they show.

use anyhow::Context;
use base::units::{count, counted};
use base::{Cause, LockInfo, Outcome, RunSpec, visible_json};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use workloads::TestedLock;

use super::{
    Failure, can_be_folder, catalogued, ended, interruptible, note_interruption, with_script,
    writable,
};
use crate::Exit;
use crate::cli::{ExploreArgs, Format};
use crate::explore::{MIN_HELD, Missing, Search, Sighting, Tally, search};
use crate::output::{OutputLosses, note, say, write_whole};
use crate::output_style::{self, quiet, render};
use crate::schedule::{Schedule, Shows};
use crate::setup::{Setup, replay_command};
use crate::shrink::{CutShort, Shrunk, is_robust, is_small, render_story, shrink, size};
use crate::simulate;
use crate::threads::cores;

pub fn run(args: &ExploreArgs) -> Result<Exit, Failure> {
    if args.exhaustive.exhaustive {
        return super::exhaustive::run(args);
    }
    let lock = catalogued(&args.algo)?;
    let run = with_script(args.run(&lock.info), args.script.as_deref())?;
    Setup::new(&lock, run.clone())?;
    let last = args.first_seed.checked_add(args.seeds);
    let last = last.ok_or_else(|| Failure::arguments("--first-seed and --seeds are too large"))?;
    if args.seeds == 0 || args.jobs == Some(0) {
        return Err(Failure::arguments("--seeds and --jobs must be at least 1"));
    }
    writable([(&args.out, "--out")])?;
    if args.shrink || args.until_found {
        can_be_folder(&args.counterexamples, "--counterexamples")?;
    }
    let stop = interruptible()?;
    let part = args.shard.part(args.first_seed..last);
    let seeds = part.seeds();
    let bar = progress_bar(seeds.end - seeds.start);
    let what = Search {
        lock: &lock,
        run: &run,
        part,
        jobs: args.jobs.unwrap_or_else(cores),
        until_found: args.until_found,
        stop: &stop,
    };
    let tally = search(&what, &|done| bar.inc(done)).map_err(Failure::could_not)?;
    bar.finish_and_clear();
    note_interruption(&stop);
    let mut losses = OutputLosses::default();
    tell(&tally, &lock.info, args.format, args.out.as_deref(), &mut losses)?;
    let outcome = tally.outcome();
    if args.shrink || (args.until_found && outcome == Outcome::Violated) {
        shrink_all(&tally, &lock, &run, args, &stop, &mut losses)?;
    }
    Ok(ended(losses.end(outcome), &stop))
}

/// Shrinks the first schedule of each anomaly and stores it.
fn shrink_all(
    tally: &Tally,
    lock: &TestedLock,
    run: &RunSpec,
    args: &ExploreArgs,
    stop: &AtomicBool,
    losses: &mut OutputLosses,
) -> Result<(), Failure> {
    for sighting in &tally.anomalies {
        let Sighting { anomaly, property, cause, .. } = sighting;
        let shows =
            Shows { property: property.clone(), anomaly: anomaly.clone(), cause: cause.only() };
        let Shrunk { schedule, tried, cut_short } =
            shrink_best(&shows, &sighting.seeds, lock, run, stop)?;
        // What was interrupted must not take the place of a smaller one that stands there.
        if stop.load(Ordering::Relaxed) {
            losses.note(tell_of(
                args,
                &format!("shrinking {anomaly} was interrupted; nothing was stored"),
            ));
            break;
        }
        if cut_short == Some(CutShort::Bound) {
            let tried = count(tried);
            losses.note(tell_of(
                args,
                &format!("shrinking {anomaly} ended at its bound, {tried} runs in all"),
            ));
        }
        let folder = &args.counterexamples;
        let (algo, nemesis) = (lock.name(), &run.nemesis);
        let cause = cause.only().map_or("unknown", Cause::name);
        let name = format!("{algo}+{nemesis}+{}+{cause}.json", anomaly.replace(' ', "-"));
        let path = folder.join(name);
        let made = std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()));
        let stored = made.and_then(|()| write_whole(&path, &schedule.to_json()));
        if args.format == Format::Human && !quiet() {
            let story = render_story(lock, &schedule, true, output_style::style())
                .map_err(Failure::could_not)?;
            let again = match &stored {
                Ok(()) => format!(":\n  picklock replay {}", path.display()),
                Err(_) => String::new(),
            };
            let shrunk = format!("shrunk in {}{again}\n", counted(tried, "run", "runs"));
            losses.note(say(&format!("\n{story}\n{}", render(&shrunk))));
        }
        losses.note(stored);
    }
    Ok(())
}

/// Says something in the result where people read that, else beside it.
fn tell_of(args: &ExploreArgs, what: &str) -> anyhow::Result<()> {
    match args.format {
        Format::Human => say(&format!("\n{}", render(what))),
        Format::Json => {
            note(&format!("picklock: {what}"));
            Ok(())
        }
    }
}

/// Once a small and robust schedule was found, no more than about so many runs look for a smaller
/// one.
const ENOUGH_RUNS: u64 = 5_000;

/// Shrinks the schedule of each of these seeds and takes the best: some are stuck earlier than
/// others, and some hang on a hair.
fn shrink_best(
    shows: &Shows,
    seeds: &[u64],
    lock: &TestedLock,
    run: &RunSpec,
    stop: &AtomicBool,
) -> Result<Shrunk, Failure> {
    let bar = spinner(format!("shrinking {}", shows.anomaly));
    let mut all = Vec::new();
    let mut tried = 0;
    for seed in seeds {
        let run = RunSpec { seed: *seed, ..run.clone() };
        let setup = Setup::new(lock, run).map_err(Failure::arguments)?;
        let (_, schedule) = simulate::record(&setup).map_err(Failure::could_not)?;
        let shrunk = shrink(lock, &schedule, shows, &mut |now| {
            bar.set_position(tried + now);
            !stop.load(Ordering::Relaxed)
        });
        let shrunk = shrunk.map_err(Failure::could_not)?;
        tried += shrunk.tried;
        all.push(shrunk);
        let is_good = |schedule: &Schedule| is_small(lock, schedule) && is_robust(lock, schedule);
        let enough = tried >= ENOUGH_RUNS && all.iter().any(|shrunk| is_good(&shrunk.schedule));
        if enough || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    bar.finish_and_clear();
    let rank = |s: &Schedule| (!is_small(lock, s), !is_robust(lock, s), size(s));
    let best = all.into_iter().min_by_key(|shrunk| rank(&shrunk.schedule));
    let best = best.expect("an anomaly was seen by some seed");
    Ok(Shrunk { tried, ..best })
}

fn spinner(what: String) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what);
    bar.set_draw_target(output_style::progress());
    let style = "{elapsed_precise} {spinner} {msg}, {human_pos} schedules tried";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar
}

fn progress_bar(schedules: u64) -> ProgressBar {
    let bar = ProgressBar::new(schedules);
    bar.set_draw_target(output_style::progress());
    let style = "{elapsed_precise} [{bar:30}] {human_pos}/{human_len} schedules, {per_sec}, \
                 {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar
}

/// Prints a result, as text for people or as JSON, and stores it if a file is named.
pub fn tell_result(
    result: &impl Serialize,
    text: impl FnOnce() -> String,
    format: Format,
    out: Option<&Path>,
    losses: &mut OutputLosses,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(result).context("cannot write the result")? + "\n";
    losses.note(match format {
        Format::Json => say(&visible_json(&json)),
        Format::Human => say(&render(&text())),
    });
    if let Some(out) = out {
        losses.note(write_whole(out, &json));
    }
    Ok(())
}

/// Prints what a search found, and stores it.
pub fn tell(
    tally: &Tally,
    lock: &LockInfo,
    format: Format,
    out: Option<&Path>,
    losses: &mut OutputLosses,
) -> Result<(), Failure> {
    tell_result(tally, || summary(tally, lock), format, out, losses)
}

/// The result, for people.
fn summary(tally: &Tally, lock: &LockInfo) -> String {
    let Tally { held, violated, inconclusive, .. } = *tally;
    let what = &tally.searched;
    let schedules = tally.schedules();
    let nemesis = match what.run.nemesis.as_str() {
        "none" => "without faults".to_owned(),
        nemesis => format!("under {nemesis}"),
    };
    let mut text = format!(
        "picklock {}: {} {nemesis}, {} in the simulator ({})\n\n",
        tally.picklock,
        what.algo,
        searched(tally),
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
    text.push_str(&again(tally, lock));
    text.push('\n');
    text.push_str(&last_line(tally));
    text
}

/// Returns the number of schedules, with the number asked for where they are not all.
fn searched(tally: &Tally) -> String {
    let (searched, wanted) = (tally.schedules(), tally.wanted());
    match searched == wanted {
        true => counted(wanted, "schedule", "schedules"),
        false => format!("{} of {}", count(searched), counted(wanted, "schedule", "schedules")),
    }
}

/// Lists the anomalies that were seen, each with its cause; a reason that several share is given
/// once.
fn anomalies(tally: &Tally) -> String {
    let mut text = String::new();
    let width = tally.anomalies.iter().map(|seen| seen.anomaly.len()).max().unwrap_or(0);
    let mut reasons: Vec<&str> = Vec::new();
    for sighting in &tally.anomalies {
        let Sighting { anomaly, cause, known, property, .. } = sighting;
        let expected = if known.is_some() { "expected" } else { "NOT EXPECTED" };
        text.push_str(&format!(
            "\n  {anomaly:width$}  in {}, first by seed {} ({property}), {expected}:\n  {:width$}  \
             {cause}",
            counted(sighting.schedules, "schedule", "schedules"),
            sighting.seeds.first().copied().unwrap_or_default(),
            "",
        ));
        reasons.extend(known.as_deref());
    }
    reasons.sort_unstable();
    reasons.dedup();
    if !reasons.is_empty() {
        text.push('\n');
    }
    for why in reasons {
        text.push_str(&format!("\n  {why}"));
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// The commands that run the first schedule of each anomaly again, and the other first seeds.
fn again(tally: &Tally, lock: &LockInfo) -> String {
    let mut text = String::new();
    let mut printed: Vec<u64> = Vec::new();
    for Sighting { anomaly, cause, seeds, .. } in &tally.anomalies {
        let Some((first, others)) = seeds.split_first() else { continue };
        if printed.contains(first) {
            continue;
        }
        printed.push(*first);
        let run = RunSpec { seed: *first, ..tally.searched.run.clone() };
        let command = replay_command(lock, &run);
        let others: Vec<String> = others.iter().map(u64::to_string).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!(" (also by seeds {})", others.join(", ")),
        };
        let why = if cause.is_unknown() { String::new() } else { format!(", because {cause}") };
        text.push_str(&format!("\nrun again: {anomaly}{why}{others}:\n  {command}\n"));
    }
    text
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
            let surprises = tally.anomalies.iter().filter(|sighting| sighting.known.is_none());
            let mut surprises: Vec<&str> = surprises.map(|s| s.anomaly.as_str()).collect();
            surprises.dedup();
            match surprises.is_empty() {
                true => "VIOLATED, as is known of this lock\n".into(),
                false => format!("VIOLATED, not expected: {}\n", surprises.join(", ")),
            }
        }
        (Outcome::Held, Some(bound)) => format!(
            "HELD: fewer than {:.3} % of such schedules break a promise, with 95 % confidence\n",
            bound * 100.0
        ),
        _ => format!("INCONCLUSIVE: {}\n", why_inconclusive(tally)),
    }
}

/// The number of missing seeds that are named.
const NAMED: usize = 4;

fn why_inconclusive(tally: &Tally) -> String {
    let missing = tally.missing();
    if !missing.is_empty() {
        let named: Vec<String> = missing.iter().take(NAMED).map(missed).collect();
        let more = if missing.len() > NAMED { ", and more" } else { "" };
        return format!("not everything was searched; missing: {}{more}", named.join(", "));
    }
    if tally.held > tally.inconclusive {
        return format!(
            "{} that held say little; it takes {MIN_HELD}: give more --seeds",
            counted(tally.held, "schedule", "schedules")
        );
    }
    "most schedules could not have failed; give more time, clients or holds".into()
}

fn missed(Missing { seeds, shards }: &Missing) -> String {
    let seeds = match seeds.end - seeds.start {
        1 => format!("seed {}", seeds.start),
        _ => format!("seeds {} to {}", seeds.start, seeds.end - 1),
    };
    match shards {
        Some(shards) => format!("{shards} ({seeds})"),
        None => seeds,
    }
}
