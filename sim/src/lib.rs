//! The simulated world: one thread, one event queue, virtual time.
//!
//! Clients are the same code as on real servers; servers are the models of `stores`. The same seed
//! gives the same history, byte for byte.

mod chance;
mod client;
mod clock;
mod config;
mod event_queue;
pub mod exhaustive;
mod link;
mod link_faults;
mod machine;
mod network;
mod pause;
mod server;
mod simulation;
mod timers;

pub use chance::{Chances, ChoiceLog, Delays};
pub use client::Handle;
pub use config::SimConfig;
pub use link_faults::LinkFaults;
pub use network::{Gates, PacketOrder};
pub use simulation::{OpenClient, Simulated, simulation};
