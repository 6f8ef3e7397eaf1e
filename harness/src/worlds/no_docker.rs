//! A world that this build does not have.

use super::World;

/// The world in the list.
pub const WORLD: World = World::absent(
    "docker",
    "Real servers in containers; builds the image when it is missing",
    true,
);
