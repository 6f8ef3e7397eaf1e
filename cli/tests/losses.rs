//! Losses of output that cannot be printed or stored: none goes without a word, and none takes the
//! verdict with it.

mod command;

use command::{Bench, CommandOutput};
use expect_test::expect;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::symlink;
use std::process::Stdio;

/// Runs a command whose stdout takes nothing, as on a full disk.
fn to_full_disk(bench: &Bench, args: &str) -> CommandOutput {
    let args: Vec<&str> = args.split(' ').collect();
    let full = OpenOptions::new().write(true).open("/dev/full").expect("the kernel has one");
    CommandOutput::from(bench.command(&args).stdout(full).output().expect("picklock starts"))
}

#[test]
fn output_that_is_lost_is_an_error_of_every_command() {
    let cli = Bench::new();
    assert_eq!(cli.test("redis-getset", "none", "1").code, 0);
    cli.run(&[
        "explore",
        "--algo",
        "zk-rw",
        "--seeds",
        "1",
        "--time-limit",
        "2s",
        "--out",
        "o.json",
    ]);
    for args in [
        "--help",
        "list",
        "list --format json",
        "test --algo redis-getset --backend sim --seed 1",
        "explore --algo zk-rw --seeds 10 --time-limit 5s --format json",
        "explore --exhaustive --algo redis-set-nx-px --ttl unlimited",
        "replay 1 --algo redis-getset",
        "merge o.json",
        "check store/latest",
        "check store/latest --model owner-mutex --format json",
        "check store/latest --export edn",
        "bench sim --rounds 1 --time 1ms",
    ] {
        let output = to_full_disk(&cli, args);
        assert_eq!(output.code, 255, "{args}: {output:?}");
        assert!(output.err.contains("cannot write to stdout: No space left"), "{args}: {output:?}");
    }
}

#[test]
fn a_violation_stays_one_and_is_reported_wherever_that_can_be_done() {
    let cli = Bench::new();
    let run = "test --algo redis-set-nx-px --nemesis pause --backend sim --seed 1";
    for args in [run, "check store/latest"] {
        let output = to_full_disk(&cli, args);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.err.contains("VIOLATED"), "{output:?}");
    }
}

#[test]
fn a_reader_that_has_gone_away_wants_no_more() {
    let cli = Bench::new();
    for args in [&["list"][..], &["--help"], &["bench", "sim", "--rounds", "1", "--time", "1ms"]] {
        let mut child = cli
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("picklock starts");
        drop(child.stdout.take());
        let output = CommandOutput::from(child.wait_with_output().expect("ends"));
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn notes_that_nobody_can_read_do_not_matter() {
    let cli = Bench::new();
    let full = OpenOptions::new().write(true).open("/dev/full").expect("the kernel has one");
    let output = cli.command(&["check", "nowhere"]).stderr(full).output().expect("starts");
    assert_eq!(output.status.code(), Some(254));
}

#[test]
fn a_store_that_takes_nothing_leaves_the_verdict() {
    let cli = Bench::new();
    // Nobody makes folders in there, whoever he is.
    let into_sys = |algo: &str, nemesis: &str| {
        let test = ["test", "--algo", algo, "--nemesis", nemesis, "--seed", "1"];
        cli.run(&[&test[..], &["--backend", "sim", "--store", "/sys/picklock"]].concat())
    };
    for (algo, nemesis, code, word) in
        [("redis-getset", "none", 255, "HELD"), ("redis-set-nx-px", "pause", 1, "VIOLATED")]
    {
        let output = into_sys(algo, nemesis);
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.out.contains(word), "{output:?}");
        assert!(output.err.contains("/sys/picklock"), "{output:?}");
    }
}

/// The folder is tried before there is anything to lose.
#[test]
fn many_runs_begin_only_where_they_can_be_stored() {
    let cli = Bench::new();
    for (command, flag) in
        [(&["survey"][..], "--store"), (&["explore", "--shrink"], "--counterexamples")]
    {
        let args = [command, &["--algo", "redis-set-nx-px", flag, "/sys/picklock"]].concat();
        let output = cli.run(&args);
        assert_eq!((output.code, &*output.out), (255, ""), "{output:?}");
        let begins = "picklock: cannot write the folder `/sys/picklock`: ";
        let ends = format!("; name another with {flag}\n");
        assert!(output.err.starts_with(begins) && output.err.ends_with(&ends), "{output:?}");
    }
}

#[test]
fn a_store_that_vanishes_during_the_run_leaves_the_verdict() {
    let cli = Bench::new();
    let store = cli.home.path().join("store");
    let child = cli
        .command(&[
            "test",
            "--algo",
            "zk-rw",
            "--backend",
            "sim",
            "--seed",
            "1",
            "--time-limit",
            "3h",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("picklock starts");
    while !store.join("latest").exists() {
        std::thread::yield_now();
    }
    fs::rename(&store, cli.home.path().join("gone")).expect("renamed");
    let output = CommandOutput::from(child.wait_with_output().expect("ends"));
    assert_eq!(output.code, 255, "{output:?}");
    assert!(output.out.contains("HELD"), "{output:?}");
    for name in ["schedule.json", "verdict.json", "report.html"] {
        assert!(output.err.contains(name), "{name}: {output:?}");
    }
}

#[test]
fn what_cannot_be_written_is_named_beside_the_verdict() {
    let cli = Bench::new();
    cli.test("redis-getset", "none", "1");
    let folder = fs::canonicalize(cli.home.path().join("store/latest")).expect("a run");
    fs::remove_file(folder.join("report.html")).expect("removed");
    fs::create_dir(folder.join("report.html")).expect("a folder in its place");
    let output = cli.run(&["check", "store/latest"]);
    assert_eq!(output.code, 255, "{output:?}");
    assert!(output.out.contains("HELD"), "{output:?}");
    expect![[r#"
        picklock: cannot write `store/latest/report.html`: Is a directory (os error 21)
        picklock: HELD, but not without the errors above
    "#]]
    .assert_eq(&cli.with_latest(&output.err));
    let search = "explore --algo zk-rw --seeds 10 --time-limit 5s --out /dev/full";
    let output = cli.run(&search.split(' ').collect::<Vec<_>>());
    assert_eq!(output.code, 255, "{output:?}");
    assert!(output.out.contains("HELD"), "{output:?}");
    expect![[r#"
        picklock: cannot write `/dev/full`: No space left on device (os error 28)
        picklock: HELD, but not without the errors above
    "#]]
    .assert_eq(&output.err);
}

/// The number of judges of one folder at the same time, and of judgements by each.
const JUDGES: usize = 8;
const TIMES: usize = 10;

#[test]
fn many_judge_one_folder_at_the_same_time() {
    let cli = Bench::new();
    cli.test("redis-getset", "none", "1");
    std::thread::scope(|scope| {
        for _ in 0..JUDGES {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    let output = cli.run(&["check", "store/latest"]);
                    assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
                }
            });
        }
    });
    let left = fs::read_dir(cli.home.path().join("store/latest")).expect("listed").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("part")), "{left:?}");
}

/// A disk that fills up in the middle: the history ends, the run does not.
#[test]
fn a_history_that_cannot_be_written_on_is_a_loss() {
    use base::{F, Kind, Mono, Process};
    use drive::Recorder;
    let home = tempfile::TempDir::new().expect("a folder");
    let stop = (Mono::ZERO, Process::Nemesis, Kind::Info, F::Stop);
    let path = home.path().join("history.jsonl");
    let mut recorder = Recorder::to_file(&path).expect("it can be written");
    recorder.push(stop, |_| {});
    recorder.stored().expect("all of it");
    let mut recorder = Recorder::to_file(&path).expect("it can be written");
    fs::remove_file(&path).expect("removed");
    recorder.push(stop, |_| {});
    let error = recorder.stored().expect_err("it is gone").to_string();
    assert!(error.contains("was removed during the run"), "{error}");
    symlink("/dev/full", &path).expect("linked");
    let error = Recorder::to_file(&path).err().expect("it takes nothing");
    assert!(format!("{error:#}").contains("No space left"), "{error:#}");
}
