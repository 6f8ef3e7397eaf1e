//! A world that this build does not have.

use super::RunWorld;

/// The world in the list.
pub const WORLD: RunWorld = RunWorld::absent(
    "local",
    "Real servers as processes, from the programs of this machine; no Docker, no root",
    true,
);
