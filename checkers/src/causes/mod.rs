//! The causes of anomalies, from the ledger of the store and the faults of the run.
//!
//! **An overlap.** Two clients believe that they hold the lock, so one of them has nothing in the
//! store any more, or never had: the cause is what took it away. The ledger says what that was: the
//! end of its time, of its session or of the server's data, its own or another's request. Of what
//! ran out, the faults in its life say why its holder did not let go in time: it was paused, its
//! clock or the server's was wrong, the news of the grant came late; or the work simply took
//! longer. If both still have what they took, nothing was lost and the recipe itself is wrong.
//!
//! **A foreign release** has the cause for which its client had lost the lock before.
//!
//! **A lock that stays taken** has the cause for which the thing that still stands in the store was
//! left there: its client died, never learnt that it had made it, or gave up before it was made.
//!
//! Without a ledger nobody can know, and [`possible`] lists the causes that it can have been.
//!
//! An anomaly of which no cause is known is never expected.

mod authors;
mod case;
mod loss;
mod nested;
mod ownership;
mod possible;
mod shared;
mod span;
mod stuck;
#[cfg(test)]
mod tests;

use crate::evidence::Evidence;
use crate::stalls;
use crate::words::decided;
use base::{Anomaly, Cause, Causes, Change, Event, Kind, Shape};
use histories::holds::Claim;
use loss::{LeftInStore, Lost};
use ownership::{ClaimStep, Written};
use span::{Trouble, Troubles};
use std::ops::Range;

pub use case::Case;
pub(crate) use ownership::Ownership;

/// One occurrence of an anomaly.
#[derive(Clone, Debug)]
pub(crate) struct Occurrence {
    /// The cause of the anomaly, as far as it is known.
    pub(crate) cause: Causes,
    /// The clarity with which it shows: of several, the clearest is reported.
    pub(crate) clarity: u64,
    /// The events that prove it.
    pub(crate) witness: Vec<u64>,
}

impl Occurrence {
    /// An occurrence that shows as clearly as any other.
    pub(crate) fn new(cause: impl Into<Causes>, witness: impl Into<Vec<u64>>) -> Self {
        Self { cause: cause.into(), clarity: 0, witness: witness.into() }
    }
}

/// The anomalies of one name, one for each cause, each with its clearest occurrence: one that no
/// stall of the machine can explain, if there is any. The order is that of the first occurrences.
pub(crate) fn by_cause(
    case: &Case<'_>,
    name: &str,
    reason: &str,
    occurrences: impl IntoIterator<Item = Occurrence>,
) -> Vec<Anomaly> {
    let stalls: Vec<&Event> = case.stalls().collect();
    let clarity = |it: &Occurrence| {
        let is_stalled = stalls::explanation(case, &stalls, &it.witness).is_some();
        (!is_stalled, it.clarity)
    };
    let mut found: Vec<(Occurrence, u64)> = Vec::new();
    for occurrence in occurrences {
        match found.iter_mut().find(|(known, _)| known.cause == occurrence.cause) {
            Some((clearest, count)) => {
                *count += 1;
                if clarity(&occurrence) > clarity(clearest) {
                    *clearest = occurrence;
                }
            }
            None => found.push((occurrence, 1)),
        }
    }
    let anomaly = |(Occurrence { cause, witness, .. }, count)| Anomaly {
        cause,
        ..decided(name, count, witness, reason)
    };
    found.into_iter().map(anomaly).collect()
}

/// An anomaly that is judged far from any fault, so that nothing but the recipe can be its cause.
pub(crate) fn by_recipe(
    name: &str,
    count: u64,
    witness: impl IntoIterator<Item = u64>,
    reason: impl Into<String>,
) -> Anomaly {
    Anomaly { cause: Cause::Recipe.into(), ..decided(name, count, witness, reason) }
}

/// The cause for which two claims, of which the second was granted later, were held at once at an
/// event.
pub(crate) fn of_overlap(case: &Case<'_>, first: &Claim, second: &Claim, at: u64) -> Causes {
    match case.ownership() {
        Some(ownership) => {
            by_ledger(case, ownership, &overlapping(case, (first, second), at), at).into()
        }
        None => possible::of_loss(case, &overlapping(case, (first, second), at), case.time(at)),
    }
}

/// Returns the claims of an overlap, any of which may have been lost: the two, or all that held
/// permits of a semaphore.
pub(crate) fn overlapping<'a>(
    case: &'a Case<'_>,
    (first, second): (&'a Claim, &'a Claim),
    at: u64,
) -> Vec<&'a Claim> {
    match case.run.info.lock.promises.permits {
        1 => vec![first, second],
        _ => case.holders(second.key, at),
    }
}

fn by_ledger(case: &Case<'_>, ownership: &Ownership, holders: &[&Claim], at: u64) -> Option<Cause> {
    if holders.iter().any(|claim| case.shared(ownership).has(claim, at)) {
        return Some(Cause::SharedIdentity);
    }
    let until_ns = case.time(at);
    match loss_of_overlap(case, ownership, holders, until_ns) {
        // It took what a call of the same client had left there, which was cancelled, for its own.
        (true, _) | (false, None) if leaves_after_cancel(case, holders, until_ns) => {
            Some(Cause::SharedIdentity)
        }
        (true, _) => Some(Cause::NothingTaken),
        (false, Some((claim, lost))) => shared::why(case, ownership, claim, &lost, until_ns),
        (false, None) if counts_by_a_wrong_clock(case, holders) => Some(Cause::ClientClock),
        (false, None) if holders.iter().any(|it| ownership.lost_count(case, it.key, until_ns)) => {
            Some(Cause::ServerForgets)
        }
        (false, None) => Some(Cause::Recipe),
    }
}

/// Returns true if a holder of a semaphore asked for its permit by a wrong clock: where nobody has
/// lost one, times that clients have written decide who is let in.
fn counts_by_a_wrong_clock(case: &Case<'_>, holders: &[&Claim]) -> bool {
    let asking = |claim: &Claim| case.time(claim.invoke)..case.time(claim.asking().end);
    let by_wrong =
        |claim: &&Claim| Troubles::of(case, claim.process, asking(claim)).had(Trouble::ClientClock);
    case.run.info.lock.promises.permits > 1 && holders.iter().any(by_wrong)
}

/// Returns true if one of the claims that were held at once at a time never had anything in the
/// store; and the loss that made room for another, with its claim.
fn loss_of_overlap<'a>(
    case: &'a Case<'_>,
    ownership: &Ownership,
    holders: &[&'a Claim],
    until_ns: u64,
) -> (bool, Option<(&'a Claim, Lost)>) {
    let taken_by = |claim: &&'a Claim| nested::taken_by(case, ownership, claim);
    let holders: Vec<&Claim> = holders.iter().map(taken_by).collect();
    // Of more than two, each has things of its own.
    let other = |place: usize| match holders[..] {
        [first, second] => Some([second, first][place]),
        _ => None,
    };
    let loss = |(place, claim): (usize, &&'a Claim)| {
        (*claim, loss::of(case, ownership, claim, until_ns, other(place)))
    };
    let losses: Vec<_> = holders.iter().enumerate().map(loss).collect();
    let never = losses
        .iter()
        .any(|(claim, loss)| matches!(loss, LeftInStore::Never) || !is_queued(case, claim));
    let lost = losses.into_iter().filter_map(|(claim, loss)| match loss {
        LeftInStore::Lost(lost) => Some((claim, lost)),
        LeftInStore::Kept | LeftInStore::Never => None,
    });
    // The one that made room for another; any may be the one whose news came late.
    (never, lost.min_by_key(|(_, lost)| lost.spare))
}

/// The claim of somebody else by which one of two that were held at once at an event lost the lock,
/// with the time at which it did, in nanoseconds.
pub(crate) fn taker_of_overlap<'a>(
    case: &'a Case<'_>,
    pair: (&'a Claim, &'a Claim),
    at: u64,
) -> Option<(&'a Claim, u64)> {
    let ownership = case.ownership()?;
    let (never, lost) = loss_of_overlap(case, ownership, &[pair.0, pair.1], case.time(at));
    let (_, lost) = lost.filter(|_| !never)?;
    let (Change::Deleted(by) | Change::Written(by)) = lost.how else { return None };
    let taker = ownership.busy_with(case, by, lost.at_ns)?;
    let is_third = ![pair.0.invoke, pair.1.invoke].contains(&taker.invoke);
    is_third.then_some((taker, lost.at_ns))
}

/// Returns true if a grant of a queue has a place in it; of a lock without a queue, or whose clients
/// tell no places, always.
fn is_queued(evidence: &Evidence<'_>, claim: &Claim) -> bool {
    let place = || claim.granted().and_then(|ok| evidence.facts(ok)?.place);
    !evidence.run.info.lock.promises.fifo || place().is_some() || !evidence.tells_places()
}

/// Returns true if the client of one of these claims has cancelled a call of the same lock by a
/// time, in nanoseconds, and what that left there lives as long as the client's session.
fn leaves_after_cancel(case: &Case<'_>, claims: &[&Claim], until_ns: u64) -> bool {
    let client = |claim: &Claim| case.run.info.client_of(claim.process);
    let expires = |claim: &Claim| claim.granted().and_then(|ok| case.facts(ok)?.expires_ns);
    claims.iter().filter(|claim| expires(claim).is_none()).any(|claim| {
        let mut of_lock = case.asked(claim.key).map(|(_, other)| other);
        of_lock.any(|it| client(it) == client(claim) && stuck::is_cancelled(case, it, until_ns))
    })
}

/// The cause for which a client no longer had the lock when its release was answered at an event.
pub(crate) fn of_loss(case: &Case<'_>, claim: &Claim, at: u64) -> Causes {
    let Some(ownership) = case.ownership() else {
        return possible::of_loss(case, &[claim], case.time(at));
    };
    // Where nothing tells what became of it, and nothing was near, the recipe is what is left.
    let by_recipe = || case.calm().spans(claim.invoke, at).then_some(Cause::Recipe);
    of_loss_by(case, ownership, claim, case.time(at)).or_else(by_recipe).into()
}

/// The same by the ledger alone, at a time, in nanoseconds.
fn of_loss_by(
    case: &Case<'_>,
    ownership: &Ownership,
    claim: &Claim,
    until_ns: u64,
) -> Option<Cause> {
    if case.shared(ownership).has(claim, claim.freed.map_or(u64::MAX, |(at, _)| at)) {
        return Some(Cause::SharedIdentity);
    }
    match loss::of(case, ownership, claim, until_ns, None) {
        LeftInStore::Kept => Some(Cause::Recipe),
        LeftInStore::Never => Some(Cause::NothingTaken),
        LeftInStore::Lost(lost) => match claim.freeing.map(|begun| case.time(begun)) {
            Some(begun_ns)
                if loss::ran_out(&lost) && loss::ran_out_ns(case, claim, &lost) >= begun_ns =>
            {
                Some(loss::why_released_late(case, claim, &lost, until_ns))
            }
            _ => shared::why(case, ownership, claim, &lost, until_ns),
        },
    }
}

/// The releases that removed what another had been granted the lock with, as the ledger has them.
pub(crate) fn foreign_releases(case: &Case<'_>, ownership: &Ownership) -> Vec<Occurrence> {
    let thefts = ownership.thefts(
        |by, at_ns| loss::has_won(case, ownership, by, at_ns),
        |by, at_ns, (owner, write)| {
            let owner = ownership.busy_with(case, owner, write.at_ns);
            owner.is_some_and(|owner| loss::overwrites(case, ownership, (by, at_ns), owner))
        },
    );
    let release = |(at_ns, by, (owner, write)): (u64, u32, (u32, ownership::Written))| {
        let robbed = ownership.busy_with(case, owner, write.at_ns)?;
        // What a release writes, however late, is no lock: a list, say, that wakes those who wait.
        if robbed.freeing.is_some_and(|begun| case.time(begun) <= write.at_ns) {
            return None;
        }
        // A place in a queue that all share is no lock before it is the first.
        let had_it = robbed.granted().is_some_and(|ok| case.time(ok) <= at_ns);
        if !had_it && ownership.joined(write) {
            return None;
        }
        let Some(claim) = ownership.busy_with(case, by, at_ns) else {
            let (stray, freed) = stray(case, by, at_ns)?;
            return Some(Occurrence::new(Cause::Recipe, [robbed.granted()?, stray, freed]));
        };
        let begun = claim.freeing?;
        let cause = match ClaimStep::of(case, claim, at_ns) {
            ClaimStep::Releasing => of_loss_by(case, ownership, claim, at_ns),
            ClaimStep::Over if loss::frees_anyway(case, claim, write.at_ns) => {
                of_loss_by(case, ownership, claim, at_ns)
            }
            ClaimStep::Over => Some(Cause::LateRequest),
            ClaimStep::Asking | ClaimStep::Holding => return None,
        };
        let freed = claim.freed.map_or(begun, |(at, _)| at);
        let granted = robbed.granted().filter(|_| robbed.key == claim.key)?;
        Some(Occurrence::new(cause, [claim.granted()?, granted, freed]))
    };
    thefts.into_iter().filter_map(release).collect()
}

/// The begin and the answer of the release that a process without a grant had under way at a time.
fn stray(case: &Case<'_>, by: u32, at_ns: u64) -> Option<(u64, u64)> {
    let ours = case.claims.strays.iter().filter(|stray| stray.process == by);
    let begun = ours.filter(|stray| case.time(stray.invoke) <= at_ns).last()?;
    let freed = begun.freed.map_or(begun.invoke, |(at, _)| at);
    Some((begun.invoke, freed))
}

/// The cause of a write that the vault applied at an event after it had served a later grant.
pub(crate) fn of_late_write(case: &Case<'_>, writer: &Claim, later: &Claim, write: u64) -> Causes {
    let Some(ownership) = case.ownership() else {
        let mut causes = possible::of_loss(case, &[writer, later], case.time(write));
        // The history says so: it had left before its client let go.
        causes.extend(sent_before(case, writer, later, write).map(|_| Cause::WriteDelayed));
        return causes;
    };
    let granted = later.granted().unwrap_or(later.invoke);
    // A vault that checks tokens takes a late write only if the later token is not the greater one.
    if let (Some(token), Some(next)) = (writer.token, later.token)
        && case.run.info.lock.promises.fenced
        && next <= token
    {
        return of_token(case, writer, later);
    }
    // Otherwise its client still believed in its hold, and the question is how that came.
    let delayed = |sent: u64| {
        let left = loss::of(case, ownership, writer, case.time(sent), None);
        let stood = matches!(left, LeftInStore::Kept);
        let on_its_way = case.time(sent)..case.time(write);
        // A client that is paused has not sent it yet, unless it has waited for the answer in vain.
        let had_left = case.facts(write).is_some_and(|facts| facts.begun.is_some());
        stood && (had_left || !Troubles::of(case, writer.process, on_its_way).had(Trouble::Paused))
    };
    match sent_before(case, writer, later, write) {
        Some(sent) if delayed(sent) => Cause::WriteDelayed.into(),
        _ => of_overlap(case, writer, later, granted.max(writer.granted().unwrap_or(0))),
    }
}

/// The cause for which the token of a later claim had not grown: what counts them was lost, or they
/// are counted wrongly.
pub(crate) fn of_token(case: &Case<'_>, before: &Claim, later: &Claim) -> Causes {
    let at_ns = case.time(later.granted().unwrap_or(later.invoke));
    let Some(ledger) = &case.run.ledger else {
        return possible::of_loss(case, &[before, later], at_ns);
    };
    let mut before = ledger.entries().iter().take_while(|entry| entry.time_ns <= at_ns);
    let wiped = before.any(|entry| entry.change == Change::Wiped);
    if wiped { Cause::ServerForgets.into() } else { Cause::Recipe.into() }
}

/// Returns true if a lock stands in the name of a client that was refused at this event. A place in
/// a queue is no lock yet; and what an earlier worker of the client gave up may stand there too.
pub(crate) fn left_standing(case: &Case<'_>, claim: &Claim, at: u64) -> bool {
    let info = &case.run.info;
    let tells = info.lock.shape == Shape::One && !info.lock.promises.fifo && info.workers == 1;
    let Some(ownership) = case.ownership().filter(|_| tells) else { return false };
    let refused_ns = case.time(at);
    // A client that gives up its session knows that the servers do so a little later.
    let outlasts = |gone: &ownership::Changed| match gone.change {
        Change::SessionEnded(_) => gone.at_ns > refused_ns.saturating_add(info.recovery_ns()),
        _ => gone.at_ns > refused_ns,
    };
    let stands = |write: &Written| {
        ownership.after(*write).first().is_none_or(outlasts) && ownership.is_a_lock(write.thing)
    };
    ownership.taken(case, claim).iter().any(stands)
}

/// The cause for which the store counts a client as the holder though it was refused the lock.
pub(crate) fn of_phantom(case: &Case<'_>, claim: &Claim) -> Causes {
    match case.ownership() {
        Some(_) => match reply_lost(case, claim) {
            Cause::Recipe => left_before(case, claim).unwrap_or(Cause::Recipe).into(),
            cause => cause.into(),
        },
        None => {
            let claims: Vec<&Claim> = released_in_vain(case, claim).chain([claim]).collect();
            possible::of_stuck(case, &claims, case.time(claim.asking().end))
        }
    }
}

/// The cause for which the hold before a claim was left in the store, under a name that its process
/// keeps.
fn left_before(case: &Case<'_>, claim: &Claim) -> Option<Cause> {
    released_in_vain(case, claim).last().map(|before| stuck::why_left(case, before, None))
}

/// The earlier holds of a claim's process on its lock whose release did not succeed.
fn released_in_vain<'a>(case: &'a Case<'_>, claim: &'a Claim) -> impl Iterator<Item = &'a Claim> {
    let before = case.asked(claim.key).map(|(_, it)| it).filter(|it| it.invoke < claim.invoke);
    let ours = before.filter(|it| it.process == claim.process && it.granted().is_some());
    ours.filter(|it| it.freed.is_none_or(|(_, kind)| kind != Kind::Ok))
}

/// The same from the faults alone: a reply was lost if any can have been.
fn reply_lost(case: &Case<'_>, claim: &Claim) -> Cause {
    reply_lost_during(case, claim, &(case.time(claim.invoke)..case.time(claim.asking().end)))
}

/// The same of what a client asked between two times, in nanoseconds.
fn reply_lost_during(case: &Case<'_>, claim: &Claim, during: &Range<u64>) -> Cause {
    let troubles = [Trouble::CutOff, Trouble::Paused, Trouble::Servers];
    let asking = Troubles::of(case, claim.process, during.clone());
    let hit = troubles.into_iter().any(|trouble| asking.had(trouble));
    if hit { Cause::ReplyLost } else { Cause::Recipe }
}

/// The cause for which a release was answered `fail` at an event, though by the ledger it removed
/// all that its client had taken; `None`: it did not.
pub(crate) fn of_denied_release(case: &Case<'_>, claim: &Claim, at: u64) -> Option<Cause> {
    // Which worker of a client removed something is no more than inferred.
    let ownership = case.ownership().filter(|_| case.run.info.workers == 1)?;
    let during = case.time(claim.freeing?)..case.time(at);
    let own = Change::Deleted(claim.process);
    let is_own = |next: &ownership::Changed| next.change == own && during.contains(&next.at_ns);
    let taken = ownership.taken(case, claim);
    let removed = !taken.is_empty()
        && taken.iter().all(|write| ownership.after(*write).first().is_some_and(is_own));
    removed.then(|| reply_lost_during(case, claim, &during))
}

/// Returns true if a release that was answered at an event took effect on nothing, by the ledger:
/// what its client had taken ran out much later, and only then was somebody granted the lock who
/// had waited for it all the while.
pub(crate) fn is_left_to_run_out(case: &Case<'_>, claim: &Claim, at: u64) -> bool {
    let Some(ownership) = case.ownership().filter(|_| case.run.info.workers == 1) else {
        return false;
    };
    let run_out = |write: &ownership::Written| {
        let next = ownership.after(*write).first().filter(|_| !ownership.is_shared(write.thing))?;
        (next.change == Change::Expired).then_some(next.at_ns)
    };
    let taken = ownership.taken(case, claim);
    let run_out: Option<Vec<u64>> = taken.iter().map(run_out).collect();
    let Some(run_out_ns) = run_out.and_then(|all| all.into_iter().max()) else { return false };
    let mut later = case.granted(claim.key).map(|(_, it)| it).filter(|it| it.granted() > Some(at));
    let next = later.find(|it| it.mode.excludes(claim.mode));
    let granted = next.filter(|it| it.invoke < at).and_then(Claim::granted);
    let much_later_ns = case.time(at).saturating_add(case.run.info.run.ttl_ns / 10);
    run_out_ns >= much_later_ns && granted.is_some_and(|ok| case.time(ok) >= run_out_ns)
}

/// The cause for which a client sleeps on though the lock was freed, up to an event.
///
/// Whoever waits in a queue has its place in the store before it looks, and hears of every change
/// from then on: it can miss one only between its look and its sleep, which take as long as its own
/// clock says. Over a connection that nothing keeps alive it does not hear either that the server
/// is gone.
pub(crate) fn of_sleeper(case: &Case<'_>, claim: &Claim, until: u64) -> Causes {
    if case.ownership().is_none() {
        return possible::of_stuck(case, &[claim], case.time(until));
    }
    if hears_nothing(case, claim, until) {
        return Cause::ServersApart.into();
    }
    let info = &case.run.info;
    let looked_ns = case.time(last_look(case, claim, until));
    let during = looked_ns..looked_ns.saturating_add(info.pick_up_ns());
    match info.lock.promises.fifo && Troubles::of(case, claim.process, during).stood_still() {
        true => Cause::ClientClock.into(),
        false => Cause::Recipe.into(),
    }
}

/// Returns true if a client that waits cannot hear that its server is gone, up to an event.
pub(crate) fn hears_nothing(case: &Case<'_>, claim: &Claim, until: u64) -> bool {
    let asleep = case.time(last_look(case, claim, until))..case.time(until);
    let alone = case.run.info.ensemble().is_none();
    alone && Troubles::of(case, claim.process, asleep).had(Trouble::Servers)
}

/// The event before another at which a client looked for the last time whether it can have the
/// lock.
fn last_look(case: &Case<'_>, claim: &Claim, until: u64) -> u64 {
    case.last_woken(claim.process, claim.invoke..until).unwrap_or(claim.invoke)
}

/// The event at which a write was sent that was applied under a later grant at another, if its
/// client had let go before that grant.
fn sent_before(case: &Case<'_>, writer: &Claim, later: &Claim, write: u64) -> Option<u64> {
    let granted = later.granted().unwrap_or(later.invoke);
    let let_go = writer.end.is_some_and(|end| end.at < granted);
    sent(case, writer, write).filter(|sent| let_go && *sent < granted)
}

/// The event at which a process sent the write that was applied at another.
fn sent(case: &Case<'_>, writer: &Claim, write: u64) -> Option<u64> {
    if let Some(begun) = case.facts(write).and_then(|facts| facts.begun) {
        return Some(begun);
    }
    let events = case.run.history.events().get(..usize::try_from(write).ok()?)?;
    let from = usize::try_from(writer.invoke).ok()?;
    let mut ours = events.get(from..)?.iter().rev();
    ours.find(|event| {
        event.client() == Some(writer.process)
            && event.f == base::F::Write
            && event.kind == base::Kind::Invoke
    })
    .map(|event| event.index)
}

pub(crate) use stuck::{culprit_of, of_stuck};
