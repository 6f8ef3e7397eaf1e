//! The matrix: every lock under every nemesis, and under some of them at once. Whatever breaks must
//! be listed in what is known to break the lock, by its cause: an anomaly that is not there is a
//! hazard that nobody has understood yet, a mistake of a model, or a false alarm.
//!
//! `PICKLOCK_MATRIX` sets another number of seeds than 2; `PICKLOCK_ALGO` and `PICKLOCK_NEMESIS` choose
//! some locks and nemeses, joined by a space.

use base::{Anomaly, Cause};
use checkers::Judgement;
use picklock::plan::Options;
use picklock::setup::Setup;
use picklock::simulate;
use reports::reading::breaches;
use std::collections::BTreeMap;
use std::env::var;

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

/// The anomalies of one run: name and cause, and whether it is known.
fn anomalies(algo: &str, nemesis: &str, seed: u64) -> Vec<(String, bool)> {
    let options = Options { swarm: true, ..Options::new(algo, nemesis, seed) };
    let setup = Setup::new(options).unwrap_or_else(|error| panic!("{error}"));
    let run = simulate::run(&setup).expect("the simulator runs");
    let verdicts = Judgement::of(&run).verdicts;
    let seen = breaches(&run.info, &verdicts).into_iter();
    let named = |anomaly: &Anomaly| {
        let cause = anomaly.cause.map_or("no cause", Cause::name);
        format!("{} by {cause}", anomaly.name)
    };
    seen.map(|breach| (named(breach.anomaly), breach.known.is_some())).collect()
}

fn nemeses() -> impl Iterator<Item = &'static str> {
    let alone = nemesis::NEMESES.iter().map(|nemesis| nemesis.name);
    alone.chain(TOGETHER.iter().copied())
}

#[test]
fn whatever_breaks_is_known_to_break() {
    let mut seen: BTreeMap<_, (u64, u64, bool)> = BTreeMap::new();
    let mut runs = 0;
    for lock in workloads::LOCKS.iter().filter(|lock| chosen("PICKLOCK_ALGO", lock.name)) {
        for nemesis in nemeses().filter(|nemesis| chosen("PICKLOCK_NEMESIS", nemesis)) {
            for seed in 0..seeds() {
                runs += 1;
                for (anomaly, known) in anomalies(lock.name, nemesis, seed) {
                    let row = seen.entry((lock.name, nemesis, anomaly));
                    row.or_insert((0, seed, known)).0 += 1;
                }
            }
        }
    }
    let mut strange = 0;
    for ((lock, nemesis, anomaly), (count, seed, known)) in &seen {
        let mark = if *known { "known" } else { "STRANGE" };
        println!("{mark}: {lock} under {nemesis}: {anomaly} in {count} runs, first by seed {seed}");
        strange += u32::from(!known);
    }
    assert!(runs > 0, "there is no such lock or nemesis");
    assert_eq!(strange, 0, "kinds of anomaly that no lock knows of");
}
