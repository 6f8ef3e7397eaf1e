//! An oracle for causes, by counterfactual: of a run under several nemeses at once, faults are taken
//! out for as long as an anomaly stays and has its cause. What is left has to be such that without
//! its ledger, from its faults alone, that cause is possible. A cause that needs a fault keeps one,
//! and the recipe needs none: faults that cannot be taken out are its true cause. Where that leaves
//! a cause in doubt, all of the schedule is shrunk.
//!
//! The first run of a kind speaks for those that follow. `PICKLOCK_ORACLE` sets another number of
//! runs than 100, `PICKLOCK_FIRST` the first of them.

use base::{Anomaly, Cause, DeltaDebugger, Rng, Run, RunSpec, Task};
use checkers::Judgement;
use picklock::schedule::{Schedule, Shows};
use picklock::setup::{Setup, check_eviction, check_primary, check_servers, check_task};
use picklock::shrink::shrink;
use picklock::simulate;
use std::collections::{BTreeMap, BTreeSet};
use std::env::var;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use workloads::TASKS;
use workloads::TestedLock;

/// The most schedules that are run to shrink one whose faults leave its cause in doubt; and where
/// that leaves it so.
const MOST_SHRINKING: [u64; 2] = [300, 12_000];

/// The runs without faults in which an anomaly is looked for that the recipe is claimed to allow.
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
    let is_defined = task.name != "reenter" || lock.info.promises.reentrant;
    check_task(&lock, task).ok().filter(|()| is_defined)?;
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
    let judged = |most| doubt(lock, &shrunk(most)?.schedule, shows, cause);
    let first = doubt(lock, &with_few_faults(lock, schedule, shows), shows, cause)?;
    MOST_SHRINKING.into_iter().try_fold(first, |_, most| judged(most))
}

/// Returns a schedule without the faults that its anomaly does not need.
fn with_few_faults(lock: &TestedLock, schedule: &Schedule, shows: &Shows) -> Schedule {
    let mut faults = DeltaDebugger::new(schedule.faults.clone());
    let mut least = schedule.clone();
    while let Some(faults_left) = faults.propose() {
        let fewer = Schedule { faults: faults_left.clone(), ..schedule.clone() };
        if simulate::replay(lock, &fewer).is_ok_and(|run| shows.is_in(&run)) {
            faults.keep(faults_left);
            least = fewer;
        }
    }
    least
}

/// Returns what is wrong with a cause of which this schedule is left, in words.
fn doubt(lock: &TestedLock, schedule: &Schedule, shows: &Shows, cause: Cause) -> Option<String> {
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

/// An anomaly as it is displayed, of a lock at a task: each is judged in the first run that shows
/// it.
type Kind = (String, String, String, Cause);

/// Returns the kinds of anomalies with one cause in the run of a seed, each with its property.
/// `None`: there is no such run, or it ended early because it took too much memory.
fn kinds(seed: u64) -> Option<Vec<(Kind, String)>> {
    let (lock, spec) = drawn(seed)?;
    let run = simulate::run(&Setup::new(&lock, spec.clone()).ok()?).ok()?;
    let shown = anomalies(&run).into_iter().filter_map(|(property, anomaly)| {
        let cause = anomaly.cause.only()?;
        Some(((lock.name().into(), spec.task.to_string(), anomaly.name, cause), property))
    });
    Some(shown.collect())
}

/// Returns the mistake in the cause of an anomaly of the run of a seed, with its command.
fn mistake((seed, property, kind): &(u64, String, Kind)) -> Option<String> {
    let (name, task, anomaly, cause) = kind;
    let (lock, spec) = drawn(*seed)?;
    let (_, schedule) = simulate::record(&Setup::new(&lock, spec.clone()).ok()?).ok()?;
    let (property, anomaly) = (property.clone(), anomaly.clone());
    let shows = Shows { property, anomaly, cause: Some(*cause) };
    let why = wrong(&lock, &schedule, &shows, *cause)?;
    let replay = format!("replay {seed} --algo {name} --nemesis {}", spec.nemesis);
    let mistake =
        format!("picklock {replay} --task {task}: {} by {}: {why}", shows.anomaly, cause.name());
    println!("{mistake}");
    Some(mistake)
}

/// Answers for each of these, on all cores, in no order.
fn on_all_cores<T: Sync, U: Send>(given: &[T], answer: impl Fn(&T) -> Option<U> + Sync) -> Vec<U> {
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(one) = given.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(it) = answer(one) {
                answers.lock().expect("no thread has panicked").push(it);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    answers.into_inner().expect("no thread has panicked")
}

#[test]
fn the_cause_of_an_anomaly_is_what_cannot_be_taken_out() {
    let first = number("PICKLOCK_FIRST", 0);
    let seeds: Vec<u64> = (first..first + number("PICKLOCK_ORACLE", 100)).collect();
    let mut shown = on_all_cores(&seeds, |seed| Some((*seed, kinds(*seed)?)));
    shown.sort_unstable_by_key(|(seed, _)| *seed);
    let runs = shown.len();
    let mut firsts = BTreeMap::new();
    for (seed, kinds) in shown {
        for (kind, property) in kinds {
            firsts.entry(kind).or_insert((seed, property));
        }
    }
    let firsts: Vec<(u64, String, Kind)> =
        firsts.into_iter().map(|(kind, (seed, property))| (seed, property, kind)).collect();
    let mistakes = on_all_cores(&firsts, mistake);
    println!("{} kinds in {runs} runs, {} of them wrong", firsts.len(), mistakes.len());
    assert!(!firsts.is_empty() && mistakes.is_empty(), "{}", mistakes.join("\n"));
}
