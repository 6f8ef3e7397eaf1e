//! ZooKeeper as pure state machines: a member of an ensemble, and the client library.

#[cfg(test)]
mod chaos;
mod client;
mod database;
#[cfg(test)]
pub mod network;
mod packet;
mod server;
#[cfg(test)]
mod tests;
mod tracker;
mod tree;
mod watches;

pub use client::{ClientModel, ClientOut};
pub use database::{Database, Transaction};
pub use packet::{ElectionRole, Packet, PeerPacket, ToFollower, ToLeader, Vote, WatchKind};
pub use server::{Server, note, watched};
pub use tree::Tree;
pub use watches::Watches;
