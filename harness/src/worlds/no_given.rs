//! A world that this build does not have.

use super::RunWorld;

/// The world in the list.
pub const WORLD: RunWorld = RunWorld::absent("servers", "Servers that somebody else runs", false);
