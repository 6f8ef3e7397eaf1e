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
mod link;
mod machine;
mod network;
mod pause;
mod server;
mod simulation;
mod timers;
mod troubles;

pub use chance::{Chances, Delays, Tape};
pub use client::Handle;
pub use config::SimConfig;
pub use network::{Gates, Order};
pub use simulation::{Open, Simulated, simulation};
pub use troubles::Troubles;
