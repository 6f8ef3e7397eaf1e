//! ZooKeeper: what a client can ask of an ensemble, and what its session tells it.

pub mod client;
pub mod model;
mod path;
mod protocol;

pub use client::{Client, Created, Watch, sequence};
pub use protocol::{
    CreateMode, Refusal, Reply, Request, Session, SessionState, WatchEvent, WatchId, ZooKeeper,
};
