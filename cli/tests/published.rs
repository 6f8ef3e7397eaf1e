//! Locks as public bug reports describe them: histories in `published/`, each with what is right in
//! its first lines, and small runs of them. `picklock check` judges every one as it says.

mod command;

use command::{Bench, CommandOutput};
use expect_test::expect_file;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published")
}

const HELD: i32 = 0;
const VIOLATED: i32 = 1;

/// Histories: the model, and how they end.
const HISTORIES: &[(&str, &str, i32)] = &[
    ("aredis-119-shared-token.edn", "owner-mutex", VIOLATED),
    ("aredis-119-ours.jsonl", "owner-mutex", VIOLATED),
    ("distributedlock-147-timeout-but-taken.edn", "mutex", VIOLATED),
    ("etcd-22082-stale-unlock.edn", "owner-mutex", VIOLATED),
    ("hazelcast-898-release-refused.edn", "mutex", VIOLATED),
    ("kazoo-649-rw-deadlock.edn", "rw", VIOLATED),
    ("multilock-overlap.edn", "mutex", VIOLATED),
    ("nil-read.edn", "register", VIOLATED),
    ("redbeat-127-blind-renew.edn", "owner-mutex", VIOLATED),
    ("redis-py-3847-release-cancelled.edn", "mutex", VIOLATED),
    ("redsync-72-valid-says-yes.edn", "owner-mutex", VIOLATED),
    ("reentrant-fenced-legal.edn", "fenced", VIOLATED),
    ("reentrant-fenced-legal.edn", "fenced:reentrant", HELD),
    ("reentrant-fenced-legal.edn", "reentrant:2", HELD),
    ("rw-reader-twice-freed-once.edn", "rw", VIOLATED),
    ("rw-reader-twice-freed-once.edn", "rw:reentrant", VIOLATED),
    ("rw-reader-twice-legal.edn", "rw", HELD),
    ("rw-reader-twice-legal.edn", "rw:reentrant", HELD),
    ("rw-reentrant-downgrade-legal.edn", "rw", VIOLATED),
    ("rw-reentrant-downgrade-legal.edn", "rw:reentrant", HELD),
    ("semaphore-leak.edn", "semaphore:2", VIOLATED),
    ("semaphore-over.edn", "semaphore:2", VIOLATED),
    ("semaphore-over.edn", "semaphore:3", HELD),
    ("swarthy-175-silent-reacquire.edn", "mutex", VIOLATED),
    ("ttl-holder-dies-foreign.jsonl", "owner-mutex", HELD),
    ("ttl-holder-dies-legal.edn", "owner-mutex", HELD),
    ("ttl-holder-dies-ours.jsonl", "owner-mutex", HELD),
    ("ttl-holder-lost-legal.edn", "owner-mutex", HELD),
    ("ttl-holder-lost-ours.jsonl", "owner-mutex", HELD),
    ("v2.edn", "semaphore:1", VIOLATED),
    ("v2.edn", "semaphore:2", HELD),
];

/// Runs: the properties that are violated, and no others are.
const RUNS: &[(&str, &[&str])] = &[
    ("run-aredis-119", &["exclusion", "foreign-release"]),
    ("run-deadlock-begins-in-quiet", &["progress"]),
    ("run-distributedlock-147", &["progress"]),
    ("run-etcd-22082", &["exclusion", "foreign-release"]),
    ("run-foreign-release-no-lost", &["exclusion", "foreign-release"]),
    ("run-foreign-release-only", &["exclusion", "foreign-release"]),
    ("run-hazelcast-898", &["progress", "release-errors"]),
    ("run-jetcd-291", &["progress"]),
    ("run-kazoo-649", &["progress"]),
    ("run-redis-py-3847", &["progress", "release-errors"]),
    ("run-redisson-7098", &["fairness"]),
    ("run-spring-11157", &["independence"]),
    ("run-swarthy-175", &["exclusion"]),
];

#[test]
fn every_history_is_judged_as_its_report_says() {
    let bench = Bench::new();
    let mut outputs = String::new();
    for (file, model, code) in HISTORIES {
        let path = folder().join(file);
        let output = bench.run(&["check", path.to_str().expect("a name"), "--model", model]);
        assert_eq!(output.code, *code, "{file} against {model}: {output:?}");
        outputs += &format!("{file} against {model}\n{output}\n");
    }
    expect_file!["snapshots/published.txt"].assert_eq(&outputs);
}

/// The properties that a terminal says are violated.
fn violated(output: &CommandOutput) -> Vec<&str> {
    let property = |line| match str::split_whitespace(line).collect::<Vec<_>>()[..] {
        ["✗", property, "violated", ..] => Some(property),
        _ => None,
    };
    output.out.lines().filter_map(property).collect()
}

#[test]
fn every_run_is_judged_as_its_report_says() {
    for (name, properties) in RUNS {
        // A run that is judged gets a report beside it.
        let bench = Bench::new();
        for file in ["run.json", "history.jsonl"] {
            let from = folder().join(name).join(file);
            fs::copy(from, bench.home.path().join(file)).expect("copied");
        }
        let output = bench.run(&["check", "."]);
        assert_eq!(output.code, VIOLATED, "{name}: {output:?}");
        assert_eq!(violated(&output), *properties, "{name}: {output:?}");
    }
}

#[test]
fn every_report_is_in_the_tables() {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    for entry in entries {
        let name = entry.expect("readable").file_name().into_string().expect("a name");
        let known = HISTORIES.iter().any(|row| row.0 == name);
        assert!(known || RUNS.iter().any(|row| row.0 == name), "{name}");
    }
}
