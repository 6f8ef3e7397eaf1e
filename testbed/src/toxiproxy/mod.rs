//! Links through a Toxiproxy server that somebody else runs on this machine: each client reaches
//! each server through a proxy of that server's, behind the link proxy that counts what passes.
//!
//! Faults of these links are done by Toxiproxy or not at all (links between servers are cut as
//! ever):
//!
//! * Slow is its `latency`, both ways, in whole milliseconds (rounded up).
//! * Throttle is its `bandwidth`, both ways, in whole kilobytes a second; any other rate is
//!   refused. It limits each connection by itself, of which a client has one at a time.
//! * Reset is `enabled: false` and `true` again: both ends see an orderly close (FIN), and what is
//!   on its way there is lost. Its `reset_peer` would leave connections that are open as they are
//!   until the next bytes come, and close those in order, too.
//! * A cut is refused. Its `timeout` discards what TCP would deliver late, and hangs up at the
//!   heal.
//! * To refuse is refused: `enabled: false` breaks what is open, too, and that is to go on.
//! * The loss of a call is refused: `limit_data` counts bytes, and knows of no calls.
//!
//! Its answers prove nothing, since the client library takes each for a yes. So every change is
//! read back, and a round trip through each link is timed while a fault is in force: one that is
//! faster than the toxics allow ends the run.

mod fault;
mod links;
mod toxic;

#[cfg(feature = "toxiproxy")]
mod api;
#[cfg(not(feature = "toxiproxy"))]
#[path = "no_api.rs"]
mod api;

pub use fault::{ToxicFault, ToxicPair, reset};
pub use links::{ToxicLink, ToxicLinks};
pub use toxic::{can, check, is_rate};

/// Checks that this build can talk to Toxiproxy.
///
/// # Errors
/// Fails, with the remedy, where it cannot.
pub fn is_built_in() -> Result<(), base::BackendError> {
    match cfg!(feature = "toxiproxy") {
        true => Ok(()),
        false => Err(base::BackendError(NOT_BUILT_IN.into())),
    }
}

const NOT_BUILT_IN: &str =
    "this picklock was built without Toxiproxy; fix: build it with the cargo feature `toxiproxy`";
