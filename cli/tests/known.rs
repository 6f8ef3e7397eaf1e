//! The matrix: every lock under every nemesis, and under some of them at once. Whatever breaks must
//! be listed in what is known to break the lock, by its cause, and its nemesis must list that
//! cause: an anomaly that is not there is a hazard that nobody has understood yet, a mistake of a
//! model, a wrong cause, or a false alarm. Each run is judged without its ledger, too: the causes
//! that it can have had then must include the one that it had.
//!
//! `PICKLOCK_MATRIX` sets another number of seeds than 2; `PICKLOCK_ALGO`, `PICKLOCK_NEMESIS`,
//! `PICKLOCK_TASK` and `PICKLOCK_ON` choose some locks, nemeses, tasks and topologies, joined by a
//! space.

use base::{Anomaly, Cause, Causes, Run, RunSpec, Task, Verdict};
use checkers::Judgement;
use picklock::setup::{Setup, check_eviction, check_primary, check_servers, check_task};
use picklock::simulate;
use reports::interpretation::{Breach, breaches};
use std::collections::{BTreeMap, BTreeSet};
use std::env::var;
use stores::{StoreId, Topology};
use workloads::LockSpec;

fn seeds() -> u64 {
    var("PICKLOCK_MATRIX").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

fn chosen(variable: &str, name: &str) -> bool {
    var(variable).map_or(true, |names| names.split(' ').any(|it| it == name))
}

/// Nemeses whose faults meet: what one of them alone does not bring about.
const TOGETHER: &[&str] = &[
    "crash,clock",
    "clock-jump,crash-client",
    "pause,partition",
    "partition-server,partition-server",
    "partition-server,pause-server",
    "pause-server,link,partition-server",
    "pause,crash,partition,link,clock",
];

/// Nemeses for all tasks.
const FOR_TASKS: &[&str] = &["none", "pause", "partition", "crash", "clock-freeze", "clock-strobe"];

/// The anomalies of one run: name and cause, and whether it is known and the nemeses can bring it
/// about. `None`: the lock cannot do that task, its servers evict nothing, are too few, or have no
/// primary.
fn anomalies(
    task: &'static Task,
    topology: Option<&'static Topology>,
    algo: &str,
    nemesis: &str,
    seed: u64,
) -> Option<Vec<(String, bool)>> {
    let lock = workloads::lock(algo).expect("a lock of the list");
    let topology = topology.map(|on| on.name.into());
    let run = lock.info.run(nemesis, seed);
    let run = RunSpec { swarm: true, task: task.name.into(), topology, ..run };
    check_task(&lock, task).ok()?;
    check_eviction(&lock, nemesis).ok()?;
    check_primary(&lock, &run).ok()?;
    check_servers(&lock, &run).ok()?;
    let setup = Setup::new(&lock, run).unwrap_or_else(|error| panic!("{error}"));
    let mut run = simulate::run(&setup).expect("the simulator runs");
    let mut found = judged(&run, nemesis);
    let exact = Judgement::of(&run).verdicts;
    if run.ledger.take().is_some() {
        found.extend(passed_over(&exact, &Judgement::of(&run).verdicts));
    }
    Some(found)
}

/// Returns the causes that faults have brought about by the ledger, and that are not among those
/// which the same anomaly can have had without it. (Without a ledger not every occurrence is seen.)
fn passed_over(exact: &[Verdict], possible: &[Verdict]) -> Vec<(String, bool)> {
    let of = |verdicts: &[Verdict], name: &str| -> (u64, BTreeSet<Cause>) {
        let all = verdicts.iter().flat_map(|verdict| &verdict.anomalies);
        let named: Vec<&Anomaly> = all.filter(|anomaly| anomaly.name == name).collect();
        let causes = named.iter().flat_map(|anomaly| anomaly.cause.iter()).collect();
        (named.iter().map(|anomaly| anomaly.count).sum(), causes)
    };
    let anomalies = exact.iter().flat_map(|verdict| &verdict.anomalies);
    let by_fault =
        anomalies.filter_map(|it| Some((it, it.cause.only().filter(|it| it.needs_fault())?)));
    let missed = by_fault.filter_map(|(anomaly, cause)| {
        let (count, causes) = of(possible, &anomaly.name);
        let all_seen = count >= of(exact, &anomaly.name).0;
        let why = || format!("{} by {}, impossible without a ledger", anomaly.name, cause.name());
        (all_seen && !causes.contains(&cause)).then(|| (why(), false))
    });
    missed.collect()
}

/// The anomalies that a run is judged to have.
fn judged(run: &Run, nemesis: &str) -> Vec<(String, bool)> {
    let verdicts = Judgement::of(run).verdicts;
    let named = |anomaly: &Anomaly| {
        let cause = anomaly.cause.names();
        format!("{} by {cause}", anomaly.name)
    };
    let can = |causes: Causes| match run.info.workers == 1 {
        true => causes.only().is_some_and(|cause| can_cause(nemesis, cause)),
        // Workers cannot always be distinguished.
        false => causes.iter().any(|cause| can_cause(nemesis, cause)),
    };
    let right = |breach: &Breach| breach.known.is_some() && can(breach.anomaly.cause);
    let seen = breaches(&run.info, &verdicts).into_iter();
    seen.map(|breach| (named(breach.anomaly), right(&breach))).collect()
}

/// Returns true if one of these nemeses can bring a cause about, or if it needs no fault.
fn can_cause(nemeses: &str, cause: Cause) -> bool {
    let of = |name: &str| nemesis::find(name).expect("a nemesis of the list");
    !cause.needs_fault() || nemeses.split(',').any(|name| of(name).can_cause(cause))
}

fn nemeses() -> impl Iterator<Item = &'static str> {
    let alone = nemesis::NEMESES.iter().map(|nemesis| nemesis.name);
    alone.chain(TOGETHER.iter().copied())
}

/// Returns true if a lock defines what becomes of a task. One that does not promise re-entrance
/// leaves open what its holder's second acquire leads to; and one with a node that names a session
/// and no worker frees one worker's lock for another's, so that nobody can distinguish them.
fn is_defined(task: &Task, lock: &LockSpec) -> bool {
    match task.name {
        "reenter" => lock.promises.reentrant,
        "workers" => lock.name != "zk-exclusive",
        // One with more workers and no rest shows no more than that.
        _ => task.workers == 1,
    }
}

/// Runs every lock under these nemeses, on its usual topology or, where it runs there, on this one,
/// and asserts that it breaks only as is known. Returns the number of runs.
fn check(task: &'static Task, on: Option<&'static Topology>, nemeses: &[&'static str]) -> u64 {
    let mut runs = 0;
    let mut seen: BTreeMap<_, (u64, u64, bool)> = BTreeMap::new();
    let nemeses = nemeses.iter().filter(|nemesis| chosen("PICKLOCK_NEMESIS", nemesis));
    let nemeses: Vec<&str> = nemeses.copied().collect();
    let runs_there =
        |lock: &LockSpec| on.is_none_or(|on| lock.lock().topologies().any(|it| it == on));
    let locks = workloads::LOCKS.iter().filter(|lock| runs_there(lock));
    for lock in locks.filter(|lock| chosen("PICKLOCK_ALGO", lock.name)) {
        for nemesis in nemeses.iter().filter(|_| is_defined(task, lock)) {
            for seed in 0..seeds() {
                let Some(found) = anomalies(task, on, lock.name, nemesis, seed) else { continue };
                runs += 1;
                for (anomaly, known) in found {
                    let row = seen.entry((lock.name, nemesis, anomaly));
                    row.or_insert((0, seed, known)).0 += 1;
                }
            }
        }
    }
    let mut strange = 0;
    for ((lock, nemesis, anomaly), (count, seed, known)) in &seen {
        let place = on.map(|on| format!(" on {}", on.name)).unwrap_or_default();
        let (mark, task) = (if *known { "known" } else { "STRANGE" }, task.name);
        println!(
            "{mark}: {lock}{place} under {nemesis} at {task}: {anomaly} in {count} runs, first by seed {seed}"
        );
        strange += u32::from(!known);
    }
    assert_eq!(strange, 0, "kinds of anomaly that no lock knows of");
    runs
}

#[test]
fn whatever_breaks_is_known_to_break() {
    if chosen("PICKLOCK_TASK", Task::CONTEND.name) {
        let runs = check(&Task::CONTEND, None, &nemeses().collect::<Vec<_>>());
        assert!(runs > 0, "there is no such lock or nemesis");
    }
}

/// Topologies that break locks in ways of their own.
const ALSO_ON: &[&str] = &["redis-sentinel", "redis-cluster"];

#[test]
fn whatever_breaks_on_another_topology_is_known_to_break() {
    for on in ALSO_ON.iter().filter(|on| chosen("PICKLOCK_ON", on)) {
        let on = StoreId::topology(on).expect("a topology of the list");
        check(&Task::CONTEND, Some(on), &nemeses().collect::<Vec<_>>());
    }
}

#[test]
fn whatever_breaks_at_another_task_is_known_to_break() {
    let mut tasks: Vec<&Task> = workloads::TASKS.to_vec();
    tasks.retain(|task| *task != &Task::CONTEND && chosen("PICKLOCK_TASK", task.name));
    if tasks.is_empty() && chosen("PICKLOCK_TASK", Task::CONTEND.name) {
        return;
    }
    // Whoever asks for a nemesis gets it, also if it is not one of the usual ones.
    let all: Vec<&str> = match var("PICKLOCK_NEMESIS") {
        Ok(_) => nemeses().collect(),
        Err(_) => FOR_TASKS.to_vec(),
    };
    let runs: u64 = tasks.into_iter().map(|task| check(task, None, &all)).sum();
    assert!(runs > 0, "there is no such lock, nemesis or task, or no lock says what becomes of it");
}
