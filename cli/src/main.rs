//! `picklock`: a fault-injection harness for distributed locks.

use picklock::app;
use std::process::ExitCode;

/// A simulation allocates in small pieces, on each thread for itself; this one is made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    app::main(std::env::args_os()).into()
}
