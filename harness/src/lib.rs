//! Your own Rust lock in `cargo test`: unchanged, under thousands of deterministic schedules with
//! pauses, crashes and cuts.
//!
//! ```
//! use picklock::{AcquireError, Grant, Mode, ReleaseError, Removed, Site};
//! use picklock::{Lab, Lock, Nemesis, Promises};
//! use redis::cmd;
//! use std::time::Duration;
//!
//! const COMPARE_AND_DELETE: &str =
//!     "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0";
//!
//! struct MyLock {
//!     site: Site,
//!     owner: u64,
//! }
//!
//! impl MyLock {
//!     fn new(site: Site) -> Self {
//!         Self { owner: site.random(), site }
//!     }
//! }
//!
//! impl Lock for MyLock {
//!     async fn acquire(&mut self, _: Mode, _: Duration) -> Result<Grant, AcquireError> {
//!         let mut set = cmd("SET");
//!         set.arg(self.site.key()).arg(self.owner).arg("NX");
//!         set.arg("PX").arg(self.site.ttl().as_millis() as u64);
//!         match set.query_async(&mut self.site.connection(0)).await {
//!             Ok(Some(())) => Ok(Grant::default()),
//!             Ok(None) => Err(AcquireError::Failed("somebody else has it".into())),
//!             Err(error) => Err(AcquireError::Unknown(error.to_string())),
//!         }
//!     }
//!
//!     async fn release(&mut self, _: Grant) -> Result<Removed, ReleaseError> {
//!         let mut free = cmd("EVAL");
//!         free.arg(COMPARE_AND_DELETE).arg(1).arg(self.site.key()).arg(self.owner);
//!         match free.query_async(&mut self.site.connection(0)).await {
//!             Ok(1) => Ok(Removed::Own),
//!             Ok(_) => Err(ReleaseError::NotHeld("its time was over".into())),
//!             Err(error) => Err(ReleaseError::Unknown(error.to_string())),
//!         }
//!     }
//! }
//!
//! # fn main() {
//! Lab::redis().lock(MyLock::new).ttl(Duration::from_secs(2)).promises(Promises::mutex().recovers())
//!     .under([Nemesis::CrashClient, Nemesis::Partition]).schedules(10_000)
//! # .schedules(200)
//!     .assert_held();
//! # }
//! ```
//!
//! A lock is given a [`Site`], which has its connections, and runs in the simulator. Tokio's
//! `sleep`, `timeout`, `Instant` and `spawn` go by the clock of its client; `std::time` does not,
//! and its randomness has to come from [`Site::random`]. With the feature `real`,
//! `Lab::on_real_servers` runs the same test on real servers.
//!
//! The rest, which is not shown here, is the engine below, and may change at any time.

#[doc(hidden)]
#[cfg_attr(not(feature = "real"), path = "client/absent.rs")]
pub mod client;
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
mod lab;
#[doc(hidden)]
pub mod links;
#[doc(hidden)]
pub mod named_anomaly;
#[doc(hidden)]
pub mod nearest;
#[doc(hidden)]
pub mod notes;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
#[cfg_attr(not(feature = "cli"), path = "output_style/absent.rs")]
pub mod output_style;
#[doc(hidden)]
pub mod paths;
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
    mod limits;
    pub mod lock_file;
    pub mod output;
    pub mod suite;
}

#[doc(hidden)]
pub use exit::Exit;
pub use foreign::Promises;
pub use lab::{
    AcquireError, Counterexample, Grant, Lab, LabError, LabOutcome, LabServers, Lock, Mode,
    Nemesis, Outcome, RedisConnection, ReleaseError, Removed, Site,
};
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use program::*;
