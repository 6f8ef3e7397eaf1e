//! Causes: the reasons for which a lock broke, apart from the anomalies that show it.
//!
//! A nemesis is not a cause: under `pause` a server may be paused and not the holder, and one
//! nemesis of a list may have done nothing. Checkers name the cause of each anomaly from the
//! history and, where there is one, the [ledger](crate::Ledger) of the store; a lock lists the
//! causes that are known to break it.

mod set;

pub use set::Causes;

use serde::{Deserialize, Serialize};
use std::fmt;

/// The cause of an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The holder was paused until its lock had run out, or its session had ended.
    HolderPaused,
    /// The holder worked for longer than its lock lives.
    LongHold,
    /// The holder was cut off from the servers until its lock or session had ended.
    HolderCutOff,
    /// The grant reached its client so late that the lock had run out, or was about to.
    LateGrant,
    /// A server lost what it had stored.
    ServerForgets,
    /// A server evicted the lock, because its memory was full.
    Evicted,
    /// The clock of a server was wrong.
    ServerClock,
    /// The clock of a client was wrong.
    ClientClock,
    /// The servers were down, paused or cut off from each other until the session had ended.
    ServersApart,
    /// The session is so short that the ensemble ends it before a member that is cut off stops
    /// serving the holder.
    ShortSession,
    /// The server of the holder was cut off from the others and then fell silent, so that the
    /// holder had to find out by its own time-out.
    ServerSilent,
    /// The only server that has the lock was down or paused.
    OnlyServerDown,
    /// A request took effect after its client had given it up.
    LateRequest,
    /// No reply came to a request, so that its client does not know what it has in the store.
    ReplyLost,
    /// A release never reached the server.
    ReleaseLost,
    /// A caller stopped waiting in mid-call, and what it left in the store stays with a client that
    /// lives on.
    CallCancelled,
    /// A client died and left the lock taken.
    ClientDied,
    /// The release of another client freed the lock.
    ForeignRelease,
    /// Another client took a lock for abandoned that was not.
    Recovery,
    /// The lock ran out between the steps of its holder's release.
    RanOutWhileReleasing,
    /// The client believes that it holds the lock, and nothing in the store supports that.
    NothingTaken,
    /// The store took two workers of one client, or two holds of one worker, for the same owner.
    SharedIdentity,
    /// A write took so long to reach the vault that the lock was another's by then.
    WriteDelayed,
    /// No fault: the steps of the recipe itself, in some order.
    Recipe,
}

impl Cause {
    /// All causes, in the order of their declaration.
    pub const ALL: [Self; 24] = [
        Self::HolderPaused,
        Self::LongHold,
        Self::HolderCutOff,
        Self::LateGrant,
        Self::ServerForgets,
        Self::Evicted,
        Self::ServerClock,
        Self::ClientClock,
        Self::ServersApart,
        Self::ShortSession,
        Self::ServerSilent,
        Self::OnlyServerDown,
        Self::LateRequest,
        Self::ReplyLost,
        Self::ReleaseLost,
        Self::CallCancelled,
        Self::ClientDied,
        Self::ForeignRelease,
        Self::Recovery,
        Self::RanOutWhileReleasing,
        Self::NothingTaken,
        Self::SharedIdentity,
        Self::WriteDelayed,
        Self::Recipe,
    ];

    /// Returns true if it takes a fault to bring it about. A grant is late on any link that is slow
    /// for the life of the lock.
    pub const fn needs_fault(self) -> bool {
        !matches!(
            self,
            Self::LongHold
                | Self::LateGrant
                | Self::CallCancelled
                | Self::ForeignRelease
                | Self::Recovery
                | Self::RanOutWhileReleasing
                | Self::NothingTaken
                | Self::SharedIdentity
                | Self::Recipe
        )
    }

    /// Returns true if it lies with the servers and not with a client.
    pub const fn is_of_servers(self) -> bool {
        matches!(
            self,
            Self::ServerForgets
                | Self::Evicted
                | Self::ServerClock
                | Self::ServersApart
                | Self::ShortSession
                | Self::ServerSilent
                | Self::OnlyServerDown
        )
    }

    /// The name, as files and options spell it: "holder-paused".
    pub const fn name(self) -> &'static str {
        match self {
            Self::HolderPaused => "holder-paused",
            Self::LongHold => "long-hold",
            Self::HolderCutOff => "holder-cut-off",
            Self::LateGrant => "late-grant",
            Self::ServerForgets => "server-forgets",
            Self::Evicted => "evicted",
            Self::ServerClock => "server-clock",
            Self::ClientClock => "client-clock",
            Self::ServersApart => "servers-apart",
            Self::ShortSession => "short-session",
            Self::ServerSilent => "server-silent",
            Self::OnlyServerDown => "only-server-down",
            Self::LateRequest => "late-request",
            Self::ReplyLost => "reply-lost",
            Self::ReleaseLost => "release-lost",
            Self::CallCancelled => "call-cancelled",
            Self::ClientDied => "client-died",
            Self::ForeignRelease => "foreign-release",
            Self::Recovery => "recovery",
            Self::RanOutWhileReleasing => "ran-out-while-releasing",
            Self::NothingTaken => "nothing-taken",
            Self::SharedIdentity => "shared-identity",
            Self::WriteDelayed => "write-delayed",
            Self::Recipe => "recipe",
        }
    }
}

/// Displays the cause as a clause: "the holder was paused for longer than its lock lives".
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HolderPaused => "the holder was paused for longer than its lock lives",
            Self::LongHold => "the holder worked for longer than its lock lives",
            Self::HolderCutOff => "the holder was cut off for longer than its lock lives",
            Self::LateGrant => "the grant reached its client too late",
            Self::ServerForgets => "a server lost what it had stored",
            Self::Evicted => "a server evicted the lock to make room",
            Self::ServerClock => "the clock of a server was wrong",
            Self::ClientClock => "the clock of a client was wrong",
            Self::ServersApart => "servers were down or cut off from each other",
            Self::ShortSession => {
                "the session is shorter than a server takes to notice that it is cut off"
            }
            Self::ServerSilent => {
                "the holder's server was cut off from the others and then fell silent"
            }
            Self::OnlyServerDown => "the only server was down",
            Self::LateRequest => "a request took effect after its client had given it up",
            Self::ReplyLost => {
                "a client got no reply, and does not know what it has left in the store"
            }
            Self::ReleaseLost => "a release never reached the server",
            Self::CallCancelled => "a caller stopped waiting in mid-call and left the lock taken",
            Self::ClientDied => "a client died and left the lock taken",
            Self::ForeignRelease => "another client's release freed the lock",
            Self::Recovery => "another client took a live lock for an abandoned one",
            Self::RanOutWhileReleasing => "the lock ran out in the middle of its release",
            Self::NothingTaken => "the client held nothing in the store",
            Self::SharedIdentity => "the store took two holds of one client for the same one",
            Self::WriteDelayed => "a write was on its way until the lock was another's",
            Self::Recipe => "the recipe itself allows it, without any fault",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_stored_under_its_name() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            let stored = serde_json::to_string(&cause).expect("a name");
            assert_eq!(stored, format!("\"{}\"", cause.name()));
            assert_eq!(cause as usize, place, "each once, in order");
        }
    }
}
