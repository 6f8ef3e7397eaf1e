//! Links of clients that lead through a Toxiproxy server.

pub use testbed::toxiproxy::{can, is_rate};

/// Checks that this build can talk to such a server.
///
/// # Errors
/// Fails with the remedy.
pub fn is_built_in() -> Result<(), String> {
    testbed::toxiproxy::is_built_in().map_err(|why| why.to_string())
}
