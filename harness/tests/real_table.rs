//! The table on real servers: one run of 20 s a row, or `PICKLOCK_ROUNDS` of them. Nothing is
//! skipped: where there is no Docker, this fails.

mod rows;

use base::Run;
use docker::{ClientCommand, DockerBackend, ensure_image};
use picklock::drive::{Recorder, Unwatched, drive};
use rows::{Row, TABLE};
use std::sync::Mutex;
use std::time::Duration;

const TIME_LIMIT: Duration = Duration::from_secs(20);

fn rounds() -> u64 {
    std::env::var("PICKLOCK_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// `PICKLOCK_ROWS` picks the rows whose names contain it.
fn rows_wanted() -> String {
    std::env::var("PICKLOCK_ROWS").unwrap_or_default()
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

/// Runs one row and says what came of it. The answer names a row that is not as demanded.
fn misfit(row: &Row, seed: u64) -> Option<String> {
    let run = run(row, seed);
    let (fits, judgement) = row.judge(&run);
    let said: Vec<String> = judgement
        .verdicts
        .iter()
        .map(|verdict| format!("{}: {}", verdict.property, verdict.summary))
        .collect();
    let word = if fits == Some(true) { "as demanded" } else { "NOT as demanded" };
    println!("{}: {word} ({})", row.name(), said.join("; "));
    (fits != Some(true)).then(|| format!("{} ({})", row.name(), keep(&run, row, seed)))
}

/// Two rows at a time: a run mostly waits, but three would starve each other of processor time.
const SIDE_BY_SIDE: usize = 2;

#[test]
fn every_row_on_real_servers() {
    ensure_image(&|line| println!("{line}")).unwrap_or_else(|error| panic!("{error}"));
    let wanted = rows_wanted();
    let runs = (0..rounds()).flat_map(|seed| TABLE.iter().map(move |row| (row, seed)));
    let runs = Mutex::new(runs.filter(|(row, _)| row.name().contains(&wanted)));
    let misfits = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                let next = || runs.lock().expect("no row panics with the lock").next();
                while let Some((row, seed)) = next() {
                    let found = misfit(row, seed);
                    misfits.lock().expect("no row panics with the lock").extend(found);
                }
            });
        }
    });
    let misfits = misfits.into_inner().expect("no row panics with the lock");
    assert!(misfits.is_empty(), "not as demanded: {misfits:#?}");
}
