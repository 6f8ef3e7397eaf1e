//! The parts of the `picklock` binary: command line, drive loop, run folder, backends.

pub mod cli;
#[cfg(feature = "docker")]
pub mod client;
mod commands;
#[cfg(feature = "docker")]
pub mod docker;
pub mod drive;
pub mod exhaustive;
mod exit;
pub mod explore;
mod folder;
mod input;
mod nearest;
pub mod scenario;
pub mod schedule;
pub mod setup;
pub mod simulate;
mod spec;

pub use exit::Exit;
pub use spec::WorldSpec;
