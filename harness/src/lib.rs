//! The parts of the `picklock` binary: command line, drive loop, run folder, backends.

pub mod app;
pub mod cli;
#[cfg(feature = "real")]
pub mod client;
mod commands;
pub mod drive;
mod excerpt;
pub mod exhaustive;
mod exit;
pub mod explore;
mod fault_script;
mod folder;
mod input;
mod links;
mod manner;
mod nearest;
mod output;
mod place;
pub mod plan;
pub mod scenario;
pub mod schedule;
pub mod setup;
pub mod shrink;
pub mod simulate;
pub mod suite;
mod swarm;

pub use exit::{Exit, ExpectedOutcome};
