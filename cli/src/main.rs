//! `picklock`: a fault-injection harness for distributed locks.

// Linked for the allocator that it sets.
use allocator as _;
use picklock::app;
use std::process::ExitCode;

fn main() -> ExitCode {
    app::main(std::env::args_os()).into()
}
