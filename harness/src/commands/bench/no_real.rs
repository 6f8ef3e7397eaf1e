//! The measurement of real clients in a build that has no containers: there is none.

use clap::Args;

use super::Failure;
use crate::Exit;

/// Takes nothing.
#[derive(Debug, Args)]
pub struct RealArgs {}

/// Refuses, with the remedy.
pub fn run(_: &RealArgs) -> Result<Exit, Failure> {
    Err(Failure::could_not("this picklock was built without the cargo feature `docker`"))
}
