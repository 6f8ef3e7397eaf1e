//! The command line as a user meets it: exit codes, one clear line for bad input, a run folder that
//! can be judged again, and nothing half-written.

mod command;

use command::{Bench, CommandOutput, transcript};
use expect_test::expect;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn latest(bench: &Bench) -> PathBuf {
    bench.home.path().join("store/latest")
}

/// A file of the latest run.
fn read(bench: &Bench, name: &str) -> String {
    fs::read_to_string(latest(bench).join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn verdict(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path.join("verdict.json")).expect("verdict.json");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_run_leaves_a_folder_that_is_judged_again_with_the_same_verdict() {
    let cli = Bench::new();
    let run = cli.test("zk-rw", "partition", "5");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.trim_end().ends_with("HELD"), "{run:?}");
    assert!(read(&cli, "report.html").starts_with("<!DOCTYPE html>"));
    let first = verdict(&latest(&cli));
    fs::remove_file(latest(&cli).join("verdict.json")).expect("removed");
    let again = cli.run(&["check", "store/latest"]);
    assert_eq!((again.code, verdict(&latest(&cli))), (0, first), "{}", again.err);
}

/// Returns the words of a text, however its lines are broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_example_of_the_readme_is_what_its_command_says() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(readme).expect("a README");
    let (_, example) = readme.split_once("$ cargo run --release -- ").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let (command, shown) = example.split_once('\n').expect("its output");
    let output = Bench::new().run(&command.split(' ').collect::<Vec<_>>());
    for part in shown.split("\n\n").map(words) {
        assert!(words(&output.out).contains(&part), "`{part}` is not in: {}", output.out);
    }
}

#[test]
fn a_violation_ends_with_1_and_says_that_it_was_expected() {
    let run = Bench::new().test("redis-set-nx-px", "pause", "1");
    assert_eq!(run.code, 1, "{run:?}");
    expect!["VIOLATED: double hold, lost update, stale write accepted — a known weakness of this lock (H7: a paused holder outlives its ttl and writes on, docs/hazards.md#h7)"].assert_eq(run.out.lines().last().unwrap_or_default());
}

#[test]
fn an_expected_outcome_is_0_another_1_and_none_2() {
    let cli = Bench::new();
    let run = |algo, nemesis, more: &[&str]| {
        let args = ["test", "--algo", algo, "--nemesis", nemesis, "--seed", "1"];
        cli.run(&[&args[..], &["--backend", "sim"], more].concat())
    };
    for (algo, expected, code, word) in [
        ("redis-set-nx-px", "violated", 0, "picklock: as expected"),
        ("redis-set-nx-px", "held", 1, "picklock: not as expected"),
        ("redis-getset", "held", 0, "picklock: as expected"),
        ("redis-getset", "violated", 1, "picklock: not as expected"),
    ] {
        let nemesis = if algo == "redis-getset" { "none" } else { "pause" };
        let output = run(algo, nemesis, &["--expect", expected]);
        assert_eq!((output.code, output.err.trim_end()), (code, word), "{output:?}");
    }
    for expected in ["violated", "held"] {
        let alone = run("zk-sequential", "none", &["--clients", "1", "--expect", expected]);
        assert_eq!(alone.code, 2, "{alone:?}");
    }
}

#[test]
fn a_seed_gives_the_same_history_byte_for_byte() {
    let (one, two) = (Bench::new(), Bench::new());
    one.test("zk-sequential", "crash", "7");
    two.test("zk-sequential", "crash", "7");
    assert!(read(&one, "history.jsonl") == read(&two, "history.jsonl"));
}

#[test]
fn json_is_one_object_on_stdout() {
    let cli = Bench::new();
    let args = ["test", "--algo", "redis-getset", "--backend", "sim", "--seed", "1"];
    let run = cli.run(&[&args[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((json["outcome"].as_str(), run.code), (Some("held"), 0));
    assert_eq!(json["run"]["algo"], "redis-getset");
}

#[test]
fn bad_arguments_are_refused_and_nothing_is_written() {
    let cli = Bench::new();
    fs::write(cli.home.path().join("file"), "").expect("written");
    transcript(&cli, "bad-arguments");
    assert!(!cli.home.path().join("store").exists());
}

#[test]
fn what_cannot_be_judged_gets_one_line() {
    let cli = Bench::new();
    fs::write(cli.home.path().join("history.edn"), "").expect("written");
    fs::write(cli.home.path().join("notes.txt"), "hello").expect("written");
    transcript(&cli, "unjudged");
    cli.test("redis-getset", "none", "1");
    fs::write(latest(&cli).join("history.jsonl"), "hello\n").expect("written");
    let output = cli.run(&["check", "store/latest"]);
    expect![[r#"
        picklock: `store/latest/history.jsonl`: line 1: not a picklock history (its first line is {"picklock_history":2})
        exit code 254
    "#]].assert_eq(&cli.with_latest(&output.to_string()));
}

#[test]
fn a_history_that_was_cut_off_is_judged_up_to_there() {
    let cli = Bench::new();
    cli.test("redis-set-nx-px", "pause", "1");
    let history = read(&cli, "history.jsonl");
    let most = &history[..history.len() * 9 / 10];
    fs::write(latest(&cli).join("history.jsonl"), most).expect("written");
    let output = cli.run(&["check", "store/latest"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.err.contains("ends in the middle of a line"), "{output:?}");
}

#[test]
fn a_run_without_a_seed_is_the_first_of_many_that_breaks_a_promise() {
    let cli = Bench::new();
    let test = |algo: &str, nemesis: &str, more: &[&str]| {
        let test = ["test", "--algo", algo, "--nemesis", nemesis, "--backend", "sim"];
        cli.run(&[&test[..], more].concat())
    };
    // One schedule in 20 shows it.
    let output = test("redis-set-nx-px", "failover", &["--on", "redis-sentinel"]);
    assert_eq!(output.code, 1, "{output:?}");
    let words: Vec<&str> = output.out.split_whitespace().collect();
    let breaks = words.windows(2).find_map(|it| (it[1] == "breaks").then_some(it[0]));
    let seed = breaks.unwrap_or_else(|| panic!("{output:?}"));
    let again = test("redis-set-nx-px", "failover", &["--on", "redis-sentinel", "--seed", seed]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.out.starts_with("picklock"), "just this one: {again:?}");
    let output = test("redis-set-nx-px-fixed", "none", &["--format", "json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let line = output.err.lines().last().unwrap_or_default();
    assert!(
        line.ends_with(" held") && line.contains(" schedules in the simulator (seeds "),
        "{line}"
    );
    let quiet = test("redis-set-nx-px", "none", &["-q"]);
    assert_eq!((&*quiet.out, &*quiet.err), ("HELD\n", ""), "{quiet:?}");
}

#[test]
fn a_survey_that_allows_known_weaknesses_ends_with_0_for_them() {
    let cli = Bench::new();
    let survey = ["survey", "--algo", "redis-set-nx-px", "--nemesis", "pause-client"];
    let survey = [&survey[..], &["--runs", "4", "--backend", "sim"]].concat();
    assert_eq!(cli.run(&survey).code, 1);
    let known = cli.run(&[&survey[..], &["--allow-known", "--format", "json"]].concat());
    assert_eq!(known.code, 0);
    let card: serde_json::Value = serde_json::from_str(&known.out).expect("JSON");
    expect!["picklock survey --algo redis-set-nx-px --nemesis pause-client --runs 4 --backend sim --time-limit 24s"].assert_eq(card["command"].as_str().expect("a command"));
}

#[test]
fn ctrl_c_keeps_the_history() {
    let cli = Bench::new();
    let args = ["test", "--algo", "zk-rw", "--nemesis", "partition", "--backend", "sim"];
    let child = cli
        .command(&[&args[..], &["--time-limit", "24h"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("picklock starts");
    let history = latest(&cli).join("history.jsonl");
    let begun = || fs::metadata(&history).is_ok_and(|file| file.len() > 10_000);
    for _ in 0..2_000 {
        if begun() {
            break;
        }
        pause();
    }
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("signalled");
    let output = CommandOutput::from(child.wait_with_output().expect("ends"));
    expect![[r#"
        picklock: interrupted; everything is healed and removed, and the history so far is kept: picklock check store/latest
        exit code 130
    "#]].assert_eq(&cli.with_latest(&output.to_string()));
    let judged = cli.run(&["check", "store/latest"]);
    assert!([0, 2].contains(&judged.code), "{judged:?}");
    let last = read(&cli, "history.jsonl");
    assert!(last.ends_with("}\n"), "no line is cut off");
    let (faults, heals) = (count(&last, "fault"), count(&last, "heal"));
    assert_eq!(faults, heals, "every fault is healed");
}

/// Counts the faults that began, or were healed, in a history.
fn count(history: &str, f: &str) -> usize {
    let needle = format!(r#""type":"info","f":"{f}""#);
    history.lines().filter(|line| line.contains(&needle)).count()
}

#[expect(clippy::disallowed_methods, reason = "waits for a process of its own")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(5));
}

/// A build that lacks worlds has less to say.
#[cfg(feature = "docker")]
#[test]
fn every_command_has_its_help_and_the_lists_are_whole() {
    let cli = Bench::new();
    transcript(&cli, "help");
    transcript(&cli, "list");
}

#[test]
fn advice_names_flags_that_exist_and_helps() {
    let cli = Bench::new();
    let alone = ["test", "--algo", "redis-set-nx-px", "--backend", "sim", "--seed", "1"];
    let output = cli.run(&[&alone[..], &["--clients", "1"]].concat());
    assert_eq!(output.code, 2, "{output:?}");
    expect!["INCONCLUSIVE: coverage: one client alone has no rival (90 grants by 1 process, 0 contended); give it more --clients"].assert_eq(output.out.lines().last().unwrap_or_default());
    assert_eq!(cli.run(&alone).code, 0);
}

#[cfg(feature = "docker")]
#[test]
fn what_real_servers_cannot_do_is_refused_before_the_run() {
    let cli = Bench::new();
    let test = ["test", "--algo", "zk-rw", "--nemesis", "pause,clock-jump", "--time-limit", "5s"];
    let refused = cli.run(&[&test[..], &["--backend", "docker"]].concat());
    expect![[r#"
        picklock: real servers cannot set the clock of a server: ZooKeeper counts by its monotonic clock, which nobody can set; the faults of this run need it: give --backend sim
        exit code 254
    "#]].assert_eq(&refused.to_string());
    let simulated = cli.run(&test);
    assert!([0, 1, 2].contains(&simulated.code), "{simulated:?}");
    assert!(simulated.err.contains("running in the simulator: real servers"), "{simulated:?}");
}

#[cfg(feature = "real")]
#[test]
fn a_server_that_is_missing_is_named_in_one_line_with_its_package() {
    let cli = Bench::new();
    for (algo, package) in [
        ("redis-set-nx-px", "install the package redis-server"),
        ("memcached-add", "install the package memcached"),
        ("zk-rw", "install the package default-jre-headless"),
    ] {
        let test = ["test", "--algo", algo, "--time-limit", "1s", "--backend"];
        let without = |backend| {
            let mut command = cli.command(&[&test[..], &[backend]].concat());
            command.env("PATH", cli.home.path()).env("DOCKER_HOST", "unix:///nowhere");
            CommandOutput::from(command.output().expect("picklock starts"))
        };
        without("local").refuses(255, &["this machine has no", package]);
        let simulated = without("auto");
        assert!([0, 1, 2].contains(&simulated.code), "{simulated:?}");
        assert!(simulated.err.contains("running in the simulator"), "{simulated:?}");
        assert!(simulated.err.contains(package), "{simulated:?}");
    }
}

#[cfg(feature = "real")]
#[test]
fn a_run_on_real_servers_names_its_backend_and_is_replayed_there() {
    let cli = Bench::new();
    let test = ["test", "--algo", "redis-set-nx-px", "--time-limit", "1s", "--seed", "1"];
    let mut command = cli.command(&[&test[..], &["--nemesis", "none"]].concat());
    let output =
        CommandOutput::from(command.env("DOCKER_HOST", "unix:///nowhere").output().expect("a run"));
    // There may be too few grants for a verdict, or a stall of the machine.
    assert!([0, 2].contains(&output.code), "{output:?}");
    assert!(output.err.contains("running on real servers (local)"), "{output:?}");
    let run = std::fs::read_to_string(cli.home.path().join("store/latest/run.json"));
    assert!(run.expect("a header").contains("\"backend\": \"local\""));
    let replayed = cli.run(&["replay", "store/latest", "--backend", "local"]);
    assert!([0, 2].contains(&replayed.code), "{replayed:?}");
    assert!(replayed.out.contains("backend local"), "{replayed:?}");
}

#[test]
fn the_simulator_is_measured_a_line_a_scenario() {
    let cli = Bench::new();
    let bench = ["bench", "sim", "--rounds", "1", "--time", "1ms"];
    let json = cli.run(&[&bench[..], &["--format", "json"]].concat());
    assert_eq!(json.code, 0, "{json:?}");
    for scenario in picklock::scenario::SCENARIOS {
        let line = json.out.lines().find(|line| line.contains(scenario.name)).expect("its line");
        let line: serde_json::Value = serde_json::from_str(line).expect("a JSON object");
        for figure in ["runs_per_second", "events_per_second", "operations_per_run"] {
            assert!(line[figure].as_f64().is_some_and(|n| n > 0.0), "{figure} in {line}");
        }
    }
}
