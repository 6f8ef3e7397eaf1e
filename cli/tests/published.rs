//! Locks as public bug reports describe them: histories in `published/`, each with what is right in
//! its first lines, and small runs of them. `picklock check` judges every one as it says.

mod command;

use command::{Bench, CommandOutput};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published")
}

const HELD: i32 = 0;
const VIOLATED: i32 = 1;

/// Histories: the model, how they end, and the words that must be in the output.
const HISTORIES: &[(&str, &str, i32, &str)] = &[
    (
        "aredis-119-shared-token.edn",
        "owner-mutex",
        VIOLATED,
        "process 2's acquire (lines 10 to 11)",
    ),
    ("aredis-119-ours.jsonl", "owner-mutex", VIOLATED, "process 2's acquire (lines 9 to 10)"),
    ("distributedlock-147-timeout-but-taken.edn", "mutex", VIOLATED, "No progress: from line 9 on"),
    (
        "etcd-22082-stale-unlock.edn",
        "owner-mutex",
        VIOLATED,
        "process 20's release (lines 9 to 10)",
    ),
    ("hazelcast-898-release-refused.edn", "mutex", VIOLATED, "its last release failed on line 6"),
    ("kazoo-649-rw-deadlock.edn", "rw", VIOLATED, "is not granted; nor are 2 more"),
    ("multilock-overlap.edn", "mutex", VIOLATED, "On key b, process 1's acquire"),
    ("nil-read.edn", "register", VIOLATED, "only reads of nil break it"),
    ("redbeat-127-blind-renew.edn", "owner-mutex", VIOLATED, "process 1's acquire (lines 5 to 6)"),
    ("redis-py-3847-release-cancelled.edn", "mutex", VIOLATED, "No progress: from line 7 on"),
    (
        "redsync-72-valid-says-yes.edn",
        "owner-mutex",
        VIOLATED,
        "process 1's acquire (lines 5 to 6)",
    ),
    ("reentrant-fenced-legal.edn", "fenced", VIOLATED, "--model fenced:reentrant"),
    ("reentrant-fenced-legal.edn", "fenced:reentrant", HELD, ""),
    ("reentrant-fenced-legal.edn", "reentrant:2", HELD, ""),
    ("rw-reader-twice-freed-once.edn", "rw", VIOLATED, "process 1's acquire (lines 9 to 10)"),
    ("rw-reader-twice-freed-once.edn", "rw:reentrant", VIOLATED, "it was held shared by process 0"),
    ("rw-reader-twice-legal.edn", "rw", HELD, ""),
    ("rw-reader-twice-legal.edn", "rw:reentrant", HELD, ""),
    ("rw-reentrant-downgrade-legal.edn", "rw", VIOLATED, "--model rw:reentrant"),
    ("rw-reentrant-downgrade-legal.edn", "rw:reentrant", HELD, ""),
    ("semaphore-leak.edn", "semaphore:2", VIOLATED, "process 3's acquire (from line 11 on"),
    ("semaphore-over.edn", "semaphore:2", VIOLATED, "process 2's acquire (lines 7 to 8)"),
    ("semaphore-over.edn", "semaphore:3", HELD, ""),
    ("swarthy-175-silent-reacquire.edn", "mutex", VIOLATED, "process 1's acquire (lines 5 to 6)"),
    ("ttl-holder-dies-foreign.jsonl", "owner-mutex", HELD, ""),
    ("ttl-holder-dies-legal.edn", "owner-mutex", HELD, ""),
    ("ttl-holder-dies-ours.jsonl", "owner-mutex", HELD, ""),
    ("ttl-holder-lost-legal.edn", "owner-mutex", HELD, ""),
    ("ttl-holder-lost-ours.jsonl", "owner-mutex", HELD, ""),
    ("v2.edn", "semaphore:1", VIOLATED, "acquire of 2 permits"),
    ("v2.edn", "semaphore:2", HELD, ""),
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
    for (file, model, code, words) in HISTORIES {
        let path = folder().join(file);
        let output = bench.run(&["check", path.to_str().expect("a name"), "--model", model]);
        assert_eq!(output.code, *code, "{file} against {model}: {output:?}");
        assert!(output.flat().contains(words), "{file} against {model}: {output:?}");
    }
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
