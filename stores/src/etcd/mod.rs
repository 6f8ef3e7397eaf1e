//! etcd: the transactions, leases and watches that locks are made of.

mod allotment;
mod client;
#[cfg(any(test, feature = "real"))]
#[cfg(any(test, feature = "real"))]
pub mod conformance;
mod driver;
pub mod model;
#[cfg(feature = "real")]
mod observe;
#[cfg(feature = "real")]
pub mod outcome;
mod protocol;
#[cfg(feature = "real")]
mod real;
mod standalone;
mod store;
mod timing;
mod wire;

pub use client::{Client, DeletionWatch};
pub use driver::EtcdDriver;
pub use model::Server;
pub use protocol::{
    DeletionWatchId, Etcd, KeyValue, LeaseId, Packet, Refusal, Reply, Request, Revision, Signal,
};
#[cfg(feature = "real")]
pub use real::RealLink;
pub use timing::whole_seconds;
