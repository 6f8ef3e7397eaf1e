//! picklock as a library: [`lab`], which tests a Rust lock in `cargo test`. Everything else is the
//! engine below it and the parts of the `picklock` binary, and may change at any time.

#[doc(hidden)]
#[cfg_attr(not(feature = "real"), path = "client/absent.rs")]
pub mod client;
#[doc(hidden)]
pub mod drive;
#[doc(hidden)]
pub mod excerpt;
#[doc(hidden)]
pub mod exhaustive;
mod exit;
#[doc(hidden)]
pub mod explore;
#[doc(hidden)]
#[cfg_attr(not(feature = "cli"), path = "fault_script/absent.rs")]
pub mod fault_script;
#[doc(hidden)]
pub mod foreign;
#[doc(hidden)]
pub mod input;
pub mod lab;
#[doc(hidden)]
pub mod links;
#[doc(hidden)]
#[cfg_attr(not(feature = "cli"), path = "manner/absent.rs")]
pub mod manner;
#[doc(hidden)]
pub mod nearest;
#[doc(hidden)]
pub mod notes;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod place;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod scenario;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod setup;
#[doc(hidden)]
pub mod shrink;
#[doc(hidden)]
pub mod sight;
#[doc(hidden)]
pub mod simulate;
#[doc(hidden)]
pub mod swarm;
#[doc(hidden)]
pub mod threads;
#[doc(hidden)]
pub mod worlds;

/// The command line, and what it alone reads and writes.
#[cfg(feature = "cli")]
#[path = "."]
mod program {
    pub mod app;
    pub mod cli;
    #[expect(missing_docs, reason = "a file a command: its header says what it does")]
    pub mod commands;
    pub mod folder;
    pub mod lock_file;
    pub mod output;
    pub mod suite;
}

#[doc(hidden)]
pub use exit::Exit;
pub use lab::Lab;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use program::*;
