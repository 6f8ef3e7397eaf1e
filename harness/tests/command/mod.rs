//! The command as a user runs it: in a folder of its own, with an exit code and what it said.

#![allow(dead_code, reason = "each of the tests has a use for some of it")]

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
        command
    }

    pub fn run(&self, args: &[&str]) -> Said {
        Said::from(self.command(args).output().expect("picklock starts"))
    }

    /// Runs a test in the simulator.
    pub fn test(&self, algo: &str, nemesis: &str, seed: &str) -> Said {
        let args = ["test", "--algo", algo, "--nemesis", nemesis, "--seed", seed];
        self.run(&[&args[..], &["--backend", "sim"]].concat())
    }
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code().expect("not killed"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

#[allow(dead_code, reason = "each test file uses its own part of this")]
impl Said {
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
