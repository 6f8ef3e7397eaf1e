//! The readiness of a machine for real servers.

use base::BackendError;

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
