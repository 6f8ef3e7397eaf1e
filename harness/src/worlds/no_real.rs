//! The worlds of real servers, which this build does not have.

/// Servers that somebody else runs.
pub mod given {
    use crate::worlds::RunWorld;

    /// The world in the list.
    pub const WORLD: RunWorld =
        RunWorld::absent("servers", "Servers that somebody else runs", false);
}

/// Servers as processes of this machine.
pub mod local {
    use crate::worlds::RunWorld;

    /// The world in the list.
    pub const WORLD: RunWorld = RunWorld::absent(
        "local",
        "Real servers as processes, from the programs of this machine; no Docker, no root",
        true,
    );
}

/// Links of clients that lead through a Toxiproxy server.
pub mod toxiproxy {
    use base::{Ability, Lack};

    /// Checks that this build can talk to such a server: it cannot.
    ///
    /// # Errors
    /// Fails with the remedy.
    pub fn is_built_in() -> Result<(), String> {
        Err(crate::worlds::not_built().to_string())
    }

    /// Returns that there is no lack but the server itself.
    pub fn can(_: Ability) -> Result<(), Lack> {
        Ok(())
    }

    /// Returns true for any rate.
    pub const fn is_rate(_: u32) -> bool {
        true
    }
}
