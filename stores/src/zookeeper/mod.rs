//! ZooKeeper: the requests of a client to an ensemble, and the events of its session.

mod bell;
pub mod client;
#[cfg(any(test, feature = "real"))]
pub mod conformance;
pub mod model;
#[cfg(feature = "real")]
pub mod outcome;
mod path;
mod protocol;
#[cfg(feature = "real")]
pub mod real;
mod timing;

pub use bell::Bell;
pub use client::{Client, Created, Watch, sequence};
pub use protocol::{
    CreateMode, Refusal, Reply, Request, Session, SessionState, WatchEvent, WatchId, ZooKeeper,
};
#[cfg(feature = "real")]
pub use real::RealSession;
pub use timing::{Timing, TimingError};
