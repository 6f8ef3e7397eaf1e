//! The maintainers' commands. They depend on nothing, so that `cargo xtask check` starts at once.

mod bench;
mod changed;
mod check;
mod dist;
mod release;
mod shell;

use shell::{Result, cargo};

const USAGE: &str = "Usage: cargo xtask COMMAND

  check                       the inner loop: formatting, lints and unit tests of what changed, the
                              table in the simulator with few seeds
  bench check|sim|real [ARG…] measures the checkers, the simulator, or real clients
  dist [CARGO OPTION…]        builds the fastest picklock, target/dist/picklock
  pages [survey]              makes the pages of docs/; with `survey`, the survey before them
  release X.Y.Z [--dry-run]   names a version: its section of CHANGELOG.md, a commit and a tag
";

/// Runs the command that these arguments name.
///
/// # Errors
/// Fails when the command does, or when there is none of this name.
pub fn run(args: &[String]) -> Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    shell::enter_workspace()?;
    match args.as_slice() {
        ["check"] => check::run(),
        ["bench", subject, rest @ ..] => bench::run(subject, rest),
        ["dist", rest @ ..] => dist::run(rest),
        ["pages"] => pages("write"),
        ["pages", "survey"] => pages("survey"),
        ["release", version] => release::run(version, false),
        ["release", version, "--dry-run"] => release::run(version, true),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("no such command\n\n{USAGE}")),
    }
}

/// Makes the pages that `cli/tests/pages.rs` holds to be up to date.
fn pages(what: &str) -> Result<()> {
    cargo(&["test", "--release", "-p", "picklock-cli", "--test", "pages"])
        .env("PICKLOCK_PAGES", what)
        .run()
}
