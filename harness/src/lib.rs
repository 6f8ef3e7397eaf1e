//! The parts of the `picklock` binary: command line, drive loop, run folder, backends.

pub mod app;
pub mod cli;
#[cfg_attr(not(feature = "real"), path = "client/absent.rs")]
pub mod client;
mod commands;
pub mod drive;
mod excerpt;
pub mod exhaustive;
mod exit;
pub mod explore;
mod fault_script;
mod folder;
pub mod foreign;
mod input;
pub mod lab;
mod links;
mod manner;
mod nearest;
pub mod options;
mod output;
mod place;
pub mod plan;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod setup;
pub mod shrink;
pub mod sight;
pub mod simulate;
pub mod suite;
mod swarm;
mod threads;
pub mod worlds;

pub use exit::{Exit, ExpectedOutcome};
pub use lab::Lab;
