//! The testbed of real servers: client processes, the link proxies between them and the servers,
//! the faults on all of these, and the backend that is made of them. What the servers run in is the
//! business of others: it is behind the traits `Servers` and `StartedServer`.

pub mod callers;
pub mod link_proxy;
pub mod own_process;
pub mod owner;
pub mod probe;
pub mod process;
pub mod tcp_owner;
pub mod toxiproxy;
pub mod wall_clock;

mod abilities;
mod backend;
mod client_clock;
mod clients;
mod clock;
mod faults;
mod given;
mod interference;
mod memory;
mod notices;
mod observers;
mod real_servers;
mod server_clock;
mod servers;
mod stalls;
mod standings;
mod testbed;
mod wrong_clock;

pub use abilities::can;
pub use backend::RealBackend;
pub use base::{Lack, Readiness};
pub use clients::built_in_client;
pub use given::GivenServers;
pub use interference::CLIENTS;
pub use real_servers::RealServers;
pub use servers::{ClockAct, Servers, StartedServer, secrets_of, start_all};
pub use stores::real::monotonic_nanos;

use base::BackendError;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::runtime::Runtime;

/// An error with the action that failed.
pub fn broken(what: impl Display, error: impl Display) -> BackendError {
    BackendError(format!("{what}: {error}"))
}

/// Locks a mutex. Its data are whole at every moment, so a panic elsewhere does not spoil them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A runtime for the proxies and for the talk with the servers. It has no thread of its own: its
/// tasks go on while the drive loop waits, and no message has to wake another thread.
///
/// # Errors
/// Fails when the system gives it no way to wait.
pub fn runtime() -> Result<Runtime, BackendError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| broken("cannot start a runtime", e))
}
