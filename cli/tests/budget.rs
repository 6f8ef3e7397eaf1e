//! Every command that reads a file keeps to a budget, whatever the file does and says.

mod command;

use command::{Bench, CommandOutput};
use expect_test::{expect, expect_file};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Makes a FIFO. To open it for reading waits for a writer.
fn fifo(bench: &Bench, name: &str) {
    let made = Command::new("mkfifo").arg(bench.home.path().join(name)).status();
    assert!(made.expect("mkfifo starts").success());
}

/// Runs a command with a writer that says this much and then stalls until the command has ended.
fn stalled(bench: &Bench, text: &str, args: &[&str]) -> CommandOutput {
    let mut command = bench.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("picklock starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(text.as_bytes()).expect("written");
    let output = CommandOutput::from(child.wait_with_output().expect("ends"));
    drop(pipe);
    output
}

const SHORT: [&str; 2] = ["--time-budget", "500ms"];

#[test]
fn nobody_waits_for_a_writer_that_never_comes() {
    let bench = Bench::new();
    fifo(&bench, "fifo");
    bench.test("redis-set-nx-px", "none", "1");
    let history = fs::canonicalize(bench.home.path().join("store/latest")).expect("a run");
    fs::remove_file(history.join("history.jsonl")).expect("removed");
    fifo(&bench, history.join("history.jsonl").to_str().expect("a path"));
    let of_entry = |field: &str| format!("version = 1\n[[entry]]\nexpect = \"held\"\n{field}\n");
    let scripted = of_entry("lock = \"zk-rw\"\nscript = \"fifo\"");
    fs::write(bench.home.path().join("scripted.toml"), scripted).expect("written");
    std::os::unix::fs::symlink("fifo", bench.home.path().join("lock.toml")).expect("linked");
    fs::write(bench.home.path().join("own.toml"), of_entry("lock = \"lock.toml\""))
        .expect("written");
    fs::write(bench.home.path().join("suite.toml"), of_entry("lock = \"zk-rw\"")).expect("written");
    let outputs = [
        "check fifo --model mutex",
        "check store/latest",
        "check store/latest --export edn",
        "replay fifo",
        "replay 1 --algo zk-rw --script fifo",
        "merge fifo",
        "test --algo zk-rw --script fifo",
        "test --lock fifo",
        "explore --algo zk-rw --script fifo",
        "survey --lock fifo",
        "client check --lock fifo",
        "suite fifo",
        "suite scripted.toml",
        "suite own.toml",
        "suite suite.toml --baseline fifo",
        "suite suite.toml --junit fifo",
    ]
    .map(|command| {
        let output = bench.run(&command.split(' ').collect::<Vec<_>>());
        format!("$ picklock {command}\n{}\n", bench.with_latest(&output.to_string()))
    });
    expect_file!["snapshots/fifos.txt"].assert_eq(&outputs.concat());
}

/// The folder of a run may be a stranger's.
#[test]
fn nobody_waits_for_a_reader_that_never_comes() {
    let errors = ["verdict.json", "report.html"].map(|name| {
        let bench = Bench::new();
        bench.test("redis-set-nx-px", "none", "1");
        let run = fs::canonicalize(bench.home.path().join("store/latest")).expect("a run");
        fs::remove_file(run.join(name)).expect("removed");
        fifo(&bench, run.join(name).to_str().expect("a path"));
        let output = bench.run(&["check", "store/latest"]);
        assert_eq!(output.code, 255, "{name}: {output:?}");
        bench.with_latest(&output.err)
    });
    expect![[r#"
        picklock: cannot write `store/latest/verdict.json`: it is a FIFO, not a file
        picklock: HELD, but not without the errors above
        picklock: cannot write `store/latest/report.html`: it is a FIFO, not a file
        picklock: HELD, but not without the errors above
    "#]]
    .assert_eq(&errors.concat());
}

#[test]
fn a_pipe_that_a_shell_has_made_is_read() {
    let bench = Bench::new();
    let text = "- 0 :invoke :acquire nil\n- 0 :ok :acquire nil\n";
    let output =
        stalled(&bench, text, &[&["check", "/dev/stdin", "--model", "mutex"], &SHORT[..]].concat());
    expect![[r#"
        ? mutex  inconclusive  1 operation by 1 process: the time budget was spent in
                               reading, and up to line 2 nothing was found; give more
                               with --time-budget or --memory-budget

        INCONCLUSIVE
        exit code 2
    "#]]
    .assert_eq(&output.to_string());
    let output = stalled(&bench, "", &[&["replay", "/dev/stdin"], &SHORT[..]].concat());
    expect![[r#"
        picklock: the time budget was spent in reading `/dev/stdin`; give --time-budget
        exit code 255
    "#]]
    .assert_eq(&output.to_string());
}

#[test]
fn what_came_before_a_writer_stalled_is_judged() {
    let bench = Bench::new();
    let args = [&["check", "-", "--model", "mutex"], &SHORT[..]].concat();
    let once = "- 0 :invoke :acquire nil\n- 0 :ok :acquire nil\n";
    expect![[r#"
        ? mutex  inconclusive  1 operation by 1 process: the time budget was spent in
                               reading, and up to line 2 nothing was found; give more
                               with --time-budget or --memory-budget

        INCONCLUSIVE
        exit code 2
    "#]]
    .assert_eq(&stalled(&bench, once, &args).to_string());
    let output = stalled(&bench, &once.repeat(2), &args);
    assert_eq!(output.code, 1, "{output:?}");
}

#[test]
fn a_run_that_is_larger_than_its_budget_is_never_green() {
    let bench = Bench::new();
    assert_eq!(bench.test("zk-rw", "partition", "5").code, 0);
    let output = bench.run(&["check", "store/latest", "--memory-budget", "320KiB"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.err.contains("it is larger than the memory budget"), "{output:?}");
    let outputs = [
        &["check", "store/latest", "--memory-budget", "1KiB"][..],
        &["replay", "store/latest", "--memory-budget", "1KiB"],
        &["replay", "5", "--algo", "zk-rw", "--memory-budget", "100KiB"],
    ]
    .map(|args| {
        let output = bench.run(args);
        bench.with_latest(&output.to_string())
    });
    expect![[r#"
        picklock: `store/latest/run.json` is too large for the memory budget; give --memory-budget
        exit code 255
        picklock: `store/latest/schedule.json` is too large for the memory budget; give --memory-budget
        exit code 255
        picklock: the memory budget was spent in the run; give more with --memory-budget, and the history so far is kept: picklock check store/latest
        exit code 255
    "#]].assert_eq(&outputs.concat());
}

#[test]
fn a_run_in_the_simulator_is_ended_before_it_takes_too_much_memory() {
    let bench = Bench::new();
    let endless = "test --algo memcached-add --task hammer --backend sim --seed 1 --time-limit 24h";
    let args: Vec<&str> = endless.split(' ').chain(["--memory-budget", "8MiB"]).collect();
    let output = bench.run(&args);
    expect![[r#"
        picklock: the memory budget was spent in the run; give more with --memory-budget, and the history so far is kept: picklock check store/latest
        exit code 255
    "#]].assert_eq(&bench.with_latest(&output.to_string()));
}

#[test]
fn what_has_no_flag_for_it_is_not_advised_to_give_it() {
    let bench = Bench::new();
    let folder = bench.home.path();
    let large = fs::File::create(folder.join("large.toml")).expect("made");
    large.set_len(200 << 20).expect("it has holes");
    let outputs = ["test --algo zk-rw --script large.toml", "suite large.toml"]
        .map(|command| bench.run(&command.split(' ').collect::<Vec<_>>()).to_string());
    expect![[r#"
        picklock: `large.toml` is too large: it may have 128 MiB at most
        exit code 255
        picklock: `large.toml` is too large: it may have 128 MiB at most
        exit code 255
    "#]]
    .assert_eq(&outputs.concat());
}

#[test]
fn an_error_is_short_whatever_a_file_says() {
    let bench = Bench::new();
    let long = "x".repeat(5_000_000);
    let write = |name: &str, text: String| fs::write(bench.home.path().join(name), text);
    write("it.toml", format!("[[fault]]\n{long} = 1\n")).expect("written");
    write("suite.toml", format!("version = 1\n[[entry]]\n{long} = \"{long}\"\n")).expect("written");
    write("lock.toml", format!("{long} = 1\n")).expect("written");
    for command in
        ["test --algo zk-rw --script it.toml", "suite suite.toml", "test --lock lock.toml"]
    {
        let output = bench.run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(output.code, 254, "{command}");
        assert!(output.err.len() < 12_000, "{command}: {} bytes", output.err.len());
    }
}

/// Changes what a stored run says of itself.
fn claim(bench: &Bench, name: &str, number: u64) {
    let path = bench.home.path().join("store/latest/run.json");
    let text = fs::read_to_string(&path).expect("run.json");
    let mut info: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    info[name] = number.into();
    fs::write(&path, info.to_string()).expect("written");
}

/// Judges the latest run, in a process that may have little memory.
fn check_with_little(bench: &Bench) -> CommandOutput {
    let picklock = bench.command(&["check", "store/latest"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\""]);
    limited.arg(picklock.get_program()).args(picklock.get_args());
    limited.current_dir(bench.home.path()).stdin(Stdio::null());
    CommandOutput::from(limited.output().expect("sh starts"))
}

#[test]
fn what_a_run_claims_takes_no_memory() {
    for name in ["clients", "servers", "keys"] {
        let bench = Bench::new();
        bench.test("redlock", "crash-server", "1");
        claim(&bench, name, u32::MAX.into());
        let output = check_with_little(&bench);
        assert!([0, 1, 2].contains(&output.code), "{name}: {output:?}");
    }
}
