//! The readiness of a machine for a world, and what a world lacks.

use crate::{Ability, BackendError};

/// The readiness to start servers at once, without downloading or building anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Servers can be started at once.
    Ready,
    /// Servers cannot be started at once.
    NotReady {
        /// The reason, in one line.
        reason: String,
        /// The remedy, in one line.
        fix: String,
    },
}

impl Readiness {
    /// The readiness of a machine on which this went wrong.
    pub fn not(BackendError(text): &BackendError) -> Self {
        let (reason, fix) = text.split_once("; fix: ").unwrap_or((text, "see above"));
        Self::NotReady { reason: reason.into(), fix: fix.into() }
    }
}

/// The lack of an ability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The reason, in one line.
    pub reason: String,
    /// The way to have it on real servers all the same, if there is one.
    pub fix: Option<String>,
}

impl Lack {
    /// The lack of what no real server can do.
    pub fn of(ability: Ability) -> Self {
        Self { reason: format!("real servers cannot {ability}"), fix: None }
    }

    /// The lack of what these servers cannot do, for this reason.
    #[must_use]
    pub fn because(mut self, why: &str) -> Self {
        self.reason = format!("{}: {why}", self.reason);
        self
    }

    /// The same with a remedy.
    #[must_use]
    pub fn unless(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}
