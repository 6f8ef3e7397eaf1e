//! The matrix once more: every lock under every nemesis, each seed with a configuration of its own,
//! as `explore` draws it. A nemesis that does nothing to a lock leaves a search that could not have
//! failed, so that no pair may be inconclusive in more than one of twenty seeds; one that cannot do
//! better is refused by name.
//!
//! `PICKLOCK_COVERAGE` sets another number of seeds than 20; `PICKLOCK_ALGO` and `PICKLOCK_NEMESIS`
//! choose some locks and nemeses, joined by commas; `PICKLOCK_ON` a topology besides the usual
//! ones.

use base::{Outcome, RunSpec};
use checkers::Judgement;
use nemesis::NEMESES;
use picklock::setup::Setup;
use picklock::simulate;
use std::env::var;
use std::sync::Mutex;
use stores::{StoreId, Topology};
use workloads::{LOCKS, LockSpec};

fn seeds() -> u64 {
    var("PICKLOCK_COVERAGE").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

fn chosen(variable: &str, name: &str) -> bool {
    var(variable).map_or(true, |names| names.split(',').any(|it| it == name))
}

/// Returns the number that so few seeds can show by chance where one of twenty is the truth: two
/// deviations more.
fn allowed(seeds: u64) -> u64 {
    let expected = seeds as f64 / 20.0;
    (expected + 2.0 * expected.sqrt()) as u64
}

/// The result of a pair of lock and nemesis.
struct Cell {
    pair: String,
    inconclusive: u64,
    /// The reason why the first inconclusive seed cannot tell.
    why: String,
}

/// The topology that is chosen.
fn on() -> Option<&'static Topology> {
    var("PICKLOCK_ON").ok().and_then(|name| StoreId::topology(&name))
}

/// The setup of a seed; `None`: the pair is refused, with its reason.
fn setup(algo: &str, nemesis: &str, seed: u64) -> Option<Setup> {
    let lock = workloads::lock(algo).expect("a lock of the list");
    let topology = on().map(|on| on.name.into());
    let run = RunSpec { swarm: true, topology, ..lock.info.run(nemesis, seed) };
    match Setup::new(&lock, run) {
        Ok(setup) => Some(setup),
        Err(error) => {
            let why = error.to_string();
            assert!(why.contains(algo) && why.contains(nemesis), "by name: {why}");
            None
        }
    }
}

fn measure(algo: &str, nemesis: &str) -> Cell {
    let pair = format!("{algo} {nemesis}");
    let mut cell = Cell { pair, inconclusive: 0, why: String::new() };
    for seed in 0..seeds() {
        let Some(setup) = setup(algo, nemesis, seed) else { break };
        let run = simulate::run(&setup).expect("the simulator runs");
        let judgement = Judgement::of(&run);
        if judgement.outcome != Outcome::Inconclusive {
            continue;
        }
        cell.inconclusive += 1;
        if cell.why.is_empty() {
            let open = judgement.verdicts.iter();
            let open = open.filter(|v| v.decisive && v.outcome == Outcome::Inconclusive);
            let open: Vec<_> = open.map(|v| format!("{}: {}", v.property, v.summary)).collect();
            cell.why = format!("seed {seed}: {}", open.join("; "));
        }
    }
    cell
}

#[test]
fn no_pair_of_lock_and_nemesis_is_a_search_in_vain() {
    let runs_there =
        |lock: &LockSpec| on().is_none_or(|on| lock.lock().topologies().any(|it| it == on));
    let locks = LOCKS.iter().filter(|lock| runs_there(lock));
    let locks = locks.filter(|lock| chosen("PICKLOCK_ALGO", lock.name));
    let pairs: Vec<(&str, &str)> = locks
        .flat_map(|lock| NEMESES.iter().map(|nemesis| (lock.name, nemesis.name)))
        .filter(|(_, nemesis)| chosen("PICKLOCK_NEMESIS", nemesis))
        .collect();
    assert!(!pairs.is_empty(), "there is no such lock or nemesis");
    let (next, cells) = (Mutex::new(pairs.iter()), Mutex::new(Vec::new()));
    let take = || next.lock().expect("no pair panics with the lock").next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((algo, nemesis)) = take() {
                    let cell = measure(algo, nemesis);
                    cells.lock().expect("no pair panics with the lock").push(cell);
                }
            });
        }
    });
    let mut cells = cells.into_inner().expect("no pair panics with the lock");
    cells.sort_by_key(|cell| std::cmp::Reverse(cell.inconclusive));
    let vain = |cell: &&Cell| cell.inconclusive > allowed(seeds());
    for Cell { pair, inconclusive, why, .. } in cells.iter().filter(|cell| cell.inconclusive > 0) {
        println!("{pair}: {inconclusive} of {} inconclusive, {why}", seeds());
    }
    let vain: Vec<&str> = cells.iter().filter(vain).map(|cell| cell.pair.as_str()).collect();
    assert!(vain.is_empty(), "inconclusive in more than one of twenty seeds: {vain:#?}");
}
