//! `picklock suite` as a user runs it: it is red in both directions, and a mistake in the file is
//! reported with its place.

mod command;

use command::{Bench, transcript};
use expect_test::{expect, expect_file};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const HOLDS: &str = "[[entry]]\nlock = \"zk-sequential\"\nnemesis = \"crash\"\nexpect = \"held\"\n";

fn suite(bench: &Bench, entries: &str) {
    let file = bench.home.path().join("suite.toml");
    fs::write(file, format!("version = 1\n\n{entries}")).expect("written");
}

fn run(entries: &str, more: &[&str]) -> (Bench, command::CommandOutput) {
    let bench = Bench::new();
    suite(&bench, entries);
    let output = bench.run(&[&["suite", "suite.toml", "--seeds", "5"], more].concat());
    (bench, output)
}

#[test]
fn entries_that_are_as_expected_are_green() {
    let caught = "[[entry]]\nlock = \"redis-set-nx-px\"\nnemesis = \"pause\"\n\
                  expect = { exclusion = \"double hold by holder-paused\" }\n";
    let (_, output) = run(&format!("{HOLDS}{caught}"), &[]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.out.contains("AS EXPECTED: 2 entries"), "{output:?}");
}

#[test]
fn a_program_is_not_as_expected_in_the_simulator_which_cannot_run_it() {
    let bench = Bench::new();
    let lock = "command = \"./my-lock\"\non = \"redis\"\n";
    fs::write(bench.home.path().join("my-lock.toml"), lock).expect("written");
    suite(&bench, &format!("{HOLDS}[[entry]]\nlock = \"my-lock.toml\"\nexpect = \"held\"\n"));
    let output = bench.run(&["suite", "suite.toml", "--seeds", "5"]);
    assert_ne!(output.code, 0, "{output:?}");
    assert!(output.out.contains("it is a program, which needs real servers"), "{output:?}");
    assert!(output.out.contains("2 entries"), "{output:?}");
}

#[test]
fn a_good_lock_that_breaks_and_a_bad_one_that_passes_are_red() {
    let mut reasons = String::new();
    for (entry, code) in [
        ("[[entry]]\nlock = \"redis-set-nx-px\"\nnemesis = \"pause\"\nexpect = \"held\"\n", 1),
        (
            "[[entry]]\nlock = \"redis-set-nx-px\"\n\
             expect = { exclusion = \"double hold by holder-paused\" }\n",
            0,
        ),
    ] {
        let (bench, output) =
            run(&format!("{HOLDS}{entry}"), &["--junit", "junit.xml", "--out", "out.json"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.out.contains("NOT AS EXPECTED: 2 entries"), "{output:?}");
        let read = |file| fs::read_to_string(bench.home.path().join(file)).expect("written");
        assert!(read("junit.xml").contains("<failure"), "it is a failed test case");
        let stored: serde_json::Value = serde_json::from_str(&read("out.json")).expect("JSON");
        assert_eq!(stored["entries"][1]["status"], "not-as-expected");
        let reason = stored["entries"][1]["reason"].as_str().expect("a reason");
        assert!(output.out.contains(reason), "{output:?}");
        reasons += &(reason.to_owned() + "\n");
        let folder = stored["entries"][1]["folder"].as_str().expect("the run is kept");
        assert!(bench.home.path().join(folder).join("report.html").is_file());
        assert_eq!(bench.run(&["check", folder]).code, code, "it can be judged");
    }
    expect![[r#"
        seed 0: exclusion: 13 of 29 grants were given while another hold forbade it
        double hold by holder-paused was not seen
    "#]]
    .assert_eq(&reasons);
}

#[test]
fn an_anomaly_by_another_cause_is_not_the_expected_one() {
    let entry = "[[entry]]\nlock = \"redis-set-nx-px\"\nnemesis = \"pause-client\"\n\
                 expect = { exclusion = \"double hold by server-forgets\" }\n";
    let (_, output) = run(entry, &[]);
    assert_eq!(output.code, 1, "{output:?}");
}

#[test]
fn runs_that_cannot_tell_are_neither_green_nor_red() {
    let entry = "[[entry]]\nlock = \"zk-sequential\"\nclients = 1\nexpect = \"held\"\n";
    let blind = "[[entry]]\nlock = \"redis-set-nx-px\"\nclients = 1\n\
                 expect = { exclusion = \"double hold by holder-paused\" }\n";
    for entry in [entry, blind] {
        let (_, output) = run(entry, &[]);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.out.contains("INCONCLUSIVE: 1 entry"), "{output:?}");
    }
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let lock = |rest: &str| format!("[[entry]]\nlock = \"zk-rw\"\n{rest}\n");
    let outputs = [
        String::new(),
        "[[entry]]\nlock = \"zk-wr\"\nexpect = \"held\"\n".into(),
        lock("expect = \"green\""),
        lock("ttl = \"soon\"\nexpect = \"held\""),
        lock("expcet = \"held\""),
        lock("nemesis = \"partition-ring\"\nexpect = \"held\""),
        lock("expect = { exclusion = \"double hold by evicted\" }"),
        lock("expect = { exclusoin = \"held\" }"),
        lock("hazards = [\"H99\"]\nexpect = \"held\""),
        format!("{HOLDS}{HOLDS}"),
    ]
    .map(|entries| run(&entries, &[]).1.to_string());
    expect_file!["snapshots/suites.txt"].assert_eq(&outputs.join("\n"));
}

#[test]
fn the_suite_to_begin_with_is_right_and_is_not_written_over_another() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["suite", "new.toml", "--init"]).code, 0);
    let output = bench.run(&["suite", "new.toml", "--seeds", "5"]);
    assert_eq!(output.code, 0, "{output:?}");
    transcript(&bench, "no-suite");
}

#[test]
fn shards_have_every_entry_once() {
    let count = |shard: &str| {
        let bench = Bench::new();
        assert_eq!(bench.run(&["suite", "new.toml", "--init"]).code, 0);
        let output = bench.run(&["suite", "new.toml", "--seeds", "5", "--shard", shard]);
        output.out.lines().filter(|line| line.contains("(sim)")).count()
    };
    assert_eq!(count("1/2") + count("2/2"), 3);
}

#[test]
fn figures_that_get_worse_than_the_baseline_tolerates_are_red() {
    let bench = Bench::new();
    suite(&bench, HOLDS);
    let run = |more: &[&str]| {
        let args = ["suite", "suite.toml", "--seeds", "5", "--baseline", "base.json"];
        bench.run(&[&args[..], more].concat())
    };
    expect![[r#"
        picklock: there is no `base.json`; --update-baseline writes one
        exit code 254
    "#]]
    .assert_eq(&run(&[]).to_string());
    assert_eq!(run(&["--update-baseline"]).code, 0);
    assert_eq!(run(&[]).code, 0, "the simulator gives the same figures again");
    let file = bench.home.path().join("base.json");
    let text = fs::read_to_string(&file).expect("written");
    let mut stored: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entry = &mut stored["entries"]["zk-sequential under crash (sim)"];
    entry["grants_mhz"] = (entry["grants_mhz"].as_u64().expect("measured") * 2).into();
    fs::write(&file, stored.to_string()).expect("written");
    let output = run(&[]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.out.contains("in the baseline (20 % is tolerated)"), "{output:?}");
}

#[test]
fn a_suite_that_is_interrupted_says_what_it_has_not_run() {
    let bench = Bench::new();
    let endless = "[[entry]]\nlock = \"zk-rw\"\nnemesis = \"crash\"\nexpect = \"held\"\n\
                   seeds = 1000000000\n";
    suite(&bench, &format!("{}seeds = 5\n\n{endless}", HOLDS));
    let args = ["suite", "suite.toml", "--jobs", "1", "--junit", "j.xml", "--summary", "s.md"];
    let mut running = bench.command(&args).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(running.stdout.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.contains("OK"), "{first}");
    let id = Pid::from_raw(running.id() as i32);
    kill(id, Signal::SIGINT).expect("it runs");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(running.wait().expect("it ends").code(), Some(130));
    let last = "INTERRUPTED: 1 entry";
    assert!(rest.iter().any(|line| line.starts_with(last) && line.ends_with("1 not run")));
    let written = |name: &str| fs::read_to_string(bench.home.path().join(name)).expect("a file");
    assert!(written("j.xml").contains("errors=\"1\""), "{}", written("j.xml"));
    assert!(written("s.md").contains(last), "{}", written("s.md"));
}

#[test]
fn the_name_of_an_entry_does_nothing_to_a_log_or_a_table() {
    let bench = Bench::new();
    let name = "a|b\\u001b[2J\\n::error ::x";
    let breaks = "[[entry]]\nlock = \"redis-set-nx-px\"\nnemesis = \"pause\"\nexpect = \"held\"\n";
    suite(&bench, &format!("{breaks}seeds = 5\nname = \"{name}\"\n"));
    let args = ["suite", "suite.toml", "--junit", "j.xml", "--summary", "s.md"];
    let output = bench.command(&args).env("GITHUB_ACTIONS", "true").output().expect("it starts");
    let output = command::CommandOutput::from(output);
    let written = |name: &str| fs::read_to_string(bench.home.path().join(name)).expect("a file");
    for text in [&output.out, &written("j.xml"), &written("s.md")] {
        assert!(!text.contains('\u{1b}') && text.contains("2J\\"), "{text}");
        let mut lines = text.lines().filter(|line| !line.starts_with("::error title=picklock%3A "));
        assert!(!lines.any(|line| line.starts_with("::")), "{text}");
    }
    assert!(written("s.md").contains("a\\|b"), "{}", written("s.md"));
}
