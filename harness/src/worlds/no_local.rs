//! A world that this build does not have.

use super::World;

/// The world in the list.
pub const WORLD: World = World::absent(
    "local",
    "Real servers as processes, from the programs of this machine; no Docker, no root",
    true,
);
