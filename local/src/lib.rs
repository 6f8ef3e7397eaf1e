//! Real servers as child processes on the loopback, from the programs of this machine.
//!
//! They need no engine and no rights: a pause is SIGSTOP, a crash SIGKILL, and what servers say to
//! each other goes through link proxies, too.

mod caller;
mod clean;
mod faked_clock;
mod folder;
mod front;
mod peers;
mod port;
mod posix;
mod programs;
mod server;
mod server_user;
mod servers;
mod socket_forwarder;
mod socks;
mod system_v;

pub use clean::{Cleaned, clean};
pub use folder::CleanedFolders;
pub use programs::{ready, tried};
pub use server::LocalServer;
pub use servers::LocalServers;

use testbed::RealBackend;

/// The backend `local`.
pub type LocalBackend = RealBackend<LocalServers>;

/// Real servers as child processes on their own.
pub type RealServers = testbed::RealServers<LocalServers>;
