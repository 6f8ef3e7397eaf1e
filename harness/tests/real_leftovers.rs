//! Runs on real servers that are ended at any moment leave nothing behind, and several at once do not
//! disturb each other. Each has a folder for temporary files of its own, so that nobody else's are
//! seen. `PICKLOCK_ROUNDS` says how many are ended, 7 if it is not set.

#![expect(clippy::disallowed_methods, reason = "waits for drawn moments, and for the kernel")]

use base::Rng;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(60);

fn picklock(temporary: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args(args).env("TMPDIR", temporary).current_dir(temporary.parent().expect("a parent"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn test(temporary: &Path, algo: &str, time_limit: &str) -> Child {
    let args = [
        "test",
        "--algo",
        algo,
        "--nemesis",
        "none",
        "--backend",
        "local",
        "--time-limit",
        time_limit,
    ];
    picklock(temporary, &args).spawn().expect("it starts")
}

/// A folder with one for temporary files in it.
fn place() -> (TempDir, std::path::PathBuf) {
    let place = TempDir::new().expect("a folder");
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).expect("a folder");
    (place, temporary)
}

/// The processes that use the folder, by their environment: servers and clients alike.
fn processes(temporary: &Path) -> usize {
    let wanted = format!("TMPDIR={}\0", temporary.display());
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let environments = all.filter_map(|it| fs::read(it.path().join("environ")).ok());
    environments.filter(|it| String::from_utf8_lossy(it).contains(&wanted)).count()
}

fn files(temporary: &Path) -> usize {
    fs::read_dir(temporary).expect("a folder").count()
}

fn ended(id: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &id.to_string()]).status().expect("it runs");
    assert!(sent.success());
}

/// Waits until the kernel has ended all processes of a run that was killed.
fn until_no_processes(temporary: &Path) {
    let begun = Instant::now();
    while processes(temporary) > 0 {
        assert!(begun.elapsed() < LIMIT, "processes live on");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_run_that_is_ended_at_any_moment_leaves_nothing() {
    let rounds = std::env::var("PICKLOCK_ROUNDS").map_or(7, |it| it.parse().expect("a number"));
    let mut rng = Rng::new(std::process::id().into());
    for round in 0..rounds {
        let (_place, temporary) = place();
        let algo = ["redis-set-nx-px", "zk-sequential", "postgres-advisory"][round % 3];
        let signal = ["-KILL", "-INT", "-KILL", "-TERM", "-KILL", "-HUP", "-KILL"][round % 7];
        let moment = Duration::from_millis(rng.below(4_000));
        let mut run = test(&temporary, algo, "60s");
        sleep(moment);
        ended(run.id(), signal);
        run.wait().expect("it ends");
        let what = format!("{algo}, {signal} after {moment:?}");
        if signal == "-KILL" {
            until_no_processes(&temporary);
            let left = files(&temporary);
            let cleaned = picklock(&temporary, &["clean"]).output().expect("it runs");
            let said = String::from_utf8_lossy(&cleaned.stdout).into_owned();
            let folders = if left == 1 { "1 folder" } else { "0 folders" };
            assert!(said.contains(folders), "{what}: {said}");
        }
        assert_eq!((processes(&temporary), files(&temporary)), (0, 0), "{what}");
    }
}

#[test]
fn runs_beside_each_other_and_beside_a_cleaning_hold() {
    let (_place, temporary) = place();
    let mut runs: Vec<Child> = (0..2).map(|_| test(&temporary, "redis-set-nx-px", "2s")).collect();
    let mut cleanings = 0;
    while runs.iter_mut().any(|run| run.try_wait().expect("a child").is_none()) {
        let cleaned = picklock(&temporary, &["clean"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&cleaned.stdout).into_owned();
        // (It may find processes of others that are just dying.)
        assert!(said.contains(" 0 folders"), "{said}");
        cleanings += 1;
    }
    assert!(cleanings > 1, "it was never cleaned beside them");
    for run in runs {
        let output = run.wait_with_output().expect("it has ended");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!((processes(&temporary), files(&temporary)), (0, 0));
}
