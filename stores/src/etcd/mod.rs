//! etcd: the transactions, leases and watches that locks are made of.

mod alone;
mod client;
mod driver;
pub mod model;
mod protocol;
mod store;
mod timing;

pub use client::{Client, DeletionWatch};
pub use driver::EtcdDriver;
pub use model::Server;
pub use protocol::{
    Etcd, KeyValue, LeaseId, Packet, Refusal, Reply, Request, Revision, Signal, WatchId,
};
pub use timing::whole_seconds;
