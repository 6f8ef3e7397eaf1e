//! The table on real servers: one run of 10 or 20 s a row, or `PICKLOCK_ROUNDS` of them. All rows
//! run on servers that are processes; some prove that those in containers do the same. No row of
//! the table is skipped: where there is no Docker or no server, this fails. Those of the simulator
//! can be tried with `--ignored`.
//!
//! `PICKLOCK_EIGHTH` is a number from 1 to 8 for an eighth of the rows, as CI runs them in turn, or
//! `all`, as without it.

mod rows;

use base::Run;
use docker::ensure_image;
use drive::Unwatched;
use libtest_mimic::{Arguments, Failed, Trial};
use picklock::run::{MadeRun, Means};
use picklock::suite::SuiteEntry;
use picklock::worlds::{RunWorld, named};
use rows::{judge, rows};
use std::path::PathBuf;
use std::process::ExitCode;

fn rounds() -> u64 {
    std::env::var("PICKLOCK_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Returns true if a row, by its place, is to be run.
///
/// # Panics
/// Panics when `PICKLOCK_EIGHTH` says none of what it may say.
fn is_chosen(place: usize) -> bool {
    let eighth = std::env::var("PICKLOCK_EIGHTH").unwrap_or_else(|_| "all".into());
    match (eighth.as_str(), eighth.parse()) {
        ("all", _) => true,
        (_, Ok(number @ 1..=8)) => place % 8 + 1 == number,
        _ => panic!("PICKLOCK_EIGHTH is a number from 1 to 8 or `all`, and not `{eighth}`"),
    }
}

fn client() -> (PathBuf, Vec<String>) {
    (env!("CARGO_BIN_EXE_picklock").into(), vec!["client".into()])
}

/// The rows that run in containers, too: one a fault that servers suffer there in a way of its own.
const IN_CONTAINERS: &[(&str, &str)] = &[
    ("redis-set-nx-px", "pause"),
    ("redis-set-nx-px", "crash-server-lose-data"),
    ("redis-set-nx-px", "clock-jump-server"),
    ("zk-sequential", "crash"),
    ("zk-sequential", "partition"),
    ("zk-sequential", "vanish-server"),
    ("memcached-add", "evict"),
];

fn is_in_containers(row: &SuiteEntry) -> bool {
    IN_CONTAINERS.contains(&(row.lock.name(), row.run.nemesis.as_str()))
}

fn run(row: &SuiteEntry, world: &RunWorld, seed: u64) -> Run {
    let setup = row.on_servers(seed).unwrap_or_else(|error| panic!("{error}"));
    let mut watcher = Unwatched;
    let means = Means { client: Some(client()), ..Means::in_memory(&mut watcher) };
    let made = picklock::run::run(&setup, world, means).and_then(MadeRun::whole);
    made.unwrap_or_else(|error| panic!("{}: {error}", row.name)).0
}

/// Keeps the history of a run that was not as demanded, for a look at it.
fn keep(run: &Run, row: &SuiteEntry, seed: u64) -> String {
    let file =
        std::env::temp_dir().join(format!("{}+{}-{seed}.jsonl", row.lock.name(), row.run.nemesis));
    match std::fs::write(&file, run.history.to_jsonl()) {
        Ok(()) => file.display().to_string(),
        Err(error) => format!("not kept: {error}"),
    }
}

/// Runs one row and says what is wrong with it, if anything is.
fn check(row: &SuiteEntry, world: &RunWorld, seed: u64) -> Result<(), Failed> {
    // Chance aims the faults: a lock that must be caught has some runs for it. One that must hold
    // gets another run if the first could not tell: on a busy machine, nobody may get a lock in time.
    let runs = row.real.max(2);
    let mut wrong = String::new();
    for n in 0..runs {
        let seed = seed + n * 1_000;
        let run = run(row, world, seed);
        let (fits, judgement) = judge(row, &run);
        let verdicts = judgement.verdicts.iter();
        let summaries: Vec<_> =
            verdicts.map(|it| format!("{}: {}", it.property, it.summary)).collect();
        let summary = summaries.join("; ");
        if fits == Some(true) {
            let which = format!("run {} of {runs}", n + 1);
            println!("{} ({}), {which}: as demanded ({summary})", row.name, world.name);
            return Ok(());
        }
        wrong += &format!("seed {seed}: {summary} (the history: {})\n", keep(&run, row, seed));
        if n + 1 >= row.real.max(1) && fits == Some(false) {
            break;
        }
    }
    Err(format!("not as demanded: {wrong}").into())
}

/// Returns the number of rows at a time: a run mostly waits, but more would starve each other of
/// processor time. Where the machine has other work, RUST_TEST_THREADS asks for fewer.
fn side_by_side() -> usize {
    std::env::var("RUST_TEST_THREADS").ok().and_then(|it| it.parse().ok()).unwrap_or(5)
}

/// Runs a row on processes, or in containers if its servers cannot be processes.
fn usual(row: SuiteEntry, seed: u64) -> Trial {
    let spec = row.simulated(seed).unwrap_or_else(|error| panic!("{error}")).world;
    let world = if spec.store.needs(spec.topology).is_ok() { "local" } else { "docker" };
    test(row, world, seed)
}

fn test(row: SuiteEntry, world: &str, seed: u64) -> Trial {
    let world = named(world).expect("a world of the list");
    let name = format!("{} ({}), seed {seed}", row.name, world.name);
    Trial::test(name, move || check(&row, world, seed))
}

/// Every row is a test of its own, in every round.
fn main() -> ExitCode {
    let table = rows();
    let is_there = |pair: &&(_, _)| {
        table.iter().any(|row| (row.lock.name(), row.run.nemesis.as_str()) == **pair)
    };
    assert!(IN_CONTAINERS.iter().all(|pair| is_there(&pair)), "entries of the suite");
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert_with(side_by_side);
    if !arguments.list {
        ensure_image(&|line| println!("{line}")).unwrap_or_else(|error| panic!("{error}"));
    }
    let (real, simulated): (Vec<SuiteEntry>, Vec<SuiteEntry>) =
        table.into_iter().partition(|row| row.real > 0);
    // One after the other, so that each eighth has some of every store and fault.
    let places = real.into_iter().enumerate();
    let real: Vec<SuiteEntry> =
        places.filter(|(place, _)| is_chosen(*place)).map(|(_, row)| row).collect();
    let tests = (0..rounds()).flat_map(|seed| {
        let in_containers = real.iter().filter(|row| is_in_containers(row)).cloned();
        let simulated = simulated.iter().cloned().map(move |row| usual(row, seed));
        let usual = real.iter().cloned().map(move |row| usual(row, seed));
        usual
            .chain(in_containers.map(move |row| test(row, "docker", seed)))
            .chain(simulated.map(|test| test.with_ignored_flag(true)))
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}
