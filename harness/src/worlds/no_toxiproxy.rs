//! Links of clients that lead through a Toxiproxy server, which this build does not have.

use base::{Ability, Lack};

/// Checks that this build can talk to such a server: it cannot.
///
/// # Errors
/// Fails with the remedy.
pub fn is_built_in() -> Result<(), String> {
    Err(super::not_built().to_string())
}

/// Returns that there is no lack but the server itself.
pub fn can(_: Ability) -> Result<(), Lack> {
    Ok(())
}

/// Returns true for any rate.
pub const fn is_rate(_: u32) -> bool {
    true
}
