//! `picklock sweep` as a user runs it: a short ttl breaks the lock, a long one is waited for.

mod command;

use command::Bench;
use std::fs;

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
    let said = bench.run(&[&ARGS[..], &files].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let sweep: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let of = |place: usize, name: &str| sweep["points"][place][name].as_u64();
    assert_eq!(of(0, "ttl_ns"), Some(200_000_000));
    assert_eq!(of(2, "ttl_ns"), Some(10_000_000_000));
    assert!(of(0, "overlaps") > of(2, "overlaps"), "{said:?}");
    assert_eq!(of(2, "violated"), Some(0), "no pause is longer than ten seconds");
    assert!(of(0, "lost_ns").is_some() && of(0, "lost_ns") < of(2, "lost_ns"), "{said:?}");
    let read = |file| fs::read_to_string(bench.home.path().join(file)).expect("written");
    assert_eq!(read("trade.svg").matches("<circle").count(), 2 * 3, "two curves of three points");
    let page = read("trade.html");
    assert!(page.contains("<svg") && page.contains("lost after a death"), "both are there");
    // The command that it names says the same.
    let command = sweep["command"].as_str().expect("a command");
    let args: Vec<&str> = command.split(' ').skip(1).chain(["--format", "json"]).collect();
    assert_eq!(bench.run(&args).out, said.out);
}

#[test]
fn faults_are_as_long_as_they_are_asked_to_be() {
    let bench = Bench::new();
    let args = ["test", "--algo", "redis-set-nx-px", "--nemesis", "pause-client", "--seed", "1"];
    let more = ["--backend", "sim", "--ttl", "30s", "--fault-scale", "1s", "--time-limit", "20s"];
    let said = bench.run(&[&args[..], &more].concat());
    assert_eq!(said.code, 0, "no pause outlives the ttl: {said:?}");
    assert!(said.out.contains("--fault-scale 1s"), "the command has it: {said:?}");
}
