//! The survey: every lock under every nemesis in the simulator, and what each lock costs. It takes
//! minutes, so its findings stand in a file, and the pages are made from that.

use base::{Node, Outcome};
use checkers::Judgement;
use nemesis::NEMESES;
use picklock::setup::Setup;
use picklock::simulate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use workloads::{LOCKS, LockSpec};

/// The number of schedules of each pair.
pub const SEEDS: u64 = 20;

/// The number of schedules that a figure is the median of.
const FIGURES: u64 = 5;

/// A lock under a nemesis: in how many schedules it did what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    pub lock: String,
    pub nemesis: String,
    pub held: u64,
    pub violated: u64,
    pub inconclusive: u64,
    /// The anomalies with their causes, and in how many schedules each was seen.
    pub seen: BTreeMap<String, u64>,
}

/// The costs of a lock: medians over some schedules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    pub lock: String,
    /// Grants in a thousand seconds without faults.
    pub grants_mhz: Option<u64>,
    pub acquire_median_ns: Option<u64>,
    pub acquire_99_ns: Option<u64>,
    /// Messages between clients and servers, in both directions, in a thousand grants.
    pub messages_per_1000_grants: Option<u64>,
    /// The slowest grant after a holder's death.
    pub after_death_ns: Option<u64>,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SurveyLine {
    /// First, since every field of figures may be missing.
    Pair(Pair),
    Figures(Figures),
}

/// Returns the setup of a lock under a nemesis, if that can be run.
fn setup(lock: &LockSpec, nemesis: &str, seed: u64) -> Option<Setup> {
    let lock = lock.lock();
    Setup::new(&lock, lock.info.run(nemesis, seed)).ok()
}

/// Lists the pairs that can be run, in the order of the registries.
pub fn pairs() -> Vec<(&'static LockSpec, &'static str)> {
    let of = |lock: &'static LockSpec| NEMESES.iter().map(move |nemesis| (lock, nemesis.name));
    let all = LOCKS.iter().copied().flat_map(of);
    all.filter(|(lock, nemesis)| setup(lock, nemesis, 0).is_some()).collect()
}

/// Runs a pair.
pub fn pair(lock: &LockSpec, nemesis: &str) -> Pair {
    let mut pair = Pair { lock: lock.name.into(), nemesis: nemesis.into(), ..Pair::default() };
    for seed in 0..SEEDS {
        let setup = setup(lock, nemesis, seed).expect("it can be run");
        let judgement = Judgement::of(&simulate::run(&setup).expect("the simulator runs"));
        *match judgement.outcome {
            Outcome::Held => &mut pair.held,
            Outcome::Violated => &mut pair.violated,
            _ => &mut pair.inconclusive,
        } += 1;
        for anomaly in judgement.verdicts.iter().flat_map(|verdict| &verdict.anomalies) {
            let cause = anomaly.cause.names();
            *pair.seen.entry(format!("{} by {cause}", anomaly.name)).or_default() += 1;
        }
    }
    pair
}

/// Measures what a lock costs.
pub fn figures(lock: &LockSpec) -> Figures {
    let quiet: Vec<_> = (0..FIGURES).filter_map(|seed| cost(lock, "none", seed)).collect();
    let deaths: Vec<_> = (0..FIGURES).filter_map(|seed| cost(lock, "crash-client", seed)).collect();
    let of = |costs: &[BTreeMap<String, u64>], name: &str| {
        let mut values: Vec<u64> = costs.iter().filter_map(|it| it.get(name)).copied().collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    Figures {
        lock: lock.name.into(),
        grants_mhz: of(&quiet, "grant rate"),
        acquire_median_ns: of(&quiet, "acquire, median"),
        acquire_99_ns: of(&quiet, "acquire, 99 %"),
        messages_per_1000_grants: of(&quiet, MESSAGES),
        after_death_ns: of(&deaths, "slowest grant after a holder's death"),
    }
}

const MESSAGES: &str = "messages per 1000 grants";

fn cost(lock: &LockSpec, nemesis: &str, seed: u64) -> Option<BTreeMap<String, u64>> {
    let (run, schedule) = simulate::record(&setup(lock, nemesis, seed)?).expect("a run");
    let between = schedule.chance.delays.iter().filter(|link| {
        let ends = (link.from, link.to);
        matches!(ends, (Node::Client(_), Node::Server(_)) | (Node::Server(_), Node::Client(_)))
    });
    let messages: usize = between.map(|link| link.delays_ns.len()).sum();
    let verdicts = Judgement::of(&run).verdicts;
    let measures = verdicts.iter().flat_map(|verdict| &verdict.measures);
    let mut costs: BTreeMap<String, u64> =
        measures.map(|measure| (measure.name.clone(), measure.value)).collect();
    if let Some(grants) = costs.get("grants").copied().filter(|grants| *grants > 0) {
        costs.insert(MESSAGES.into(), messages as u64 * 1_000 / grants);
    }
    Some(costs)
}

/// Returns true if a lock is to be surveyed: all are, unless `PICKLOCK_ALGO` names some.
fn is_chosen(lock: &str) -> bool {
    match std::env::var("PICKLOCK_ALGO") {
        Ok(names) => names.split(' ').any(|name| name == lock),
        Err(_) => true,
    }
}

/// Makes the survey, on all cores, as the lines of its file. What was found before of locks that
/// are not chosen stays.
pub fn survey(before: &[SurveyLine]) -> Vec<SurveyLine> {
    let (locks, pairs) = (LOCKS, pairs());
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(BTreeMap::new());
    let known = |wanted: &dyn Fn(&SurveyLine) -> bool, lock: &str| {
        let known = before.iter().find(|line| wanted(line)).filter(|_| !is_chosen(lock));
        known.cloned()
    };
    let figures_of = |lock: &LockSpec| {
        let old =
            |line: &SurveyLine| matches!(line, SurveyLine::Figures(it) if it.lock == lock.name);
        known(&old, lock.name).unwrap_or_else(|| SurveyLine::Figures(figures(lock)))
    };
    let pair_of = |lock: &LockSpec, nemesis: &str| {
        let is_it = |it: &Pair| it.lock == lock.name && it.nemesis == nemesis;
        let old = |line: &SurveyLine| matches!(line, SurveyLine::Pair(it) if is_it(it));
        known(&old, lock.name).unwrap_or_else(|| SurveyLine::Pair(pair(lock, nemesis)))
    };
    let work = || loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let line = match place.checked_sub(locks.len()) {
            None => figures_of(locks[place]),
            Some(place) => match pairs.get(place) {
                Some((lock, nemesis)) => pair_of(lock, nemesis),
                None => return,
            },
        };
        lines.lock().expect("nobody panicked").insert(place, line);
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    lines.into_inner().expect("nobody panicked").into_values().collect()
}
