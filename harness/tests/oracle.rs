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
use workloads::TASKS;
use workloads::TestedLock;

/// The most schedules that are run to shrink one.
const MOST_SHRINKING: u64 = 600;

fn number(variable: &str, usual: u64) -> u64 {
    var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Draws a lock, a task and up to three nemeses. `None`: they do not go together.
fn drawn(seed: u64) -> Option<(TestedLock, RunSpec)> {
    let mut rng = Rng::new(seed);
    let lock = rng.pick(workloads::LOCKS)?.lock();
    let task: &'static Task = rng.pick(TASKS).filter(|task| task.workers == 1)?;
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
    let Shrunk { schedule, .. } =
        shrink(lock, schedule, shows, &mut |tried| tried < MOST_SHRINKING).ok()?;
    let faults: Vec<String> = schedule.faults.iter().map(|it| it.fault.to_string()).collect();
    if cause == Cause::Recipe && !faults.is_empty() {
        return Some(format!("the recipe is blamed, and it takes {}", faults.join(", ")));
    }
    if cause.needs_fault() && faults.is_empty() {
        return Some("no fault is left".into());
    }
    let run = simulate::replay(lock, &schedule).ok()?;
    let possible = anomalies(&Run { ledger: None, ..run });
    let possible: BTreeSet<Cause> = possible
        .iter()
        .filter(|(_, anomaly)| anomaly.name == shows.anomaly)
        .flat_map(|(_, anomaly)| anomaly.cause.iter())
        .collect();
    let is_possible = possible.is_empty() || possible.contains(&cause);
    (!is_possible).then(|| format!("{} cannot bring it about", faults.join(", ")))
}

#[test]
fn the_cause_of_an_anomaly_is_what_cannot_be_taken_out() {
    let first = number("PICKLOCK_FIRST", 0);
    let (mut runs, mut judged, mut mistakes) = (0, 0, Vec::new());
    for seed in first..first + number("PICKLOCK_ORACLE", 100) {
        let Some((lock, spec)) = drawn(seed) else { continue };
        let Ok(setup) = Setup::new(&lock, spec.clone()) else { continue };
        let (run, schedule) = simulate::record(&setup).expect("the simulator runs");
        runs += 1;
        let mut seen = BTreeSet::new();
        for (property, anomaly) in anomalies(&run) {
            let Some(cause) = anomaly.cause.only() else { continue };
            if !seen.insert((anomaly.name.clone(), cause)) {
                continue;
            }
            judged += 1;
            let name = anomaly.name;
            let shows = Shows { property, anomaly: name.clone(), cause: Some(cause) };
            if let Some(why) = wrong(&lock, &schedule, &shows, cause) {
                let replay = format!(
                    "picklock replay {seed} --algo {} --nemesis {} --task {}",
                    lock.name(),
                    spec.nemesis,
                    spec.task
                );
                mistakes.push(format!("{replay}: {name} by {}: {why}", cause.name()));
            }
        }
    }
    println!("{judged} causes of {runs} runs, {} of them wrong", mistakes.len());
    assert!(judged > 0 && mistakes.is_empty(), "{}", mistakes.join("\n"));
}
