//! Fault schedules: one file per family, one entry per variant in the list `nemeses!`.
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

macro_rules! nemeses {
    ($(#[doc = $summary:literal] $name:ident => $spec:path,)+) => {
        /// A nemesis by its name, as a test in Rust gives it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Nemesis {
            $(#[doc = $summary] $name,)+
        }

        impl Nemesis {
            /// All nemeses, in the order in which `picklock list` shows them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns its name, as `--nemesis` takes it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $spec.name,)+
                }
            }

            /// Returns one line about it, for `picklock list`.
            pub fn summary(self) -> &'static str {
                let summary = match self {
                    $(Self::$name => $summary,)+
                };
                summary.trim().trim_end_matches('.')
            }
        }

        /// The specifications of all nemeses, in the same order.
        pub const NEMESES: &[&NemesisSpec] = &[$(&$spec,)+];
    };
}

nemeses! {
    /// No faults.
    None => none::NONE,
    /// Cuts clients from servers and servers from servers, both ways or one way.
    Partition => partition::PARTITION,
    /// Cuts clients from servers, preferring a holder in a long hold.
    PartitionClient => partition::CLIENT,
    /// Cuts a server from its peers; a server without peers is cut from the clients.
    PartitionServer => partition::SERVER,
    /// Cuts a holder from what the lock guards: its write arrives after it has given up.
    PartitionVault => partition::VAULT,
    /// Divides servers and clients into two sides, with no link from one to the other.
    PartitionHalves => shape::HALVES,
    /// Lets each server see a majority, and no two the same one.
    PartitionRing => shape::RING,
    /// Divides the servers into two sides, with one server that sees both.
    PartitionBridge => shape::BRIDGE,
    /// Cuts about half of the clients from all servers at once.
    PartitionGroup => shape::GROUP,
    /// Pauses clients past the ttl, preferring the holder, and now and then a server.
    Pause => pause::PAUSE,
    /// Pauses clients past the ttl, preferring the holder.
    PauseClient => pause::CLIENT,
    /// Pauses servers, for up to two and a half ttls.
    PauseServer => pause::SERVER,
    /// Pauses the server that leads the others, for up to two and a half ttls.
    PauseLeader => pause::LEADER,
    /// Kills clients (the holder, or in an open acquire) and servers, which keep their data.
    Crash => crash::CRASH,
    /// Kills clients: the holder, or in an open acquire after a server's reply.
    CrashClient => crash::CLIENT,
    /// Kills servers, one at a time; they come back with their data.
    CrashServer => crash::SERVER,
    /// Kills servers during long holds; they come back at once, without their data.
    CrashServerLoseData => crash::SERVER_LOSE_DATA,
    /// Takes the power from servers: they come back at once, without their last second.
    CrashServerLoseSecond => crash::SERVER_LOSE_SECOND,
    /// Kills the server that leads the others, whichever that is; it keeps its data.
    CrashLeader => crash::LEADER,
    /// Takes the machines of servers away without a word, one at a time; they keep their data.
    VanishServer => crash::VANISH,
    /// Fills the memory of servers during long holds, so that they evict the lock.
    Evict => evict::EVICT,
    /// Cuts a primary from its replicas and kills it after a grant: one that lacks it is promoted.
    Failover => failover::FAILOVER,
    /// Sets wall clocks ahead or back, and has clocks run fast or slow.
    Clock => clock::CLOCK,
    /// Sets wall clocks ahead or back: a server's during a long hold, all servers', a client's.
    ClockJump => clock::JUMP,
    /// Sets the wall clock of one server at a time, during long holds.
    ClockJumpServer => clock::JUMP_SERVER,
    /// Sets the wall clock of one client at a time, preferring the holder.
    ClockJumpClient => clock::JUMP_CLIENT,
    /// Sets wall clocks ahead and right again, ten times within a ttl.
    ClockStrobe => strobe::STROBE,
    /// Has the clocks of a node run fast or slow, by up to a tenth.
    ClockDrift => clock::DRIFT,
    /// Has the clock of one server at a time run fast or slow, by up to a tenth.
    ClockDriftServer => clock::DRIFT_SERVER,
    /// Has the clocks of a node stand still while it runs on, for up to two and a half ttls.
    ClockFreeze => clock::FREEZE,
    /// Has the clock of one server at a time stand still, for up to two and a half ttls.
    ClockFreezeServer => clock::FREEZE_SERVER,
    /// Resets, refuses, slows and throttles clients' connections, loses requests and replies.
    Link => link::LINK,
    /// Resets the connections of a client, preferring one that holds or asks.
    LinkReset => link::RESET,
    /// Resets the connections of a client and refuses new ones for a while.
    LinkRefuse => link::REFUSE,
    /// Loses exactly one request of a client, with its connection: it was not carried out.
    LinkLoseRequest => link::LOSE_REQUEST,
    /// Loses exactly one reply to a client, with its connection: it was carried out.
    LinkLoseReply => link::LOSE_REPLY,
    /// Makes the links of a client up to 64 times as slow for a while.
    LinkSlow => link::SLOW,
    /// Delays each message over a client's links by another time, of up to a quarter of a ttl.
    LinkJitter => link::JITTER,
    /// Limits the bandwidth of a client's links for a while, to as little as ten packets a ttl.
    LinkThrottle => link::THROTTLE,
    /// Slows, jitters and throttles the links of a server to its peers, so that they lag behind.
    LinkServer => link::SERVER,
    /// Resets, refuses, slows and throttles connections to what the lock guards, loses writes.
    LinkVault => link::VAULT,
}

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
