//! What a backend has to be able to do for a fault: asked before a run, so that a fault that it
//! cannot do is refused by name and not met in the middle.

use super::Fault;
use std::fmt;

/// What a backend can do to the world, or cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// Pause a node.
    Pause,
    /// Kill a node, and start a server again with or without its data.
    Crash,
    /// Hold what is sent over a link.
    Cut,
    /// Set, bend or stop the clocks of a node.
    Clock,
}

impl Fault {
    /// What it takes to do this.
    pub const fn ability(&self) -> Ability {
        match self {
            Self::Pause { .. } => Ability::Pause,
            Self::Crash { .. } => Ability::Crash,
            Self::Cut { .. } => Ability::Cut,
            Self::Clock { .. } => Ability::Clock,
        }
    }
}

/// After "cannot".
impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pause => "pause a node",
            Self::Crash => "kill a node",
            Self::Cut => "cut a link",
            Self::Clock => "change the clock of a node",
        })
    }
}
