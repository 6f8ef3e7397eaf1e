//! The advice against each cause.

use base::Cause;

/// Returns what to do against a cause, in a sentence; `None` where the story of the breach says
/// all there is.
pub const fn remedy(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::HolderPaused | Cause::LateGrant => {
            "Have the guarded resource refuse writes with an old fencing token: no ttl is longer \
             than every pause."
        }
        Cause::LongHold => {
            "Renew the lock while its holder works, or give it a ttl beyond the longest work."
        }
        Cause::HolderCutOff => {
            "Have the client stop by itself before its lock runs out, when it no longer reaches the \
             servers."
        }
        Cause::ServerForgets => {
            "Keep the lock where a restart or a failover does not lose it: etcd, ZooKeeper or \
             PostgreSQL, or a Redis that writes each command to disk before it answers."
        }
        Cause::Evicted => "Keep locks on servers that evict nothing (noeviction).",
        Cause::ServerClock | Cause::ClientClock => {
            "Keep clocks from being set by steps (slew them), and compare no times of two machines."
        }
        Cause::OnlyServerDown => "Run the lock on a majority of several servers.",
        Cause::ReplyLost | Cause::LateRequest => {
            "After a request of unknown outcome, ask the store whose the lock is before going on."
        }
        Cause::ForeignRelease | Cause::RanOutWhileReleasing => {
            "Release by a script or a transaction that compares the holder's own mark."
        }
        Cause::SharedIdentity => {
            "Give each grant a mark of its own, and not one for all of a process."
        }
        Cause::CallCancelled => {
            "Let calls of the lock end by themselves, in a task of their own, when a caller goes."
        }
        Cause::ClientDied | Cause::ReleaseLost => {
            "Give each lock a ttl, in the same command that takes it."
        }
        _ => return None,
    })
}
