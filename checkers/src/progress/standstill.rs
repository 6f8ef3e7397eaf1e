//! Locks that were stuck for a while: nobody was granted them for the whole of their bound, though
//! they were asked for and no fault was in force; then a fault, a client that was given up, or a
//! grant ended it.

use super::{LockFate, persistent};
use crate::Case;
use crate::phase::{EventTime, QuietPhase};
use base::{Fault, Node};
use histories::holds::Claim;

/// An interval in which a lock was stuck, between two events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standstill {
    /// The lock, as an index into the claims' keys.
    pub(super) key: usize,
    /// The claim that asked first, as an index into the claims.
    pub(super) first: usize,
    /// The event that ended it.
    pub(super) until: u64,
    /// The time at which its bound was over, in nanoseconds.
    pub(super) proven_ns: u64,
}

impl Standstill {
    /// Returns the standstill of a lock that is still stuck when the run ends.
    pub(super) fn at_the_end(case: &Case<'_>, phase: &QuietPhase, first: usize) -> Self {
        let EventTime { index: until, time: proven_ns } = phase.stop;
        Self { key: case.claims.claims[first].key, first, until, proven_ns }
    }

    /// Returns a time, in nanoseconds, at which whatever kept it from everybody was certainly
    /// there: had it gone before, somebody would have picked the lock up until its bound was over.
    pub(super) fn kept_ns(&self, case: &Case<'_>) -> u64 {
        self.proven_ns.saturating_sub(case.run.info.pick_up_ns())
    }
}

/// The intervals in which a lock was stuck. One that lasts until the run ends is none of them.
pub(super) fn standstills(case: &Case<'_>, key: usize) -> Vec<Standstill> {
    let due = bound_ns(case);
    let long = |(from, until): &(u64, u64)| case.time(*until) - case.time(*from) >= due;
    let stuck = |(from, until): (u64, u64)| {
        let moment = |at| case.run.history.get(at).map(EventTime::from);
        let phase = QuietPhase { healed: None, quiet: moment(from)?, stop: moment(until)? };
        match persistent(case.run, &phase, case.asked(key)) {
            LockFate::Stuck(first) => {
                let asked = case.time(case.claims.claims[first].invoke);
                let proven_ns = asked.max(case.time(from)) + due;
                (proven_ns <= case.time(until)).then_some(Standstill {
                    key,
                    first,
                    until,
                    proven_ns,
                })
            }
            _ => None,
        }
    };
    free(case, key).into_iter().filter(long).filter_map(stuck).collect()
}

/// The time after which a lock that nobody was granted is stuck. After a fault of a server or a link
/// the servers have to recover before it can: an ensemble without a leader may elect one twice. A
/// quiet phase has time for both.
fn bound_ns(case: &Case<'_>) -> u64 {
    let is_client = |node: &Node| matches!(node, Node::Client(_));
    let of_clients = |fault: &Fault| {
        fault.links().is_empty() && !fault.is_at_vault() && fault.nodes().iter().all(is_client)
    };
    let info = &case.run.info;
    match case.fault_spans.iter().all(|span| of_clients(&span.fault)) {
        true => info.settled_ns(),
        false => info.due_ns().max(info.quiet_ns),
    }
}

/// The intervals in which nothing kept a lock from being granted, and nobody was granted it.
fn free(case: &Case<'_>, key: usize) -> Vec<(u64, u64)> {
    let ours = case.asked(key).map(|(_, claim)| claim);
    let faults =
        case.fault_spans.iter().map(|fault| (fault.begin, fault.healed.unwrap_or(u64::MAX)));
    let recovers = case.run.info.lock.promises.recovers.is_some();
    let mut kept: Vec<(u64, u64)> =
        ours.filter_map(|claim| keeps(claim, recovers)).chain(faults).collect();
    kept.sort_unstable();
    let (mut free, mut from) = (Vec::new(), 0);
    for (begin, end) in kept {
        if begin > from {
            free.push((from, begin));
        }
        from = from.max(end);
    }
    free
}

/// Returns the interval in which a claim keeps its lock from others, as it may: while it is held
/// and being freed, and where its client went and may have left it taken, from when on its bound
/// counts anew. One that never promises to recover is kept by holds alone.
fn keeps(claim: &Claim, recovers: bool) -> Option<(u64, u64)> {
    let gone = claim.left_at(u64::MAX).filter(|_| recovers && claim.granted().is_none());
    let held = claim.granted().map(|ok| {
        let end = claim.end.map_or(u64::MAX, |end| end.at);
        let freed = claim.freed.map_or(end, |(at, _)| at);
        (ok, if recovers { end.max(freed) } else { end })
    });
    held.or(gone.map(|at| (at, at)))
}
