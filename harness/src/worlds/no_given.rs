//! A world that this build does not have.

use super::World;

/// The world in the list.
pub const WORLD: World = World::absent("servers", "Servers that somebody else runs", false);
