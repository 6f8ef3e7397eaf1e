//! The mistakes in the description of a lock that somebody else wrote.

use base::NoLockName;
use std::path::PathBuf;

use crate::excerpt::Excerpt;
use crate::nearest::Unlisted;

/// A mistake in the description of a lock. Each says what to write instead, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignError {
    /// The command is none.
    #[error("`{0}` is no command: give a program with its arguments, as a shell takes them")]
    Command(String),
    /// The command of its server is none.
    #[error("`{0}` is no command: give the server with its arguments, as a shell takes them")]
    Server(String),
    /// The command of a server is given where picklock starts the servers itself.
    #[error(
        "picklock starts the servers of {0} itself: leave `server` out, or write on = \"custom\""
    )]
    KnownServer(String),
    /// A name is not in its list.
    #[error(transparent)]
    Unlisted(#[from] Unlisted),
    /// It promises something that is no promise.
    #[error("{0}")]
    Promise(String),
    /// It is to be free again at once after a holder's death.
    #[error(
        "no lock is free again within 0s of its holder's death: give the longest time that it \
         takes, such as 3s"
    )]
    Recovery,
    /// It has no time to start.
    #[error("no program starts within 0s: give the longest time that it takes, such as 2m")]
    StartUp,
    /// A variable of its environment can have no such name.
    #[error("`{0}` is no name of a variable: one is not empty, and has neither `=` nor NUL in it")]
    Variable(String),
    /// A known weakness has no cause.
    #[error("a known weakness has a cause: write `{0} by …`, such as `{0} by holder-paused`")]
    Cause(String),
    /// Its name is none; another one can be given.
    #[error("{0}; give it one with name = \"…\" in a definition file (docs/own-lock.md)")]
    Name(#[from] NoLockName),
    /// The servers are not given.
    #[error("a program needs its servers: give --on TOPOLOGY (`picklock list topologies`)")]
    Servers,
    /// The definition file has a mistake.
    #[error("`{}`, line {}, column {}: {mistake}", .file.display(), .at.line, .at.column)]
    File {
        /// The file.
        file: PathBuf,
        /// The place of the mistake.
        at: Excerpt,
        /// The mistake, and what to write instead.
        mistake: String,
    },
}

impl ForeignError {
    /// The field of a definition file that has the mistake.
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Server(_) | Self::KnownServer(_) => "server",
            Self::Unlisted(_) | Self::Servers => "on",
            Self::Promise(_) => "promises",
            Self::StartUp => "start-up",
            Self::Recovery => "recovers-within",
            Self::Variable(_) => "environment",
            Self::Cause(_) => "known",
            Self::Name(_) | Self::File { .. } => "name",
        }
    }

    /// The line of the definition file, with marks below what is wrong.
    pub fn excerpt(&self) -> &[String] {
        match self {
            Self::File { at, .. } => &at.lines,
            _ => &[],
        }
    }
}
