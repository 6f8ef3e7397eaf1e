//! `picklock explore` and `merge` as a user meets them: the same result however the seeds are
//! spread over threads and machines, honest exit codes, one line for what does not go together.

mod command;

use base::{Cause, RunSpec};
use command::{Bench, transcript};
use expect_test::expect;
use nix::sys::signal::Signal;
use picklock::schedule::{Schedule, Shows};
use picklock::setup::Setup;
use picklock::shrink::{is_small, shrink};
use picklock::simulate;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn picklock(home: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args(args.split(' ')).current_dir(home).stdin(Stdio::null());
    command.output().expect("picklock starts")
}

#[track_caller]
fn output_of(home: &Path, args: &str, code: i32) -> (String, String) {
    let output = picklock(home, args);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args}\n{out}{err}");
    (out, err)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

const SEARCH: &str = "explore --algo redis-set-nx-px --nemesis pause --time-limit 10s";

#[test]
fn shards_and_threads_do_not_change_the_result() {
    let bench = Bench::new();
    let home = bench.home.path();
    let (whole, _) = output_of(home, &format!("{SEARCH} --seeds 30 --jobs 1 --format json"), 1);
    for shard in 1..=3 {
        let args = format!("{SEARCH} --seeds 30 --jobs 2 --shard {shard}/3 --out {shard}.json");
        let exit = picklock(home, &args).status.code();
        assert!([Some(0), Some(1)].contains(&exit), "{exit:?}");
    }
    let (merged, _) = output_of(home, "merge 3.json 1.json 2.json --format json", 1);
    assert_eq!(json(&merged), json(&whole));
    transcript(&bench, "merge");
}

#[test]
fn until_found_stops_at_the_first_violation_whatever_the_threads() {
    let home = TempDir::new().expect("a folder");
    let home = home.path();
    // Fast links make this deadlock rare.
    let args = "explore --algo redis-setnx-expire --nemesis crash --seeds 500 --time-limit 10s \
                --first-seed 1 --until-found --format json";
    let found = json(&output_of(home, &format!("{args} --jobs 1"), 1).0);
    assert_eq!(json(&output_of(home, &format!("{args} --jobs 3"), 1).0), found);
    let first = found["first_violation"].as_u64().expect("a seed");
    assert_eq!(found["seeds"][0]["end"].as_u64(), Some(first + 1));
    assert_eq!(found["violated"], 1);
}

#[test]
fn what_was_shrunk_fits_on_a_screen_and_replays() {
    let home = TempDir::new().expect("a folder");
    let home = home.path();
    let (out, _) =
        output_of(home, &format!("{SEARCH} --seeds 30 --shrink --counterexamples found"), 1);
    assert!(out.contains("double hold of redis-set-nx-px (ttl 4 s) with 2 clients, 1 fault"));
    let file = "found/redis-set-nx-px+pause+double-hold+holder-paused.json";
    let read = Schedule::read(&home.join(file), &workloads::lock);
    let (schedule, lock) = read.expect("a schedule");
    assert!(is_small(&lock, &schedule), "{out}");
    let (replayed, _) = output_of(home, &format!("replay {file} --backend sim"), 1);
    let story: String = replayed.split_inclusive("\n\n").take(2).collect();
    assert!(out.contains(&story), "{out}\n{replayed}");
}

#[test]
fn what_more_quiet_would_end_is_shrunk_too() {
    let lock = workloads::lock("zk-rw-as-printed").expect("a lock of the catalogue");
    let usual = lock.info.run("partition-client,partition,clock-freeze-server", 48231);
    let setup = Setup::new(&lock, RunSpec { swarm: true, task: "two-keys".into(), ..usual });
    let (_, schedule) = simulate::record(&setup.expect("a run")).expect("the simulator runs");
    let (property, anomaly) = ("progress".to_owned(), "deadlock".to_owned());
    let shows = Shows { property, anomaly, cause: Some(Cause::Recipe) };
    let shows_it =
        |schedule: &Schedule| simulate::replay(&lock, schedule).is_ok_and(|run| shows.is_in(&run));
    assert!(shows_it(&schedule) && !shows_it(&schedule.with_more_quiet()));
    let shrunk = shrink(&lock, &schedule, &shows, &mut |tried| tried < 20);
    assert!(shows_it(&shrunk.expect("it shows a deadlock").schedule));
}

#[test]
fn what_a_replay_says_runs_it_again() {
    let home = TempDir::new().expect("a folder");
    let home = home.path();
    let history = || std::fs::read(home.join("store/latest/history.jsonl")).expect("a history");
    let seed = "replay 3 --algo redis-set-nx-px --nemesis pause --clients 4 --ttl 1s500ms";
    // As a swarm varies it, and as it was asked for.
    let mut first = Vec::new();
    for args in [seed.to_owned(), format!("{seed} --fixed")] {
        let (out, _) = output_of(home, &args, 1);
        let before = std::mem::replace(&mut first, history());
        assert!(first != before, "{args}");
        let again = out.lines().find_map(|line| line.strip_prefix("run it again     picklock "));
        let (out, _) = output_of(home, again.expect("a command"), 1);
        assert!(first == history(), "{out}");
    }
    // A run folder and a file are named as they were given.
    let (out, _) = output_of(home, "replay store/latest", 1);
    assert!(!out.contains("store/latest"), "{out}");
    let again = out.lines().find_map(|line| line.strip_prefix("run it again     picklock "));
    assert!(again.is_some_and(|line| line.starts_with("replay store/redis-set-nx-px+pause/")));
    assert!(first == history(), "{out}");
}

#[test]
fn what_is_searched_says_how_much_it_supports() {
    transcript(&Bench::new(), "explore");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bench = Bench::new();
    fs::write(bench.home.path().join("notes"), "hello").expect("written");
    transcript(&bench, "unexplored");
}

#[test]
fn ctrl_c_says_what_was_searched_so_far() {
    let home = TempDir::new().expect("a folder");
    let args = "explore --algo zk-rw --nemesis crash --seeds 100000000 --format json";
    let child = Command::new(env!("CARGO_BIN_EXE_picklock"))
        .args(args.split(' '))
        .current_dir(home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("picklock starts");
    pause();
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, Signal::SIGINT).expect("signalled");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(130));
    let tally = json(&String::from_utf8(output.stdout).expect("UTF-8"));
    let held = tally["held"].as_u64().expect("a number");
    assert!(held > 0, "{tally}");
    // What was asked for stands beside what was searched.
    assert_eq!(tally["asked"][0]["end"], 100_000_000, "{tally}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
}

/// There is no room for as many stacks as are asked for. (A limit on processes does not hold for
/// root.)
#[test]
fn a_search_makes_do_with_the_threads_that_there_are() {
    let home = TempDir::new().expect("a folder");
    let search = "ulimit -v 3000000; exec \"$0\" explore --algo zk-rw --seeds 20 --jobs 1500";
    let mut limited = Command::new("sh");
    limited.args(["-c", search, env!("CARGO_BIN_EXE_picklock")]).current_dir(home.path());
    let output = limited.env("MALLOC_ARENA_MAX", "1").output().expect("sh starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn files_may_be_open_as_the_machine_allows() {
    let search = "ulimit -Sn 64; exec \"$0\" explore --algo zk-rw --seeds 100000000";
    let mut limited = Command::new("sh");
    limited.args(["-c", search, env!("CARGO_BIN_EXE_picklock")]);
    let home = TempDir::new().expect("a folder");
    let mut child = limited.current_dir(home.path()).spawn().expect("sh starts");
    pause();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).expect("limits");
    child.kill().and_then(|()| child.wait()).expect("ended");
    let files = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    let numbers: Vec<&str> =
        files.split_whitespace().filter(|it| it.parse::<u64>().is_ok()).collect();
    assert!(numbers[0] == numbers[1] && numbers[1] != "64", "{files}");
}

/// Sends signals to a search that would go on for hours, all at one moment. Returns its exit code
/// and its stderr.
fn signalled(signals: &[Signal]) -> (Option<i32>, String) {
    let home = TempDir::new().expect("a folder");
    let mut search = Command::new(env!("CARGO_BIN_EXE_picklock"));
    search.args("explore --algo zk-rw --seeds 100000000 --time-limit 1h --fixed".split(' '));
    search.current_dir(home.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = search.spawn().expect("picklock starts");
    pause();
    let id = nix::unistd::Pid::from_raw(child.id() as i32);
    for signal in [&[Signal::SIGSTOP], signals, &[Signal::SIGCONT]].concat() {
        nix::sys::signal::kill(id, signal).expect("signalled");
    }
    let output = child.wait_with_output().expect("ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn each_way_to_ask_for_an_end_is_heard_and_the_second_says_what_it_leaves() {
    let (code, stderr) = signalled(&[Signal::SIGQUIT]);
    assert_eq!(code, Some(130), "{stderr}");
    expect![[r#"
        picklock: interrupted; this is what was searched so far
    "#]]
    .assert_eq(&stderr);
    let (code, stderr) = signalled(&[Signal::SIGINT, Signal::SIGTERM]);
    assert_eq!(code, Some(130), "{stderr}");
    expect![[r#"
        picklock: ended at once; no server was started, so nothing runs on
    "#]]
    .assert_eq(&stderr);
}

/// Waits long enough for the search to have begun; it would go on for hours.
#[expect(clippy::disallowed_methods, reason = "waits for a process of its own")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_secs(2));
}
