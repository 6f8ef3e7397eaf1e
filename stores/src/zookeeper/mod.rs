//! ZooKeeper: what a client can ask of an ensemble, and what its session tells it.

mod protocol;

pub use protocol::{
    CreateMode, Refusal, Reply, Request, Session, SessionState, WatchEvent, WatchId, ZooKeeper,
};
