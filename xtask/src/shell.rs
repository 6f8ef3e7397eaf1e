//! The programs that are run, in the workspace's folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The result of whatever can fail, with the reason in words.
pub type Result<T> = std::result::Result<T, String>;

/// A program with its arguments.
pub struct Program(Command);

/// Makes a call of this program.
pub fn program(name: &str, args: &[&str]) -> Program {
    let mut command = Command::new(name);
    command.args(args);
    Program(command)
}

/// Makes a call of the `cargo` that runs this.
pub fn cargo(args: &[&str]) -> Program {
    program(&std::env::var("CARGO").unwrap_or("cargo".into()), args)
}

impl Program {
    /// Adds arguments.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.0.args(args);
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    /// Throws its output away, but not what it says on stderr.
    pub fn quiet(mut self) -> Self {
        self.0.stdout(Stdio::null());
        self
    }

    /// Runs it, and fails if it does.
    pub fn run(self) -> Result<()> {
        self.run_up_to(0)
    }

    /// Runs it, and fails if its exit code is higher than this one.
    pub fn run_up_to(mut self, highest: i32) -> Result<()> {
        let status = self.0.status().map_err(|error| self.failed(&error.to_string()))?;
        match status.code() {
            Some(code) if code <= highest => Ok(()),
            _ => Err(self.failed(&status.to_string())),
        }
    }

    /// Runs it, and prints its stdout only if it fails.
    pub fn run_silently(mut self) -> Result<()> {
        let output = self.0.stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| self.failed(&error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        print!("{}", String::from_utf8_lossy(&output.stdout));
        Err(self.failed(&output.status.to_string()))
    }

    /// Runs it and returns its stdout, without the white space around it.
    pub fn read(mut self) -> Result<String> {
        let output = self.0.output().map_err(|error| self.failed(&error.to_string()))?;
        if !output.status.success() {
            return Err(self.failed(String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn failed(&self, why: &str) -> String {
        let args = self.0.get_args().map(|arg| arg.to_string_lossy().into_owned());
        let words: Vec<String> =
            [self.0.get_program().to_string_lossy().into_owned()].into_iter().chain(args).collect();
        format!("`{}`: {why}", words.join(" "))
    }
}

/// Goes to the workspace's folder, wherever it was called.
pub fn enter_workspace() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::set_current_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Reads a text file.
pub fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// Writes a text file.
pub fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("{path}: {error}"))
}
