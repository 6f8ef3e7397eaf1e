//! `picklock sweep` as a user runs it: a short ttl breaks the lock, a long one is waited for.

mod command;

use command::{Bench, CommandOutput};
use expect_test::expect;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use std::fs;
use std::process::Stdio;

const ARGS: [&str; 11] = [
    "sweep",
    "--algo",
    "redis-set-nx-px",
    "--nemesis",
    "pause,crash",
    "--ttl",
    "200ms..10s",
    "--points",
    "3",
    "--seeds",
    "3",
];

#[test]
fn a_short_ttl_breaks_the_lock_and_a_long_one_loses_time() {
    let bench = Bench::new();
    let files = ["--svg", "trade.svg", "--html", "trade.html", "--format", "json"];
    let output = bench.run(&[&ARGS[..], &files].concat());
    assert_eq!(output.code, 0, "{output:?}");
    let sweep: serde_json::Value = serde_json::from_str(&output.out).expect("JSON");
    let of = |place: usize, name: &str| sweep["points"][place][name].as_u64();
    assert_eq!(of(0, "ttl_ns"), Some(200_000_000));
    assert_eq!(of(2, "ttl_ns"), Some(10_000_000_000));
    assert!(of(0, "overlaps") > of(2, "overlaps"), "{output:?}");
    assert_eq!(of(2, "violated"), Some(0), "no pause is longer than ten seconds");
    assert!(of(0, "lost_ns").is_some() && of(0, "lost_ns") < of(2, "lost_ns"), "{output:?}");
    let read = |file| fs::read_to_string(bench.home.path().join(file)).expect("written");
    assert_eq!(read("trade.svg").matches("<circle").count(), 2 * 3, "two curves of three points");
    let page = read("trade.html");
    assert!(page.contains("<svg") && page.contains("lost after a death"), "both are there");
    // The command that it names says the same.
    let command = sweep["command"].as_str().expect("a command");
    let args: Vec<&str> = command.split(' ').skip(1).chain(["--format", "json"]).collect();
    assert_eq!(bench.run(&args).out, output.out);
}

#[test]
fn faults_are_as_long_as_they_are_asked_to_be() {
    let bench = Bench::new();
    let args = ["test", "--algo", "redis-set-nx-px", "--nemesis", "pause-client", "--seed", "1"];
    let more = ["--backend", "sim", "--ttl", "30s", "--fault-scale", "1s", "--time-limit", "20s"];
    let output = bench.run(&[&args[..], &more].concat());
    assert_eq!(output.code, 0, "no pause outlives the ttl: {output:?}");
    let command = output.out.lines().find(|line| line.starts_with("run it again"));
    expect!["run it again     picklock test --algo redis-set-nx-px --nemesis pause-client --backend sim --seed 1 --time-limit 20s --ttl 30s --fault-scale 1s"].assert_eq(command.expect("a command"));
}

#[test]
fn a_file_that_cannot_be_written_is_found_before_the_runs_or_leaves_the_table() {
    let bench = Bench::new();
    // Nobody makes files in there, whoever he is.
    let output = bench.run(&[&ARGS[..], &["--svg", "/sys/trade.svg"]].concat());
    output.refuses(255, &["cannot write `/sys/trade.svg`: ", "name another file with --svg"]);
    let errors = ["--svg", "--html"].map(|flag| {
        let output = bench.run(&[&ARGS[..], &[flag, "/dev/full"]].concat());
        assert_eq!((output.code, output.out.matches(" of 3").count()), (255, 3), "{output:?}");
        output.err
    });
    expect![[r#"
        picklock: cannot write `/dev/full`: No space left on device (os error 28)
        picklock: cannot write `/dev/full`: No space left on device (os error 28)
    "#]]
    .assert_eq(&errors.concat());
}

#[test]
fn ctrl_c_tells_and_writes_what_was_measured_so_far() {
    let bench = Bench::new();
    let endless = ["--seeds", "100000000", "--svg", "trade.svg", "--html", "trade.html"];
    let mut command = bench.command(&[&ARGS[..9], &endless].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    pause();
    let pid = Pid::from_raw(child.id() as i32);
    signal::kill(pid, Signal::SIGINT).expect("signalled");
    let output = CommandOutput::from(child.wait_with_output().expect("ends"));
    assert_eq!(output.code, 130, "{output:?}");
    let last = output.out.lines().last().expect("a last line");
    assert!(last.starts_with("INCOMPLETE: interrupted after "), "{output:?}");
    assert!(last.ends_with(" of 300000000 runs"), "{output:?}");
    assert!(output.out.lines().nth(3).expect("a row").contains("200 ms"), "{output:?}");
    for (file, mark) in [("trade.svg", "(interrupted after "), ("trade.html", "Incomplete: ")] {
        let text = fs::read_to_string(bench.home.path().join(file)).expect("written");
        assert!(text.contains(mark), "{file}: {text}");
    }
}

/// Waits long enough for each ttl to have had a run; the sweep would go on for hours.
#[expect(clippy::disallowed_methods, reason = "waits for a process of its own")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_secs(2));
}
