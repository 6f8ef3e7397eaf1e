//! A world that this build does not have.

use super::RunWorld;

/// The world in the list.
pub const WORLD: RunWorld = RunWorld::absent(
    "docker",
    "Real servers in containers; builds the image when it is missing",
    true,
);
