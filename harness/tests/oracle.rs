//! An oracle for causes, by counterfactual: of a run under several nemeses at once, the schedule of
//! each anomaly is shrunk for as long as it has its cause. What is left has to be such that without
//! its ledger, from its faults alone, that cause is possible. A cause that needs a fault keeps one,
//! and the recipe needs none: faults that cannot be taken out are its true cause.
//!
//! `PICKLOCK_ORACLE` sets another number of runs than 100, `PICKLOCK_FIRST` the first of them.

use base::{Anomaly, Cause, Rng, Run, RunSpec, Task};
use checkers::Judgement;
use picklock::schedule::{Schedule, Shows};
use picklock::setup::{Setup, check_eviction, check_primary, check_servers, check_task};
use picklock::shrink::{Shrunk, shrink};
use picklock::simulate;
use std::collections::BTreeSet;
use std::env::var;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use workloads::TASKS;
use workloads::TestedLock;

/// The most schedules that are run to shrink one; and where that leaves a cause in doubt.
const MOST_SHRINKING: [u64; 2] = [300, 12_000];

/// The runs without faults in which an anomaly is looked for that the recipe is said to allow.
const FAULTLESS: u64 = 200;

fn number(variable: &str, usual: u64) -> u64 {
    var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Draws a lock, a task and up to three nemeses. `None`: they do not go together.
fn drawn(seed: u64) -> Option<(TestedLock, RunSpec)> {
    let mut rng = Rng::new(seed);
    let lock = rng.pick(workloads::LOCKS)?.lock();
    let task: &'static Task = rng.pick(TASKS)?;
    let count = 1 + rng.below(3);
    let names: Vec<&str> =
        (0..count).filter_map(|_| Some(rng.pick(nemesis::NEMESES)?.name)).collect();
    let names = names.join(",");
    let run = RunSpec { swarm: true, task: task.name.into(), ..lock.info.run(&names, seed) };
    let told = task.name != "reenter" || lock.info.promises.reentrant;
    check_task(&lock, task).ok().filter(|()| told)?;
    check_eviction(&lock, &names).ok()?;
    check_primary(&lock, &run).ok()?;
    check_servers(&lock, &run).ok()?;
    Some((lock, run))
}

/// The anomalies of a run, with their causes.
fn anomalies(run: &Run) -> Vec<(String, Anomaly)> {
    let verdicts = Judgement::of(run).verdicts.into_iter();
    verdicts
        .flat_map(|it| it.anomalies.into_iter().map(move |a| (it.property.clone(), a)))
        .collect()
}

/// Returns what is wrong with a cause, in words.
fn wrong(lock: &TestedLock, schedule: &Schedule, shows: &Shows, cause: Cause) -> Option<String> {
    let shrunk = |most| shrink(lock, schedule, shows, &mut |tried| tried < most).ok();
    let judged = |most| doubt(lock, &shrunk(most)?, shows, cause);
    MOST_SHRINKING.into_iter().try_fold(String::new(), |_, most| judged(most))
}

/// Returns what is wrong with a cause of which this schedule is left, in words.
fn doubt(
    lock: &TestedLock,
    Shrunk { schedule, .. }: &Shrunk,
    shows: &Shows,
    cause: Cause,
) -> Option<String> {
    let faults: Vec<String> = schedule.faults.iter().map(|it| it.fault.to_string()).collect();
    // Who starves goes by how long others hold and wait, which faults make longer.
    let may_take_faults = shows.anomaly == "starvation";
    if cause == Cause::Recipe
        && !faults.is_empty()
        && !may_take_faults
        && !shows_without_faults(lock, schedule, shows)
    {
        return Some(format!("the recipe is blamed, and it takes {}", faults.join(", ")));
    }
    if cause.needs_fault() && faults.is_empty() {
        return Some("no fault is left".into());
    }
    let run = simulate::replay(lock, schedule).ok()?;
    let possible = anomalies(&Run { ledger: None, ..run });
    let possible: BTreeSet<Cause> = possible
        .iter()
        .filter(|(_, anomaly)| anomaly.name == shows.anomaly)
        .flat_map(|(_, anomaly)| anomaly.cause.iter())
        .collect();
    // Where nobody tells a place in the queue, the ledger alone knows of one that has none.
    let is_possible =
        possible.is_empty() || cause == Cause::NothingTaken || possible.contains(&cause);
    (!is_possible).then(|| format!("{} cannot bring it about", faults.join(", ")))
}

/// Returns true if other runs of the same kind show the anomaly without any fault: faults may have
/// done no more than to bring its clients together.
fn shows_without_faults(lock: &TestedLock, schedule: &Schedule, shows: &Shows) -> bool {
    let is_shown = |seed| {
        let RunSpec { task, topology, .. } = schedule.run.clone();
        let run = RunSpec { swarm: true, task, topology, ..lock.info.run("none", seed) };
        let setup = Setup::new(lock, run).ok()?;
        Some(shows.is_in(&simulate::run(&setup).ok()?))
    };
    (0..FAULTLESS).any(|seed| is_shown(seed) == Some(true))
}

/// Counts of what was judged, and the mistakes, each with its command.
#[derive(Default)]
struct Tally {
    runs: u64,
    judged: u64,
    mistakes: Vec<String>,
}

/// Judges each cause of the run of a seed.
fn judge(seed: u64, tally: &Mutex<Tally>) {
    let Some((lock, spec)) = drawn(seed) else { return };
    let Ok(setup) = Setup::new(&lock, spec.clone()) else { return };
    // One that takes too much memory ends early.
    let Ok((run, schedule)) = simulate::record(&setup) else { return };
    let (mut seen, mut mistakes) = (BTreeSet::new(), Vec::new());
    for (property, anomaly) in anomalies(&run) {
        let Some(cause) = anomaly.cause.only() else { continue };
        if !seen.insert((anomaly.name.clone(), cause)) {
            continue;
        }
        let name = anomaly.name;
        let shows = Shows { property, anomaly: name.clone(), cause: Some(cause) };
        if let Some(why) = wrong(&lock, &schedule, &shows, cause) {
            let RunSpec { nemesis, task, .. } = &spec;
            let replay = format!("replay {seed} --algo {} --nemesis {nemesis}", lock.name());
            let mistake =
                format!("picklock {replay} --task {task}: {name} by {}: {why}", cause.name());
            println!("{mistake}");
            mistakes.push(mistake);
        }
    }
    let mut tally = tally.lock().expect("no thread has panicked");
    tally.runs += 1;
    tally.judged += seen.len() as u64;
    tally.mistakes.append(&mut mistakes);
}

#[test]
fn the_cause_of_an_anomaly_is_what_cannot_be_taken_out() {
    let first = number("PICKLOCK_FIRST", 0);
    let end = first + number("PICKLOCK_ORACLE", 100);
    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    let seeds = || std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
    let work = || seeds().take_while(|seed| *seed < end).for_each(|seed| judge(seed, &tally));
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let Tally { runs, judged, mistakes } = tally.into_inner().expect("no thread has panicked");
    println!("{judged} causes of {runs} runs, {} of them wrong", mistakes.len());
    assert!(judged > 0 && mistakes.is_empty(), "{}", mistakes.join("\n"));
}
