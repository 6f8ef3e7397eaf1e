//! Families of actions: how reports call and colour them.

/// A family of actions that look alike to whoever is hit. Reports draw each in its colour, which
/// has the name of the family in their style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// A node does not run.
    Pause,
    /// A node is gone. (A machine that has vanished is drawn as what it is to its clients: a server
    /// that is gone.)
    Crash,
    /// A link holds what is sent over it.
    Cut,
    /// The clocks of a node are wrong.
    Clock,
    /// The connections over a link suffer.
    Link,
    /// A server has no room left in its memory.
    Memory,
}

impl Family {
    /// All families, in the order of the legend.
    pub const ALL: &[Self] =
        &[Self::Pause, Self::Crash, Self::Cut, Self::Clock, Self::Link, Self::Memory];

    /// The name, as reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Crash => "crash",
            Self::Cut => "cut",
            Self::Clock => "clock",
            Self::Link => "link",
            Self::Memory => "memory",
        }
    }

    /// The words for its colour in a legend.
    pub const fn legend(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Crash => "crash",
            Self::Cut => "cut link",
            Self::Clock => "wrong clock",
            Self::Link => "link fault",
            Self::Memory => "memory full",
        }
    }
}
