//! The command's output at a terminal: as wide as it is, in colour or not, as much as is asked for,
//! and free of anything that a stranger's file could do to it.

mod command;

use base::is_hidden;
use command::{Bench, CommandOutput};
use std::fs;

/// Turns the direction of text, clears the screen, and makes two lines of one.
const HOSTILE: &str = "k\u{202e}\u{2066}\u{200f}\u{61c}\u{9b}\u{1b}[2J\r\nHELD";

#[track_caller]
fn is_harmless(output: &CommandOutput) {
    for text in [&output.out, &output.err] {
        let hidden = text.chars().find(|c| *c != '\n' && is_hidden(*c));
        assert_eq!(hidden, None, "{output:?}");
        assert!(!text.lines().any(|line| line == "HELD"), "{output:?}");
    }
}

/// A write and a read of another value, which no register allows.
fn hostile_history(key: &str) -> String {
    let event = |process, kind: &str, f: &str| {
        let (f, value) = (serde_json::json!(f), serde_json::json!(format!("{HOSTILE}{process}")));
        let key = serde_json::json!(key);
        format!(
            "{{\"process\":{process},\"type\":\"{kind}\",\"f\":{f},\"value\":{value},\"key\":{key}}}\n"
        )
    };
    ["invoke", "ok"].map(|kind| event(0, kind, "write")).concat()
        + &["invoke", "ok"].map(|kind| event(1, kind, "read")).concat()
}

#[test]
fn a_strangers_history_does_nothing_to_the_terminal() {
    let cli = Bench::new();
    fs::write(cli.home.path().join("history.jsonl"), hostile_history(HOSTILE)).expect("written");
    for format in ["human", "json"] {
        let args = ["check", "history.jsonl", "--model", "register", "--format", format];
        let output = cli.run(&args);
        assert_eq!(output.code, 1, "{output:?}");
        is_harmless(&output);
    }
    let f = format!("{{\"process\":0,\"type\":\"invoke\",\"f\":{}}}\n", serde_json::json!(HOSTILE));
    fs::write(cli.home.path().join("f.jsonl"), f).expect("written");
    fs::write(cli.home.path().join("noise.edn"), format!("{{:process 0, {HOSTILE}"))
        .expect("written");
    for file in ["f.jsonl", "noise.edn"] {
        is_harmless(&cli.run(&["check", file, "--model", "mutex"]));
    }
}

#[test]
fn a_strangers_run_does_nothing_to_the_terminal_or_the_page() {
    let cli = Bench::new();
    let run = cli.test("redis-set-nx-px", "pause", "1");
    assert_eq!(run.code, 1, "{run:?}");
    let folder = cli.home.path().join("store/latest");
    let hostile = serde_json::to_string(HOSTILE).expect("JSON");
    let changed = |file: &str, from: &str| {
        let text = fs::read_to_string(folder.join(file)).expect("readable");
        assert!(text.contains(from), "{file}");
        fs::write(folder.join(file), text.replace(from, &hostile)).expect("written");
    };
    changed("history.jsonl", "\"k0\"");
    changed("run.json", "\"pause\"");
    for format in ["human", "json"] {
        let output = cli.run(&["check", "store/latest", "--format", format]);
        assert_eq!(output.code, 1, "{output:?}");
        is_harmless(&output);
    }
    let page = fs::read_to_string(folder.join("report.html")).expect("a page");
    assert_eq!(page.chars().find(|c| *c != '\n' && is_hidden(*c)), None);
    is_harmless(&cli.run(&["check", "store/latest", "--export", "edn"]));
}

#[test]
fn a_strangers_path_does_nothing_to_the_terminal() {
    let cli = Bench::new();
    for args in [["check", HOSTILE], ["replay", HOSTILE], ["merge", HOSTILE], ["list", HOSTILE]] {
        let output = cli.run(&args);
        assert_eq!(output.code, 254, "{output:?}");
        is_harmless(&output);
    }
}

/// To who keeps the log of a CI, a line that begins so is a command.
#[test]
fn an_argument_begins_no_line() {
    let cli = Bench::new();
    let output = cli.run(&["test", "--algo", "redis-set-nx-px", "--on", "x\n::stop-commands::x"]);
    assert!(output.err.contains("x\\n::stop-commands::x"), "{output:?}");
    assert!(!output.err.contains("\n::"), "{output:?}");
}

#[test]
fn a_merged_result_of_a_stranger_does_nothing_to_the_terminal() {
    let cli = Bench::new();
    let search = "explore --algo redis-set-nx-px --nemesis pause --seeds 3 --time-limit 10s";
    let args: Vec<&str> = search.split(' ').chain(["--out", "one.json"]).collect();
    assert_eq!(cli.run(&args).code, 1);
    let one = cli.home.path().join("one.json");
    let hostile = serde_json::to_string(HOSTILE).expect("JSON");
    let text = fs::read_to_string(&one).expect("a result").replace("\"pause\"", &hostile);
    fs::write(&one, text).expect("written");
    for format in ["human", "json"] {
        let output = cli.run(&["merge", "one.json", "--format", format]);
        assert_eq!(output.code, 1, "{output:?}");
        is_harmless(&output);
    }
}

fn wide(cli: &Bench, columns: &str, args: &[&str]) -> CommandOutput {
    CommandOutput::from(
        cli.command(args).env("COLUMNS", columns).output().expect("picklock starts"),
    )
}

#[test]
fn lines_are_as_long_as_columns_says() {
    let cli = Bench::new();
    let test = ["test", "--algo", "redis-set-nx-px", "--nemesis", "pause", "--seed", "1"];
    let test = [&test[..], &["--backend", "sim"]].concat();
    let explore = ["explore", "--algo", "redis-set-nx-px", "--nemesis", "pause", "--seeds", "3"];
    let survey = ["survey", "--algo", "redis-set-nx-px", "--nemesis", "crash-server-lose-data"];
    let survey =
        [&survey[..], &["--runs", "1", "--backend", "sim", "--time-limit", "10s"]].concat();
    let copied = ["history  ", "report  ", "run it again  ", "  picklock ", "VIOLATED"];
    for (args, code) in [(&["list"][..], 0), (&test, 1), (&explore, 1), (&survey, 1)] {
        for columns in ["60", "80", "120"] {
            let output = wide(&cli, columns, args);
            assert_eq!(output.code, code, "{output:?}");
            let lines = output.out.lines().filter(|l| !copied.iter().any(|c| l.starts_with(c)));
            for line in lines {
                let most: usize = columns.parse().expect("a number");
                assert!(line.chars().count() <= most, "{columns} columns: {line}");
            }
        }
    }
    let bars =
        |output: CommandOutput| output.out.lines().map(|line| line.matches('█').count()).max();
    assert!(bars(wide(&cli, "120", &test)) > bars(wide(&cli, "80", &test)));
}

#[test]
fn colour_and_quiet_are_taken_by_every_command() {
    let cli = Bench::new();
    let test = ["test", "--algo", "redis-set-nx-px", "--nemesis", "pause", "--seed", "1"];
    let test = [&test[..], &["--backend", "sim"]].concat();
    let explore = ["explore", "--algo", "redis-set-nx-px", "--nemesis", "pause", "--seeds", "3"];
    for args in [&test[..], &explore] {
        let with = |flag: &str| cli.run(&[args, &[flag]].concat());
        assert!(with("--color=always").out.contains("mVIOLATED\u{1b}[0m"));
        for flag in ["--color=never", "--color=auto"] {
            assert!(!with(flag).out.contains('\u{1b}'), "{flag}");
        }
        let quiet = with("--quiet");
        assert_eq!((quiet.code, quiet.out.lines().count()), (1, 1), "{quiet:?}");
        assert!(quiet.out.starts_with("VIOLATED") && quiet.err.is_empty(), "{quiet:?}");
    }
    assert!(cli.run(&["--color", "always", "--help"]).out.contains('\u{1b}'));
    assert!(!cli.run(&["--help"]).out.contains('\u{1b}'));
}

#[test]
fn a_search_names_the_command_that_shows_what_it_found() {
    let cli = Bench::new();
    let search = "explore --algo redis-getset --nemesis pause --clients 4 --seeds 4";
    let found = cli.run(&search.split(' ').collect::<Vec<_>>());
    assert_eq!(found.code, 1, "{found:?}");
    let command = found.out.lines().find_map(|line| line.strip_prefix("  picklock "));
    let command = command.unwrap_or_else(|| panic!("{}", found.out));
    let again = cli.run(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(again.code, 1, "{command}: {again:?}");
    assert!(again.out.contains("double hold"), "{again:?}");
}
