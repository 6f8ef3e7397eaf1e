//! `picklock bench check`: every row is measured, and says what its history is made to show.

use serde_json::Value;
use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.args(["bench", "check", "--operations", "2000", "--rounds", "1"]);
    command.args(args).output().expect("picklock starts")
}

fn rows(args: &[&str]) -> Vec<Value> {
    let said = bench(&[args, &["--format", "json"]].concat());
    assert!(said.status.success(), "{said:?}");
    let text = String::from_utf8(said.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect()
}

#[test]
fn every_row_finds_what_its_history_shows() {
    let rows = rows(&[]);
    let verdict = |name: &str| {
        let row = rows.iter().find(|row| row["row"] == name).unwrap_or_else(|| panic!("{name}"));
        assert!(row["operations"].as_u64().is_some_and(|n| n >= 1_000), "{row}");
        row["verdict"].as_str().expect("a verdict").to_owned()
    };
    let legal = [
        "sweep-10-clients",
        "sweep-100-clients",
        "sweep-doubt",
        "sweep-claims",
        "sweep-model",
        "all-checkers",
        "command-model",
        "command-run",
        "search-mutex",
        "search-mutex-100-clients",
        "search-register",
    ];
    let illegal = [
        "sweep-violation",
        "sweep-late",
        "search-mutex-late",
        "search-mutex-doubt",
        "search-rw-30-clients",
        "search-register-late",
    ];
    assert_eq!(rows.len(), legal.len() + illegal.len());
    legal.iter().for_each(|name| assert_eq!(verdict(name), "legal", "{name}"));
    illegal.iter().for_each(|name| assert_eq!(verdict(name), "illegal", "{name}"));
    let ratio = &rows.iter().find(|row| row["row"] == "all-checkers").unwrap()["ratio_to_sweep"];
    assert!(ratio.as_f64().is_some_and(|ratio| ratio > 0.0), "{ratio}");
}

#[test]
fn one_row_can_be_named() {
    assert_eq!(rows(&["--row", "sweep-late"]).len(), 1);
    let unknown = bench(&["--row", "sweep-lat"]);
    assert_eq!(unknown.status.code(), Some(254));
    let error = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(error.contains("did you mean sweep-late"), "{error}");
}
