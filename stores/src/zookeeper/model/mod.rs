//! ZooKeeper as a pure state machine: a member of an ensemble.

#[cfg(test)]
mod chaos;
mod database;
#[cfg(test)]
mod network;
mod packet;
mod server;
#[cfg(test)]
mod tests;
mod tracker;
mod tree;
mod watches;

pub use database::{Database, Transaction};
pub use packet::{ElectionRole, Packet, PeerPacket, ToFollower, ToLeader, Vote, WatchKind};
pub use server::{Server, note, watched};
pub use tree::Tree;
pub use watches::Watches;
