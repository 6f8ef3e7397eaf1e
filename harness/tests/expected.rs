//! Every lock under every nemesis: whatever is seen is known of the lock. What is not is a false
//! alarm, a mistake of ours, or something to be written down.
//!
//! `PICKLOCK_MATRIX` sets how many seeds a pair runs.

use checkers::Judgement;
use picklock::setup::{Options, Setup};
use picklock::simulate;
use reports::reading::breaches;
use std::collections::BTreeMap;

fn seeds() -> u64 {
    std::env::var("PICKLOCK_MATRIX").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// The anomalies of a lock that nobody knew of, with how often and where they were seen first.
fn unexpected(algo: &str, keys: u32) -> BTreeMap<String, (u64, String)> {
    let mut found: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for nemesis in nemesis::NEMESES {
        for seed in 0..seeds() {
            let options = Options { keys, ..Options::new(algo, nemesis.name, seed) };
            let setup = Setup::new(options).unwrap_or_else(|error| panic!("{error}"));
            let run = simulate::run(&setup).expect("the simulator runs");
            let judgement = Judgement::of(&run);
            for breach in breaches(&run.info, &judgement.verdicts) {
                if breach.known.is_none() {
                    let name = format!("{} under {}", breach.anomaly.name, nemesis.name);
                    let first = || (0, format!("seed {seed}: {}", breach.anomaly.explanation));
                    found.entry(name).or_insert_with(first).0 += 1;
                }
            }
        }
    }
    found
}

#[test]
fn nothing_is_seen_that_is_not_known() {
    let mut said = String::new();
    for lock in workloads::LOCKS {
        for keys in [1, 2] {
            for (what, (times, first)) in unexpected(lock.name, keys) {
                said.push_str(&format!(
                    "{}, {keys} keys: {what}, {times} of {} seeds, first {first}\n",
                    lock.name,
                    seeds()
                ));
            }
        }
    }
    assert!(said.is_empty(), "{said}");
}
