//! Runs on real servers that are ended at any moment leave nothing behind, and several at once do
//! not disturb each other. Each has a folder for temporary files of its own, so that nobody else's
//! are seen. `PICKLOCK_ROUNDS` says how many are ended, 7 if it is not set. Nothing is skipped:
//! where there is no Docker, or where nobody may make a namespace, this fails.

#![expect(clippy::disallowed_methods, reason = "waits for drawn moments, and for the kernel")]

mod engine;
mod guest;
mod segments;
mod sockets;
mod stubborn;
mod topologies;

use base::Rng;
use docker::ensure_image;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testbed::owner::stat_field;

const LIMIT: Duration = Duration::from_secs(60);

fn picklock(temporary: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args(args).env("TMPDIR", temporary).current_dir(temporary.parent().expect("a parent"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn test_on(backend: &str, temporary: &Path, algo: &str, time_limit: &str) -> Command {
    let what = ["test", "--algo", algo, "--nemesis", "none"];
    let how = ["--backend", backend, "--time-limit", time_limit];
    picklock(temporary, &[&what[..], &how].concat())
}

fn test(temporary: &Path, algo: &str, time_limit: &str) -> Child {
    test_on("local", temporary, algo, time_limit).spawn().expect("it starts")
}

/// Removes what is left, and returns the stdout of that.
fn clean(temporary: &Path) -> String {
    let cleaned = picklock(temporary, &["clean"]).output().expect("it runs");
    String::from_utf8_lossy(&cleaned.stdout).into_owned()
}

/// The number of rounds.
fn rounds(usual: usize) -> usize {
    std::env::var("PICKLOCK_ROUNDS").map_or(usual, |it| it.parse().expect("a number"))
}

const SIGNALS: [&str; 7] = ["-KILL", "-INT", "-KILL", "-TERM", "-KILL", "-HUP", "-KILL"];

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
    let mut rng = Rng::new(std::process::id().into());
    for round in 0..rounds(7) {
        let (_place, temporary) = place();
        let algo = ["redis-set-nx-px", "zk-sequential", "postgres-advisory"][round % 3];
        let signal = SIGNALS[round % 7];
        let moment = Duration::from_millis(rng.below(4_000));
        let mut run = test(&temporary, algo, "60s");
        sleep(moment);
        ended(run.id(), signal);
        run.wait().expect("it ends");
        let what = format!("{algo}, {signal} after {moment:?}");
        if signal == "-KILL" {
            until_no_processes(&temporary);
            let left = files(&temporary);
            let report = clean(&temporary);
            let folders = if left == 1 { "1 folder" } else { "0 folders" };
            assert!(report.contains(folders), "{what}: {report}");
        }
        assert_eq!((processes(&temporary), files(&temporary)), (0, 0), "{what}");
    }
}

#[test]
fn a_second_signal_ends_a_run_at_once_and_says_what_is_left() {
    let (_place, temporary) = place();
    let run = test(&temporary, "redis-set-nx-px", "60s");
    until_in_full_swing(&temporary);
    // Both are there before it hears of either.
    for signal in ["-STOP", "-INT", "-QUIT", "-CONT"] {
        ended(run.id(), signal);
    }
    let output = run.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let left = "ended at once; folders and containers of its servers may be left";
    assert_eq!((output.status.code(), stderr.contains(left)), (Some(130), true), "{stderr}");
    until_no_processes(&temporary);
    assert!(clean(&temporary).contains(" 1 folder,"));
    assert_eq!((processes(&temporary), files(&temporary)), (0, 0));
}

#[test]
fn runs_beside_each_other_and_beside_a_cleaning_hold() {
    let (_place, temporary) = place();
    let mut runs: Vec<Child> = (0..2).map(|_| test(&temporary, "redis-set-nx-px", "2s")).collect();
    let mut cleanings = 0;
    while runs.iter_mut().any(|run| run.try_wait().expect("a child").is_none()) {
        let report = clean(&temporary);
        // (It may find processes of others that are just dying.)
        assert!(report.contains(" 0 folders"), "{report}");
        cleanings += 1;
    }
    assert!(cleanings > 1, "it was never cleaned beside them");
    for run in runs {
        let output = run.wait_with_output().expect("it has ended");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!((processes(&temporary), files(&temporary)), (0, 0));
}

/// Waits until a run has made its folder, and its servers run.
fn until_in_full_swing(temporary: &Path) {
    let begun = Instant::now();
    while files(temporary) == 0 || processes(temporary) < 3 {
        assert!(begun.elapsed() < LIMIT, "it has not begun");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_a_zombie_has_left_is_removed() {
    let (_place, temporary) = place();
    let mut run = test(&temporary, "redis-set-nx-px", "60s");
    until_in_full_swing(&temporary);
    assert!(clean(&temporary).contains(" 0 folders"), "it lives");
    ended(run.id(), "-KILL");
    until_no_processes(&temporary);
    let begun = Instant::now();
    // Nobody has asked yet how it ended.
    while stat_field(run.id(), 3).as_deref() != Some("Z") {
        assert!(begun.elapsed() < LIMIT, "it lives on");
        sleep(Duration::from_millis(10));
    }
    let report = clean(&temporary);
    assert!(report.contains("1 folder"), "{report}");
    assert_eq!(files(&temporary), 0);
    run.wait().expect("it has ended");
}

/// The same command, in a namespace of processes of its own.
fn in_a_namespace(command: &Command) -> Command {
    let mut unshare = Command::new("unshare");
    if !nix::unistd::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare.args(["--pid", "--fork", "--mount-proc", "--kill-child=KILL"]);
    unshare.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        unshare.env(name, value.expect("it is set"));
    }
    unshare.current_dir(command.get_current_dir().expect("a folder"));
    unshare.stdout(Stdio::piped()).stderr(Stdio::piped());
    unshare
}

#[test]
fn a_run_in_another_namespace_is_left_alone_until_it_has_ended() {
    let (_place, temporary) = place();
    let run = test_on("local", &temporary, "redis-set-nx-px", "60s");
    let mut run = in_a_namespace(&run).spawn().expect("`unshare` is there");
    until_in_full_swing(&temporary);
    for args in [&["clean"][..], &["clean", "--all"]] {
        let cleaned = picklock(&temporary, args).output().expect("it runs");
        let report = String::from_utf8_lossy(&cleaned.stdout).into_owned();
        let seen = std::fs::read_link("/proc/self/ns/pid").expect("a namespace");
        // From within a container it cannot be seen that it lives, and `--all` means that.
        if args.len() == 1 || seen.to_string_lossy().contains("4026531836") {
            assert!(report.contains(" 0 folders"), "{args:?}: {report}");
        }
    }
    ended(run.id(), "-KILL");
    run.wait().expect("it ends");
    let begun = Instant::now();
    // The first process of a namespace ends last, when all others have.
    while files(&temporary) > 0 {
        assert!(begun.elapsed() < LIMIT, "its folder is left");
        clean(&temporary);
    }
    until_no_processes(&temporary);
}

/// The things that Docker has of a run, by the process that owns it.
fn in_docker(owner: u32) -> usize {
    let label = "{{.Label \"picklock.owner\"}}";
    let of = |what: &[&str]| {
        let mut docker = Command::new("docker");
        docker.args(what).args(["--filter", "label=picklock.owner", "--format", label]);
        let output = docker.output().expect("docker is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let labels = String::from_utf8_lossy(&output.stdout).into_owned();
        labels.lines().filter(|it| it.starts_with(&format!("{owner} "))).count()
    };
    of(&["ps", "--all"]) + of(&["network", "ls"])
}

#[test]
fn a_run_in_containers_that_is_ended_at_any_moment_leaves_nothing() {
    ensure_image(&|_| ()).unwrap_or_else(|error| panic!("{error}"));
    let mut rng = Rng::new(std::process::id().into());
    for round in 0..rounds(4) {
        let (_place, temporary) = place();
        let (signal, algo) = (SIGNALS[round % 7], ["redis-set-nx-px", "zk-sequential"][round % 2]);
        let moment = Duration::from_millis(rng.below(5_000));
        let mut run = test_on("docker", &temporary, algo, "60s").spawn().expect("it starts");
        sleep(moment);
        ended(run.id(), signal);
        run.wait().expect("it ends");
        until_no_processes(&temporary);
        let what = format!("{algo}, {signal} after {moment:?}");
        let begun = Instant::now();
        // The engine may make only now what it was asked to make.
        let mut clear = 0;
        while signal == "-KILL" && clear < 3 {
            assert!(begun.elapsed() < LIMIT, "{what}: {} things are left", in_docker(run.id()));
            clean(&temporary);
            clear = if in_docker(run.id()) == 0 { clear + 1 } else { 0 };
            sleep(Duration::from_millis(300));
        }
        assert_eq!(in_docker(run.id()), 0, "{what}");
    }
}
