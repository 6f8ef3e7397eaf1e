//! The table on real servers: one run of 10 or 20 s a row, or `PICKLOCK_ROUNDS` of them. All rows run
//! on servers that are processes; some prove that those in containers do the same. No row of the table
//! is skipped: where there is no Docker or no server, this fails. Those of the simulator can be tried
//! with `--ignored`.

mod rows;

use base::{Backend, Run};
use docker::{DockerServers, ensure_image};
use libtest_mimic::{Arguments, Failed, Trial};
use local::LocalServers;
use picklock::drive::{Recorder, Unwatched, drive};
use rows::{Must, Row, SIMULATED, TABLE};
use std::process::ExitCode;
use std::time::Duration;
use testbed::{ClientCommand, RealBackend, Servers};

/// The length of a run: without faults nothing has to be waited for but grants.
fn time_limit(row: &Row) -> Duration {
    let is_plain = row.nemesis == "none" && matches!(row.must, Must::Hold);
    Duration::from_secs(if is_plain { 10 } else { 20 })
}

fn rounds() -> u64 {
    std::env::var("PICKLOCK_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn client() -> ClientCommand {
    let program = env!("CARGO_BIN_EXE_picklock").into();
    ClientCommand { program, args: vec!["client".into()] }
}

/// The rows that run in containers, too: one a fault that servers suffer there in a way of its own.
const IN_CONTAINERS: &[(&str, &str)] = &[
    ("redis-set-nx-px", "pause"),
    ("redis-set-nx-px", "crash-server-lose-data"),
    ("zk-sequential", "crash"),
    ("zk-sequential", "partition"),
    ("zk-sequential", "vanish-server"),
    ("memcached-add", "evict"),
];

fn is_in_containers(row: &Row) -> bool {
    IN_CONTAINERS.contains(&(row.algo, row.nemesis))
}

fn run<S: Servers>(row: &Row, seed: u64) -> Run {
    let setup = row.setup(seed, time_limit(row));
    let mut backend = RealBackend::<S>::start_with(&setup.world(), client(), &|_| ())
        .unwrap_or_else(|error| panic!("{}: {error}", row.name()));
    let mut recorder = Recorder::in_memory();
    drive(&mut backend, &setup.plan(), setup.nemeses(), &mut recorder, &mut Unwatched)
        .unwrap_or_else(|error| panic!("{}: {error}", row.name()));
    Run { info: setup.info_for(backend.name()), history: recorder.into_history(), ledger: None }
}

/// Keeps the history of a run that was not as demanded, for a look at it.
fn keep(run: &Run, row: &Row, seed: u64) -> String {
    let file = std::env::temp_dir().join(format!("{}+{}-{seed}.jsonl", row.algo, row.nemesis));
    match std::fs::write(&file, run.history.to_jsonl()) {
        Ok(()) => file.display().to_string(),
        Err(error) => format!("not kept: {error}"),
    }
}

/// The number of runs in which a lock that must be caught is caught: chance aims the faults.
const RUNS: u64 = 3;

/// Runs one row and says what is wrong with it, if anything is.
fn check<S: Servers>(row: &Row, seed: u64) -> Result<(), Failed> {
    let runs = if matches!(row.must, Must::Hold) { 1 } else { RUNS };
    let mut wrong = String::new();
    for seed in (0..runs).map(|n| seed + n * 1_000) {
        let run = run::<S>(row, seed);
        let (fits, judgement) = row.judge(&run);
        let verdicts = judgement.verdicts.iter();
        let said: Vec<_> = verdicts.map(|it| format!("{}: {}", it.property, it.summary)).collect();
        let said = said.join("; ");
        if fits == Some(true) {
            println!("{} ({}), seed {seed}: as demanded ({said})", row.name(), S::BACKEND);
            return Ok(());
        }
        wrong += &format!("seed {seed}: {said} (the history: {})\n", keep(&run, row, seed));
    }
    Err(format!("not as demanded: {wrong}").into())
}

/// The number of rows at a time: a run mostly waits, but more would starve each other of processor
/// time.
const SIDE_BY_SIDE: usize = 5;

/// Runs a row on processes, or in containers if its servers cannot be processes.
fn usual(row: &'static Row, seed: u64) -> Trial {
    let world = row.setup(seed, time_limit(row)).world();
    match world.store.needs(world.topology) {
        Ok(_) => test::<LocalServers>(row, seed),
        Err(_) => test::<DockerServers>(row, seed),
    }
}

fn test<S: Servers>(row: &'static Row, seed: u64) -> Trial {
    let name = format!("{} ({}), seed {seed}", row.name(), S::BACKEND);
    Trial::test(name, move || check::<S>(row, seed))
}

/// Every row is a test of its own, in every round.
fn main() -> ExitCode {
    let is_there = |pair: &&(_, _)| TABLE.iter().any(|row| (row.algo, row.nemesis) == **pair);
    assert!(IN_CONTAINERS.iter().all(|pair| is_there(&pair)), "rows of the table");
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SIDE_BY_SIDE);
    if !arguments.list {
        ensure_image(&|line| println!("{line}")).unwrap_or_else(|error| panic!("{error}"));
    }
    let tests = (0..rounds()).flat_map(|seed| {
        let simulated = SIMULATED.iter().map(move |row| usual(row, seed));
        let in_containers = TABLE.iter().filter(|row| is_in_containers(row));
        TABLE
            .iter()
            .map(move |row| usual(row, seed))
            .chain(in_containers.map(move |row| test::<DockerServers>(row, seed)))
            .chain(simulated.map(|test| test.with_ignored_flag(true)))
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}
