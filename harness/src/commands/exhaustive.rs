//! `picklock explore --exhaustive`: every schedule of a few clients, and what they show.

use base::units::{count, counted};
use base::{RunSpec, Task, UNLIMITED_NS};
use indicatif::{ProgressBar, ProgressStyle};
use sim::exhaustive::{EnumerationCase, Extent, SearchProgress};
use std::sync::atomic::Ordering;
use stores::Shape;

use super::explore::tell_result;
use super::{Failure, ended, interruptible, note_interruption, writable};
use crate::Exit;
use crate::cli::ExploreArgs;
use crate::exhaustive::{Enumerated, Enumeration, Finding, Found};
use crate::nearest::Unlisted;
use crate::output::OutputLosses;
use crate::output_style;
use crate::setup::{check_task, task};
use error::EnumerationError;

mod error;

pub fn run(args: &ExploreArgs) -> Result<Exit, Failure> {
    let enumeration = enumeration(args).map_err(Failure::arguments)?;
    writable([(&args.out, "--out")])?;
    let stop = interruptible()?;
    let spinner = spinner();
    let found = enumeration.search(args.exhaustive.states, &mut |progress| {
        spinner.set_message(message(progress));
        spinner.tick();
        !stop.load(Ordering::Relaxed)
    });
    spinner.finish_and_clear();
    let enumerated = Enumerated::new(enumeration.case().clone(), found);
    let text = || summary(&enumeration, &enumerated.found);
    note_interruption(&stop);
    let mut losses = OutputLosses::default();
    tell_result(&enumerated, text, args.format, args.out.as_deref(), &mut losses)?;
    Ok(ended(losses.end(enumerated.outcome()), &stop))
}

/// Returns the enumeration that the arguments ask for.
fn enumeration(args: &ExploreArgs) -> Result<Enumeration, EnumerationError> {
    let all = || workloads::LOCKS.iter().map(|lock| lock.name);
    let lock = workloads::lock(&args.algo);
    let lock = lock.ok_or_else(|| Unlisted::new("lock", &args.algo, all()))?;
    if lock.info.shape == Shape::Several {
        let servers = lock.topology().servers();
        return Err(EnumerationError::Servers { lock: lock.name().into(), servers });
    }
    if lock.info.promises.permits > 1 {
        return Err(EnumerationError::Permits { lock: lock.name().into() });
    }
    let more = &args.exhaustive;
    let run = args.load.apply(RunSpec { clients: 2, ..lock.info.run("none", 0) });
    let within = |flag, given: u64, most: u64| match (1..=most).contains(&given) {
        true => Ok(()),
        false => Err(EnumerationError::OutOfRange { flag, given, most }),
    };
    within("--clients", run.clients.into(), 4)?;
    within("--cycles", more.cycles.into(), 4)?;
    within("--keys", run.keys.into(), run.clients.into())?;
    within("--states", more.states, 1_000_000_000)?;
    if more.faults > 4 {
        return Err(EnumerationError::Faults(more.faults));
    }
    let task = task(&run)?;
    if task.workers > 1 {
        return Err(EnumerationError::Workers { task: task.name, workers: task.workers });
    }
    check_task(&lock, task)?;
    let enumeration = Enumeration::new(lock).with(|case| {
        case.clients = run.clients;
        case.cycles = more.cycles;
        case.keys = run.keys;
        case.unlimited = run.ttl_ns == UNLIMITED_NS;
        case.faults = more.faults;
        case.kinds = more.kinds.iter().map(|kind| (*kind).into()).collect();
    });
    Ok(enumeration.of(task))
}

fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    spinner.set_draw_target(output_style::progress());
    let style = "{elapsed_precise} {spinner} {msg}";
    spinner.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    spinner
}

fn message(progress: SearchProgress) -> String {
    let SearchProgress { depth, states, width } = progress;
    let states = counted(states, "state", "states");
    format!("{states}, {depth} steps deep, {} to go on from", count(width))
}

/// The result, for people.
fn summary(enumeration: &Enumeration, found: &Found) -> String {
    let extent = &found.extent;
    let mut text = format!(
        "picklock {}: {}\n\n{} and {} between them, {} of which led to a state that was known; {}\n",
        env!("CARGO_PKG_VERSION"),
        what(enumeration.case()),
        counted(extent.states, "state", "states"),
        counted(extent.transitions, "step", "steps"),
        count(extent.merged),
        schedules(extent),
    );
    for finding in &found.findings {
        text.push_str(&counterexample(enumeration, finding, found));
    }
    text.push('\n');
    text.push_str(match (extent.exhausted, found.findings.is_empty()) {
        (true, true) => "HELD: the space is exhausted, and no schedule breaks a promise\n",
        (false, true) => {
            "INCONCLUSIVE: the space is not exhausted; give more --states, or fewer clients\n"
        }
        (true, false) => "VIOLATED; the space is exhausted\n",
        (false, false) => "VIOLATED; the space is not exhausted\n",
    });
    text
}

/// Describes the enumerated case in words.
fn what(case: &EnumerationCase) -> String {
    let clients = counted(case.clients.into(), "client", "clients");
    let cycles = match case.cycles {
        1 => "once".into(),
        2 => "twice".into(),
        n => format!("{n} times"),
    };
    let keys = if case.keys > 1 { format!(" for {} keys", case.keys) } else { String::new() };
    let faults = match case.faults {
        0 => "without faults".into(),
        n => {
            let kinds: Vec<String> =
                case.kinds.iter().map(|kind| format!("{kind:?}").to_lowercase()).collect();
            format!("with at most {} ({})", counted(n.into(), "fault", "faults"), kinds.join(", "))
        }
    };
    let ttl = if case.unlimited { ", ttl unlimited" } else { "" };
    let task = if case.task == Task::CONTEND.name { "ask" } else { &case.task };
    format!("{}, every schedule of {clients} that {task} {cycles}{keys}, {faults}{ttl}", case.algo)
}

fn schedules(extent: &Extent) -> String {
    let depth = counted(extent.depth, "step", "steps");
    let schedules = match u64::try_from(extent.schedules) {
        Ok(few) if few < 1_000_000_000_000 => counted(few, "schedule", "schedules"),
        _ => format!("{:.1e} schedules", extent.schedules as f64),
    };
    format!("they stand for {schedules} of at most {depth}")
}

/// The shortest way to an anomaly, step by step; of one that follows from another one,
/// only its length.
fn counterexample(enumeration: &Enumeration, finding: &Finding, found: &Found) -> String {
    let Finding { anomaly, steps, states, .. } = finding;
    let seen = counted(*states, "state", "states");
    let title = format!("\n{anomaly}: shows in {seen}, first after {steps} steps");
    let overlaps = |f: &Finding| f.property == "exclusion" && f.cause == finding.cause;
    if finding.property == "vault" && found.findings.iter().any(overlaps) {
        return format!("{title}; it comes of the overlap\n{}\n", because(finding));
    }
    let title = format!("{title}\n{}", because(finding));
    let lines = match enumeration.replay(&finding.schedule) {
        Ok((story, _)) => story.lines,
        Err(step) => vec![format!("its schedule does not replay from step {step}: a bug")],
    };
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}\n")).collect();
    title + "\n" + &lines.concat()
}

/// Tells whether a finding was to be expected, and its cause.
fn because(finding: &Finding) -> String {
    match (finding.cause, &finding.known) {
        (cause, _) if cause.is_unknown() => {
            "  not expected of this lock, and its cause could not be found".into()
        }
        (cause, Some(why)) => format!("  expected, because {cause}: {why}"),
        (cause, None) => format!("  not expected of this lock: {cause}"),
    }
}
