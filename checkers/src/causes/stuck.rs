//! Locks that stay taken: the thing that still stands in the store, and how it was left there.

use super::books::{Books, Standing, Written};
use super::loss::why_session_ended;
use super::of_phantom;
use super::span::{Trouble, had};
use crate::Case;
use crate::holds::{Answer, Claim, Ending};
use base::{Cause, Change, Kind};
use std::collections::BTreeMap;
use std::ops::Range;

/// The cause for which nobody is granted a lock, at a time in nanoseconds: that of the latest thing
/// which stands in the store and was left there by a claim for this lock. `culprit` is the claim
/// that the history suspects, for runs without a ledger.
pub(crate) fn of_stuck(
    case: &Case<'_>,
    key: usize,
    at_ns: u64,
    culprit: Option<&Claim>,
) -> Option<Cause> {
    let Some(books) = case.ownership() else {
        return Some(culprit.map_or(Cause::Recipe, |claim| why_left(case, claim, None)));
    };
    let left = case.left(books, at_ns);
    let left_by = |Standing { write, process, restored }: &Standing| {
        let claim = books.busy_with(case, *process, write.at_ns)?;
        let cause = match restored {
            true => Cause::ServerForgets,
            false => left_behind(case, books, &left, (claim, *write))?,
        };
        Some((write.at_ns, cause))
    };
    let standing = left.standing.get(&key).into_iter().flatten().filter_map(left_by);
    let latest = standing.max_by_key(|(made_ns, _)| *made_ns).map(|(_, cause)| cause);
    // Nothing stands in the store: why the session ended in which a client still asks in vain.
    let session_gone = || {
        let (claim, ended_ns) = *left.sessions.get(&key)?;
        why_session_ended(case, &case.claims.claims[claim], ended_ns, ended_ns)
    };
    Some(latest.or_else(session_gone).unwrap_or(Cause::Recipe))
}

/// The contents of the store at some time.
#[derive(Debug)]
pub(crate) struct Left {
    /// The things that stand there, by the key that their writer was busy with.
    standing: BTreeMap<usize, Vec<Standing>>,
    /// The claim that was never answered in the session that ended last, and when that was, by key.
    sessions: BTreeMap<usize, (usize, u64)>,
    /// The lock is free again by its time.
    expires: bool,
}

impl Left {
    pub(crate) fn of(case: &Case<'_>, books: &Books, at_ns: u64) -> Self {
        let mut standing: BTreeMap<usize, Vec<Standing>> = BTreeMap::new();
        for thing in books.standing(at_ns) {
            if let Some(claim) = books.busy_with(case, thing.process, thing.write.at_ns) {
                standing.entry(claim.key).or_default().push(thing);
            }
        }
        let expires = |claim: &Claim| claim.granted().and_then(|ok| case.facts(ok)?.expires_ns);
        let expires = case.claims.grants().any(|claim| expires(claim).is_some());
        Self { standing, sessions: sessions(case), expires }
    }
}

fn sessions(case: &Case<'_>) -> BTreeMap<usize, (usize, u64)> {
    let mut asking: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (id, claim) in case.claims.claims.iter().enumerate() {
        let in_vain = match claim.answer {
            Answer::Open => true,
            Answer::Unknown(at) => !is_death(case, at),
            _ => false,
        };
        if in_vain {
            asking.entry(claim.process).or_default().push(id);
        }
    }
    let mut sessions = BTreeMap::new();
    let entries = case.run.ledger.iter().flat_map(|ledger| ledger.entries().iter().rev());
    for entry in entries {
        let Change::SessionEnded(process) = entry.change else { continue };
        // Of a session that ended before, nothing more is asked.
        for id in asking.remove(&process).into_iter().flatten() {
            let key = case.claims.claims[id].key;
            sessions.entry(key).or_insert((id, entry.time_ns));
        }
    }
    sessions
}

/// Returns the reason why a claim left a thing behind; `None` if it still waits or holds, as it
/// may.
fn left_behind(
    case: &Case<'_>,
    books: &Books,
    left: &Left,
    (claim, write): (&Claim, Written),
) -> Option<Cause> {
    // A lock that is to be free again by its time is kept by a clock that was wrong while it was made.
    if left.expires {
        let made = case.time(claim.invoke)..write.at_ns;
        let clocks = [
            (Trouble::ServerClock, write.at_ns..write.at_ns, Cause::ServerClock),
            (Trouble::ClientClock, made, Cause::ClientClock),
        ];
        let wrong = |(trouble, during, _): &(Trouble, Range<u64>, Cause)| {
            had(case, *trouble, claim.process, during.clone())
        };
        if let Some((.., cause)) = clocks.into_iter().find(wrong) {
            return Some(cause);
        }
    }
    if claim.answer == Answer::Open {
        // The latest place in a queue is the one at which its client waits, as it may; any other
        // thing is one that its client does not know of.
        let taken = books.taken(case, claim);
        let waits_here = taken.iter().max_by_key(|taken| taken.at_ns) == Some(&write);
        let waits = case.run.info.promises.fifo && waits_here;
        return (!waits).then_some(Cause::ReplyLost);
    }
    Some(why_left(case, claim, Some(write.at_ns)))
}

/// Returns true if an event is the death of a client.
fn is_death(case: &Case<'_>, at: u64) -> bool {
    case.run.history.get(at).is_some_and(|event| event.f == base::F::Death)
}

/// Returns the reason why a claim left the lock taken, by how it ended; `made_ns` is when it made
/// what stands there.
fn why_left(case: &Case<'_>, claim: &Claim, made_ns: Option<u64>) -> Cause {
    let is_death = |at| is_death(case, at);
    let late = |at: u64| made_ns.is_some_and(|made| made > case.time(at));
    // A server that is down refuses, and one that is cut off cannot be connected to.
    let unheard = |at: u64| {
        let begun = claim.end.map_or(at, |end| end.at);
        let around = case.time(begun).saturating_sub(1)..case.time(at);
        let troubles = [Trouble::Servers, Trouble::CutOff];
        troubles.iter().any(|trouble| had(case, *trouble, claim.process, around.clone()))
    };
    match (claim.answer, claim.end, claim.freed) {
        (Answer::Unknown(at), ..) if is_death(at) => Cause::ClientDied,
        (Answer::Failed(at) | Answer::Unknown(at), ..) if late(at) => Cause::LateRequest,
        (Answer::Failed(_), ..) => of_phantom(case, claim).unwrap_or(Cause::Recipe),
        (Answer::Unknown(_) | Answer::Open, ..) => Cause::ReplyLost,
        (Answer::Granted(_), Some(end), _) if end.how == Ending::Death => Cause::ClientDied,
        (Answer::Granted(_), _, Some((at, Kind::Info))) if is_death(at) => Cause::ClientDied,
        (Answer::Granted(_), _, Some((at, _))) if late(at) => Cause::LateRequest,
        (Answer::Granted(_), _, Some((_, Kind::Info | Kind::Invoke)) | None) => Cause::ReleaseLost,
        (Answer::Granted(_), _, Some((at, Kind::Fail))) if unheard(at) => Cause::ReleaseLost,
        (Answer::Granted(_), _, Some((_, Kind::Ok | Kind::Fail))) => Cause::Recipe,
    }
}
