//! The helper files for locks in other languages, each beside a small program that uses it.

mod command;

use command::adapters_path;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A semaphore of three permits in each language: the helper file, the program that is copied
/// beside it, and the command that runs both.
const SEMAPHORES: &[(&str, &str, &str)] = &[
    (
        "go/picklock.go",
        "semaphore.go",
        "GO111MODULE=off CGO_ENABLED=0 GOCACHE=$PWD/cache go run picklock.go semaphore.go",
    ),
    ("java/Picklock.java", "Semaphore.java", "javac *.java && java Semaphore"),
    ("node/picklock.mjs", "semaphore.mjs", "node semaphore.mjs"),
    ("php/picklock.php", "semaphore.php", "php semaphore.php"),
    ("python/picklock.py", "semaphore.py", "python3 semaphore.py"),
    ("ruby/picklock.rb", "semaphore.rb", "ruby semaphore.rb"),
    (
        "rust/src/picklock.rs",
        "semaphore.rs",
        "CARGO_TARGET_DIR=$PWD/target cargo run -q --locked --manifest-path $ADAPTERS/rust/Cargo.toml \
         --example semaphore",
    ),
];

/// Starts a semaphore, asks it for all of this in turn, and returns its answers.
fn answers((helper, program, command): (&str, &str, &str), requests: &[Value]) -> Vec<Value> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let adapters = tests.join("../adapters");
    let folder = TempDir::new().expect("a folder");
    for file in [adapters.join(helper), tests.join("tests/helpers").join(program)] {
        fs::copy(&file, folder.path().join(file.file_name().expect("a file"))).expect("copied");
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(&folder);
    shell.env("PATH", adapters_path()).env("ADAPTERS", &adapters);
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    let mut stdin = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let answers = requests.iter().map(|request| {
        writeln!(stdin, "{request}").expect("it listens");
        let line = lines.next().unwrap_or_else(|| panic!("{program} answers {request}"));
        serde_json::from_str(&line.expect("text")).expect("JSON")
    });
    let answers = answers.collect();
    drop(stdin);
    assert!(child.wait().expect("it ends").success(), "{program}");
    answers
}

/// The requests of a worker, and the types of the answers of a semaphore of three permits.
fn conversation() -> (Vec<Value>, [&'static str; 6]) {
    let acquire = |hold: u64, permits: u64| {
        let mut acquire = json!({"op": "acquire", "key": "k0", "hold": hold, "mode": "exclusive"});
        acquire["acquire_timeout_ns"] = 0.into();
        // One permit is the default, which is left out.
        if permits > 1 {
            acquire["permits"] = permits.into();
        }
        acquire
    };
    let init = json!({"op": "init", "ttl_ns": 1_000_000_000, "servers": ["127.0.0.1:1"]});
    let release = json!({"op": "release", "hold": 0});
    let all = [init, acquire(0, 2), acquire(1, 2), acquire(1, 1), release, acquire(0, 2)];
    let numbered = all.into_iter().zip(0..).map(|(mut request, id)| {
        (request["id"], request["worker"]) = (Value::from(id), 0.into());
        request
    });
    (numbered.collect(), ["ok", "ok", "fail", "ok", "ok", "ok"])
}

#[test]
fn each_helper_passes_on_the_permits_of_an_acquire() {
    let (requests, expected) = conversation();
    for semaphore in SEMAPHORES {
        let answers = answers(*semaphore, &requests);
        let can = answers[0]["can"].as_array().expect("what it can do");
        assert!(can.contains(&"permits".into()), "{}: {can:?}", semaphore.1);
        let undefined = ["convert", "extend", "held"].map(Value::from);
        assert!(undefined.iter().all(|it| !can.contains(it)), "{}: {can:?}", semaphore.1);
        let types: Vec<&str> = answers.iter().filter_map(|it| it["type"].as_str()).collect();
        assert_eq!(types, expected, "{}: {answers:?}", semaphore.1);
    }
}
