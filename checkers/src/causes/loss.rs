//! Losses: how a client came to have nothing in the store any more, and why it did not know.

use super::books::{Books, Changed, Step, Written};
use super::span::{Trouble, had, lasted};
use crate::Case;
use crate::holds::Claim;
use base::{Cause, Change};

/// The part that a client still has in the store of what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// All of it.
    Kept,
    /// It never took anything.
    Never,
    /// Something was taken from it.
    Lost(Lost),
}

/// The change that took something from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) at_ns: u64,
    /// The time at which it had been made.
    pub(super) made_ns: u64,
    pub(super) server: u32,
    pub(super) how: Change,
    /// The cause for which another had overwritten it before with something wrong.
    pub(super) spoilt: Option<Cause>,
}

/// The first loss of a claim up to a time, in nanoseconds. Of several things (a lock on many
/// servers) those count that the other claim has taken since, if it took any of them.
pub(super) fn of(
    case: &Case<'_>,
    books: &Books,
    claim: &Claim,
    until_ns: u64,
    other: Option<&Claim>,
) -> Loss {
    let taken = books.taken(case, claim);
    if taken.is_empty() {
        return Loss::Never;
    }
    let lost = |write: &Written| {
        let lost = of_thing(case, books, claim, *write, until_ns)?;
        let since = other.and_then(|other| books.takes(case, other, write.thing));
        Some((since.is_none_or(|since| since < lost.at_ns), lost))
    };
    let earliest = taken.iter().filter_map(lost).min_by_key(|(spare, lost)| (*spare, lost.at_ns));
    earliest.map_or(Loss::Kept, |(_, lost)| Loss::Lost(lost))
}

/// The change that took a thing from the client that made it: the first that removed it, or with
/// which another was granted the lock. (Whoever tries in vain may overwrite a thing as well.)
fn of_thing(
    case: &Case<'_>,
    books: &Books,
    claim: &Claim,
    write: Written,
    until_ns: u64,
) -> Option<Lost> {
    let own = |changed: &&Changed| {
        [Change::Written(claim.process), Change::Deleted(claim.process)].contains(&changed.change)
    };
    let life = books.after(write).iter();
    let mut life = life.take_while(|changed| changed.at_ns <= until_ns && !own(changed));
    let mut spoilt = None;
    let changed = life.find(|changed| match changed.change {
        Change::Written(by) => {
            let clock = || had(case, Trouble::ClientClock, by, write.at_ns..changed.at_ns);
            if is_late(case, books, by, changed.at_ns) {
                spoilt = Some(Cause::LateRequest);
            } else if spoilt.is_none() && clock() {
                spoilt = Some(Cause::ClientClock);
            }
            has_won(case, books, by, changed.at_ns)
        }
        _ => true,
    })?;
    let server = books.server(write.thing);
    Some(Lost { at_ns: changed.at_ns, made_ns: write.at_ns, server, how: changed.change, spoilt })
}

/// Returns true if a process was granted the lock by what it wrote at a time.
pub(super) fn has_won(case: &Case<'_>, books: &Books, by: u32, at_ns: u64) -> bool {
    let Some(claim) = books.busy_with(case, by, at_ns) else { return false };
    let last = books.taken(case, claim).into_iter().map(|write| write.at_ns).max();
    claim.granted().is_some() && last == Some(at_ns)
}

/// Returns true if a request of a process took effect after its client had given it up.
fn is_late(case: &Case<'_>, books: &Books, by: u32, at_ns: u64) -> bool {
    let claim = books.busy_with(case, by, at_ns);
    claim.is_none_or(|claim| Step::of(case, claim, at_ns) == Step::Over)
}

/// Returns true if something was lost by time alone.
pub(super) fn ran_out(lost: &Lost) -> bool {
    matches!(lost.how, Change::Expired)
}

/// Returns the reason why a client lost what it had, and believed on until a time.
pub(super) fn why(
    case: &Case<'_>,
    books: &Books,
    claim: &Claim,
    lost: &Lost,
    until_ns: u64,
) -> Option<Cause> {
    match lost.how {
        Change::Wiped | Change::Restored => Some(Cause::ServerForgets),
        Change::Expired => Some(why_expired(case, claim, lost, until_ns)),
        Change::SessionEnded(_) => why_session_ended(case, claim, lost.at_ns, until_ns),
        Change::Deleted(by) | Change::Written(by) => {
            Some(why_taken(case, books, claim, (lost, by), until_ns))
        }
    }
}

/// Redis counts in milliseconds, and a wait in its own event loop may add some.
const GRAIN_NS: u64 = 5_000_000;

/// Returns the reason why a client believed on though its lock had run out by time.
pub(super) fn why_expired(case: &Case<'_>, claim: &Claim, lost: &Lost, until_ns: u64) -> Cause {
    let life = lost.at_ns.saturating_sub(lost.made_ns);
    let promised = promised_life(case, claim);
    let had = |trouble, from| had(case, trouble, claim.process, from..until_ns);
    if promised.is_some_and(|promised| life + GRAIN_NS < promised)
        && had(Trouble::ServerClock, lost.made_ns)
    {
        return Cause::ServerClock;
    }
    // Awake all the time, it would have let go before.
    let end_ns = case.time(claim.end.map_or(u64::MAX, |end| end.at));
    let believed = end_ns.saturating_sub(lost.made_ns);
    let paused = lasted(case, Trouble::Paused, claim.process, lost.made_ns..end_ns);
    if paused.is_some_and(|paused| believed.saturating_sub(paused) <= life + GRAIN_NS) {
        return Cause::HolderPaused;
    }
    if had(Trouble::ClientClock, lost.made_ns) {
        return Cause::ClientClock;
    }
    let granted = claim.granted().map_or(lost.at_ns, |ok| case.time(ok));
    let late = granted.saturating_sub(lost.made_ns);
    match late > life / 4 || granted >= lost.at_ns {
        true => Cause::LateGrant,
        false => Cause::LongHold,
    }
}

/// Returns the time that a grant was to live, as its recipe knows it, in nanoseconds.
fn promised_life(case: &Case<'_>, claim: &Claim) -> Option<u64> {
    let facts = case.facts(claim.granted()?)?;
    facts.expires_ns?.checked_sub(facts.asked_ns?)
}

/// Returns the reason why a session ended at a time while its client believed in it until another:
/// it was paused and could not notice; or else the longest trouble in the time in which the servers
/// must have missed it.
pub(super) fn why_session_ended(
    case: &Case<'_>,
    claim: &Claim,
    at_ns: u64,
    until_ns: u64,
) -> Option<Cause> {
    if had(case, Trouble::Paused, claim.process, until_ns..until_ns) {
        return Some(Cause::HolderPaused);
    }
    let session = case.run.info.ttl_ns;
    let during = at_ns.saturating_sub(2 * session)..at_ns;
    let troubles = [
        (Trouble::Servers, servers_apart(case, claim.process, at_ns, until_ns)),
        (Trouble::ServerClock, Cause::ServerClock),
        (Trouble::ClientClock, Cause::ClientClock),
        (Trouble::CutOff, Cause::HolderCutOff),
        (Trouble::Paused, Cause::HolderPaused),
    ];
    let met = troubles.into_iter().filter_map(|(trouble, cause)| {
        Some((lasted(case, trouble, claim.process, during.clone())?, cause))
    });
    met.max_by_key(|(lasted, _)| *lasted).map(|(_, cause)| cause)
}

/// Returns the reason why a session ended at a time whose servers were apart, though its client
/// believed in it until another.
///
/// With some settings they may serve it for longer than it lives. With the others a server that is
/// cut off closes its clients' connections in time, unless something keeps it from doing so: then
/// they find out by themselves, after two thirds of a session without an answer, which is too late.
fn servers_apart(case: &Case<'_>, process: u32, at_ns: u64, until_ns: u64) -> Cause {
    let info = &case.run.info;
    let during = at_ns.saturating_sub(info.ttl_ns)..until_ns;
    let had = |trouble| had(case, trouble, process, during.clone());
    if info.ensemble.is_some_and(|ensemble| ensemble.outlasts(info.ttl_ns)) {
        Cause::ShortSession
    } else if had(Trouble::ServersCut) && (had(Trouble::ServerDown) || had(Trouble::CutOff)) {
        Cause::ServerSilent
    } else {
        Cause::ServersApart
    }
}

/// Returns the reason why another client's request took something from its owner.
fn why_taken(
    case: &Case<'_>,
    books: &Books,
    owner: &Claim,
    (lost, by): (&Lost, u32),
    until_ns: u64,
) -> Cause {
    let taker = books.busy_with(case, by, lost.at_ns);
    match taker.map(|taker| Step::of(case, taker, lost.at_ns)) {
        None | Some(Step::Over) => return Cause::LateRequest,
        Some(Step::Releasing) => return Cause::ForeignRelease,
        Some(Step::Asking | Step::Holding) => {}
    }
    // A recoverer goes by times that clients have written by their own clocks.
    let clock = |process| had(case, Trouble::ClientClock, process, lost.made_ns..lost.at_ns);
    let ran_out = owner.granted().and_then(|ok| case.facts(ok)?.expires_ns);
    if clock(owner.process) || clock(by) {
        Cause::ClientClock
    } else if ran_out.is_some_and(|expires| expires <= lost.at_ns) {
        why_expired(case, owner, lost, until_ns)
    } else {
        lost.spoilt.unwrap_or(Cause::Recovery)
    }
}
