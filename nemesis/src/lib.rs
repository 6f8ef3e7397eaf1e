//! Fault schedules: one file per family, one line per variant in [`NEMESES`].
//!
//! A nemesis decides which fault comes next and yields it as data. It knows no lock, no backend and
//! no checker.

pub mod aim;
mod clock;
mod crash;
mod evict;
pub mod failover;
mod holders;
mod link;
mod none;
mod partition;
mod pause;
mod shape;
mod strobe;

use base::NemesisSpec;

pub use holders::waits_for_holders;
pub use link::least_bandwidth;

/// All nemeses, in the order in which `picklock list` shows them.
pub const NEMESES: &[&NemesisSpec] = &[
    &none::NONE,
    &partition::PARTITION,
    &partition::CLIENT,
    &partition::SERVER,
    &partition::VAULT,
    &shape::HALVES,
    &shape::RING,
    &shape::BRIDGE,
    &shape::GROUP,
    &pause::PAUSE,
    &pause::CLIENT,
    &pause::SERVER,
    &pause::LEADER,
    &crash::CRASH,
    &crash::CLIENT,
    &crash::SERVER,
    &crash::SERVER_LOSE_DATA,
    &crash::SERVER_LOSE_SECOND,
    &crash::LEADER,
    &crash::VANISH,
    &evict::EVICT,
    &failover::FAILOVER,
    &clock::CLOCK,
    &clock::JUMP,
    &clock::JUMP_SERVER,
    &clock::JUMP_CLIENT,
    &strobe::STROBE,
    &clock::DRIFT,
    &clock::DRIFT_SERVER,
    &clock::FREEZE,
    &clock::FREEZE_SERVER,
    &link::LINK,
    &link::RESET,
    &link::REFUSE,
    &link::LOSE_REQUEST,
    &link::LOSE_REPLY,
    &link::SLOW,
    &link::JITTER,
    &link::THROTTLE,
    &link::SERVER,
    &link::VAULT,
];

/// The nemeses that hit clients and their links only: no server, and no link between servers.
pub const OF_CLIENTS: &[&NemesisSpec] = &[
    &none::NONE,
    &partition::CLIENT,
    &partition::VAULT,
    &shape::GROUP,
    &pause::CLIENT,
    &crash::CLIENT,
    &clock::JUMP_CLIENT,
    &link::LINK,
    &link::RESET,
    &link::REFUSE,
    &link::LOSE_REQUEST,
    &link::LOSE_REPLY,
    &link::SLOW,
    &link::JITTER,
    &link::THROTTLE,
    &link::VAULT,
];

/// The nemesis with this name.
pub fn find(name: &str) -> Option<&'static NemesisSpec> {
    NEMESES.iter().copied().find(|spec| spec.name == name)
}

#[cfg(test)]
mod tests;
