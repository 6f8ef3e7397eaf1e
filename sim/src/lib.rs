//! The simulated world: one thread, one agenda, virtual time.
//!
//! Clients are the same code as on real servers; servers are the models of `stores`. The same seed
//! gives the same history, byte for byte.

mod agenda;
mod bookkeeper;
mod chance;
mod client;
mod clock;
mod config;
pub mod exhaustive;
mod library;
mod machine;
mod network;
mod pause;
mod redis;
mod server;
mod simulation;
mod timers;
mod troubles;
mod zookeeper;

pub use chance::{Chances, Delays, Tape};
pub use client::Handle;
pub use config::SimConfig;
pub use network::{Gates, Order};
pub use redis::RedisWorld;
pub use simulation::{Open, Simulated, redis, zookeeper};
pub use troubles::Troubles;
pub use zookeeper::ZooKeeperWorld;
