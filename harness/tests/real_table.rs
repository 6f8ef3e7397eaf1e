//! The table on real servers: one run of 20 s a row, or `PICKLOCK_ROUNDS` of them. No row of the
//! table is skipped: where there is no Docker, this fails. Those of the simulator can be tried with
//! `--ignored`.

mod rows;

use base::Run;
use docker::{ClientCommand, DockerBackend, ensure_image};
use libtest_mimic::{Arguments, Failed, Trial};
use picklock::drive::{Recorder, Unwatched, drive};
use rows::{Row, SIMULATED, TABLE};
use std::process::ExitCode;
use std::time::Duration;

const TIME_LIMIT: Duration = Duration::from_secs(20);

fn rounds() -> u64 {
    std::env::var("PICKLOCK_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn client() -> ClientCommand {
    let program = env!("CARGO_BIN_EXE_picklock").into();
    ClientCommand { program, args: vec!["client".into()] }
}

fn run(row: &Row, seed: u64) -> Run {
    let setup = row.setup(seed, TIME_LIMIT);
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

/// Runs one row and says what is wrong with it, if anything is.
fn check(row: &Row, seed: u64) -> Result<(), Failed> {
    let run = run(row, seed);
    let (fits, judgement) = row.judge(&run);
    let said: Vec<String> = judgement
        .verdicts
        .iter()
        .map(|verdict| format!("{}: {}", verdict.property, verdict.summary))
        .collect();
    let said = said.join("; ");
    if fits == Some(true) {
        println!("{}: as demanded ({said})", row.name());
        return Ok(());
    }
    Err(format!("not as demanded: {said} (the history: {})", keep(&run, row, seed)).into())
}

/// The number of rows at a time: a run mostly waits, but three would starve each other of processor
/// time.
const SIDE_BY_SIDE: usize = 2;

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
