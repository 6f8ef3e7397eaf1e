//! Real servers as child processes on the loopback, from the programs of this machine.
//!
//! They need no engine and no rights: a pause is SIGSTOP, a crash SIGKILL, and what servers say to
//! each other goes through link proxies, too.

mod clean;
mod folder;
mod peers;
mod port;
mod programs;
mod server;
mod servers;

pub use clean::{Cleaned, clean};
pub use programs::ready;
pub use server::LocalServer;
pub use servers::LocalServers;

use testbed::RealBackend;

/// The backend `local`.
pub type LocalBackend = RealBackend<LocalServers>;

/// Real servers as child processes on their own.
pub type RealServers = testbed::RealServers<LocalServers>;
