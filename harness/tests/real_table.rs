//! The table on real servers: one run of 10 or 20 s a row, or `PICKLOCK_ROUNDS` of them. No row of
//! the table is skipped: where there is no Docker, this fails. Those of the simulator can be tried
//! with
//! `--ignored`.

mod rows;

use base::Run;
use docker::{ClientCommand, DockerBackend, ensure_image};
use libtest_mimic::{Arguments, Failed, Trial};
use picklock::drive::{Recorder, Unwatched, drive};
use rows::{Must, Row, SIMULATED, TABLE};
use std::process::ExitCode;
use std::time::Duration;

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

fn run(row: &Row, seed: u64) -> Run {
    let setup = row.setup(seed, time_limit(row));
    let mut backend = DockerBackend::start_with(&setup.world(), client(), &|_| ())
        .unwrap_or_else(|error| panic!("{}: {error}", row.name()));
    let mut recorder = Recorder::in_memory();
    drive(&mut backend, &setup.plan(), setup.nemeses(), &mut recorder, &mut Unwatched)
        .unwrap_or_else(|error| panic!("{}: {error}", row.name()));
    Run { info: setup.info_for("docker"), history: recorder.into_history(), ledger: None }
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
fn check(row: &Row, seed: u64) -> Result<(), Failed> {
    let runs = if matches!(row.must, Must::Hold) { 1 } else { RUNS };
    let mut wrong = String::new();
    for seed in (0..runs).map(|n| seed + n * 1_000) {
        let run = run(row, seed);
        let (fits, judgement) = row.judge(&run);
        let verdicts = judgement.verdicts.iter();
        let said: Vec<_> = verdicts.map(|it| format!("{}: {}", it.property, it.summary)).collect();
        let said = said.join("; ");
        if fits == Some(true) {
            println!("{}, seed {seed}: as demanded ({said})", row.name());
            return Ok(());
        }
        wrong += &format!("seed {seed}: {said} (the history: {})\n", keep(&run, row, seed));
    }
    Err(format!("not as demanded: {wrong}").into())
}

/// The number of rows at a time: a run mostly waits, but more would starve each other of processor
/// time.
const SIDE_BY_SIDE: usize = 3;

/// Every row is a test of its own, in every round.
fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SIDE_BY_SIDE);
    if !arguments.list {
        ensure_image(&|line| println!("{line}")).unwrap_or_else(|error| panic!("{error}"));
    }
    let test = |row: &'static Row, seed| {
        Trial::test(format!("{}, seed {seed}", row.name()), move || check(row, seed))
    };
    let tests = (0..rounds()).flat_map(|seed| {
        let simulated = SIMULATED.iter().map(move |row| test(row, seed).with_ignored_flag(true));
        TABLE.iter().map(move |row| test(row, seed)).chain(simulated)
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}
