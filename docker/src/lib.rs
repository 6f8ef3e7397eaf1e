//! Real servers in containers, started with testcontainers.

mod clean;
mod clock;
mod daemon;
mod drop_rule;
mod exec;
mod image;
mod network;
mod node;
mod reports;
mod server;
mod servers;

pub use clean::{Cleaned, clean};
pub use image::{ensure_image, ready};
pub use server::DockerServer;
pub use servers::DockerServers;

use base::BackendError;
use testbed::{RealBackend, broken};

/// The backend `docker`.
pub type DockerBackend = RealBackend<DockerServers>;

/// Real servers in containers on their own.
pub type RealServers = testbed::RealServers<DockerServers>;

/// Runs a shell command in the container of a server, and returns its output.
///
/// # Errors
/// Fails when there is no such server, or the command ends with an error.
pub fn run_in(
    backend: &DockerBackend,
    server: usize,
    command: &str,
) -> Result<String, BackendError> {
    let none = || BackendError(format!("there is no server {server}"));
    let server = backend.servers().get(server).ok_or_else(none)?;
    match backend
        .wait_for(server.run(exec::User::Server, command))
        .map_err(|error| broken(command, error))?
    {
        (Some(0), output) => Ok(output),
        (code, output) => Err(BackendError(format!("`{command}` ended with {code:?}: {output}"))),
    }
}
