//! `picklock bench`: how fast picklock itself is, a file a subject.

mod clock;
#[cfg_attr(not(feature = "docker"), path = "no_real.rs")]
mod real;
mod sim;

use clap::Subcommand;

use super::Failure;
use crate::Exit;

/// The things that can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// The simulator: whole runs, driven, recorded and checked, one line a scenario.
    Sim(sim::SimArgs),
    /// Real clients on a real server, beside redis-benchmark.
    Real(real::RealArgs),
}

pub fn run(command: &BenchCommand) -> Result<Exit, Failure> {
    match command {
        BenchCommand::Sim(args) => sim::run(args),
        BenchCommand::Real(args) => real::run(args),
    }
}
