//! The command as a user runs it: in a folder of its own, with an exit code and its output.

#![allow(dead_code, reason = "each of the tests has a use for some of it")]

use expect_test::expect_file;
use std::fmt::{self, Write};
use std::fs;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder in which the command is run.
pub struct Bench {
    pub home: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        Self { home: TempDir::new().expect("a temporary folder") }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
        command.args(args).current_dir(self.home.path()).stdin(Stdio::null());
        command.env_remove("COLUMNS");
        command
    }

    pub fn run(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::from(self.command(args).output().expect("picklock starts"))
    }

    /// Returns a text that names the folder of the latest run, which is called after the time at
    /// which it began, with `store/latest` in its place.
    pub fn with_latest(&self, text: &str) -> String {
        let latest = fs::read_link(self.home.path().join("store/latest")).expect("a run");
        text.replace(&latest.display().to_string(), "latest")
    }

    /// Runs a test in the simulator.
    pub fn test(&self, algo: &str, nemesis: &str, seed: &str) -> CommandOutput {
        let args = ["test", "--algo", algo, "--nemesis", nemesis, "--seed", seed];
        self.run(&[&args[..], &["--backend", "sim"]].concat())
    }
}

/// The path on which a Python comes first that finds the libraries of the adapters: Debian's, and
/// those that `test.sh` has installed.
pub fn adapters_path() -> String {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let cache = match variable("XDG_CACHE_HOME") {
        unset if unset.is_empty() => format!("{}/.cache", variable("HOME")),
        folder => folder,
    };
    format!("{cache}/picklock-adapters/python/bin:/usr/bin:{}", variable("PATH"))
}

/// Runs the commands of a transcript, `tests/snapshots/<name>.txt`, and holds that they say what it
/// says. With `UPDATE_EXPECT=1` they write it; a line that begins with `$ picklock` is a command.
#[track_caller]
pub fn transcript(bench: &Bench, name: &str) {
    let path = format!("{}/tests/snapshots/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut output = String::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("$ picklock")) {
        let args = shlex::split(line).expect("a command");
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        write!(output, "$ picklock{line}\n{}\n", bench.run(&args)).expect("a string takes all");
    }
    let version = concat!("picklock ", env!("CARGO_PKG_VERSION"));
    expect_file![path].assert_eq(&output.replace(version, "picklock VERSION"));
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code().expect("not killed"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

/// All of the output, and the exit code of a failure.
impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.out, self.err)?;
        if self.code != 0 { writeln!(f, "exit code {}", self.code) } else { Ok(()) }
    }
}

#[allow(dead_code, reason = "each test file uses its own part of this")]
impl CommandOutput {
    /// Returns the stdout on one line.
    pub fn flat(&self) -> String {
        self.out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// One line on stderr, which says all of this; nothing on stdout.
    #[track_caller]
    pub fn refuses(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.err.trim_end().lines().count(), 1, "{self:?}");
        assert!(self.out.is_empty(), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing: {self:?}");
        }
    }
}
