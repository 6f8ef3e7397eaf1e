//! ZooKeeper: the requests of a client to an ensemble, and the events of its session.

mod allotment;
pub mod client;
#[cfg(any(test, feature = "real"))]
#[cfg(any(test, feature = "real"))]
pub mod conformance;
mod driver;
pub mod model;
#[cfg(feature = "real")]
mod observe;
#[cfg(feature = "real")]
pub mod outcome;
mod path;
mod protocol;
#[cfg(feature = "real")]
pub mod real;
#[cfg(feature = "real")]
pub mod sasl;
mod standalone;
mod store;
mod timing;
mod wire;

pub use client::{Client, Created, Watch, sequence};
pub use driver::ZooKeeperDriver;
pub use protocol::{
    CreateMode, Refusal, Reply, Request, SessionState, Signal, WatchEvent, WatchId, ZooKeeper,
};
#[cfg(feature = "real")]
pub use real::RealSession;
pub use timing::{Timing, TimingError};
