//! The client of a build without real servers: there is none.

use anyhow::{Result, bail};

use crate::Exit;

/// Refuses to serve.
///
/// # Errors
/// Fails always, with the remedy.
pub fn run() -> Result<Exit> {
    bail!("this picklock was built without real servers; build it with the cargo feature `docker`")
}
