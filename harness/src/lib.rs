//! The parts of the `picklock` binary: command line, drive loop, run folder, backends.

mod spec;

pub use spec::WorldSpec;
