//! `picklock bench`: how fast picklock itself is, a file a subject.

mod clock;
mod sim;

use clap::Subcommand;

use super::Failure;
use crate::Exit;

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// The simulator: whole runs, driven, recorded and checked, one line a scenario.
    Sim(sim::SimArgs),
}

pub fn run(command: &BenchCommand) -> Result<Exit, Failure> {
    match command {
        BenchCommand::Sim(args) => sim::run(args),
    }
}
