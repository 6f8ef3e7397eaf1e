//! `picklock`: a fault-injection harness for distributed locks.

use picklock::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args_os()).into()
}
