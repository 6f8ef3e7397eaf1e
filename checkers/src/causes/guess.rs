//! The causes of a run without a ledger: what the recipe knows of its grants, and the faults.

use super::loss::{self, Lost};
use super::span::{Trouble, clock_off, delays, had};
use super::{is_queued, nested};
use crate::Case;
use crate::bypass::excludes;
use crate::faults::FaultSpan;
use crate::holds::{Claim, Ending};
use crate::sweep::{Conflict, HoldChange};
use base::{Action, Cause, Change, Family, Kind, Node, Removed};
use std::collections::BTreeMap;
use std::ops::Range;

/// The cause for which two claims were held at once at a time.
pub(super) fn of_overlap(
    case: &Case<'_>,
    first: &Claim,
    second: &Claim,
    until_ns: u64,
) -> Option<Cause> {
    if !is_queued(case, first) || !is_queued(case, second) {
        return Some(Cause::NothingTaken);
    }
    if is_kept(case, first) && is_kept(case, second) {
        return Some(Cause::Recipe);
    }
    // The news of the second grant may have come late: then it is that one that has run out.
    let lost = lost(case, first, until_ns).or_else(|| lost(case, second, until_ns));
    // Places in a queue are each one's own: no release removes another's, and who still has his was let
    // in by the recipe.
    if case.run.info.promises.fifo {
        return lost.or(Some(Cause::Recipe));
    }
    let recovered = recovered(case, first, second);
    lost.or(recovered.filter(|cause| *cause == Cause::ClientClock))
        .or_else(|| freed_by_another(case, first, since_either(case, first, second)..until_ns))
        .or(recovered)
        .or_else(|| recovered_by_others(case, first, until_ns))
        .or_else(|| {
            let by_server = !is_timed_by_clients(case, first.key)
                && missed_a_renewal(case, first, until_ns, Trouble::ServerClock);
            by_server.then_some(Cause::ServerClock)
        })
        .or_else(|| without_faults(case))
        .or_else(|| {
            let freed = |it| freed_by_another(case, it, asked_ns(case, it)..until_ns);
            [first, second].into_iter().find_map(freed)
        })
}

/// Returns the cause of whatever goes wrong in a run in which no fault had an effect.
fn without_faults(case: &Case<'_>) -> Option<Cause> {
    case.fault_spans.iter().all(FaultSpan::had_none).then_some(Cause::Recipe)
}

/// Returns the earliest time at which the first request of the try that was granted may have been sent, if no
/// fault held it up. From there on a release may have reached the server after it; but most of those have
/// made room for this very grant.
fn asked_ns(case: &Case<'_>, claim: &Claim) -> u64 {
    let Some(ok) = claim.granted() else { return u64::MAX };
    let asked_ns = case.facts(ok).and_then(|facts| facts.asked_ns).unwrap_or(case.time(ok));
    asked_ns.min(case.time(ok).saturating_sub(try_ns(case))).max(case.time(claim.invoke))
}

/// Returns the longest time that a try takes while no fault holds it up, in nanoseconds.
fn try_ns(case: &Case<'_>) -> u64 {
    let info = &case.run.info;
    info.slowest_message_ns.saturating_mul(2 * u64::from(info.promises.pace.round_trips))
}

/// Returns the time of the earlier of two grants.
fn since_either(case: &Case<'_>, first: &Claim, second: &Claim) -> u64 {
    let granted = [first, second].into_iter().filter_map(Claim::granted);
    granted.min().map_or(0, |ok| case.time(ok))
}

/// Returns the cause for which the second of two claims took the first for one that had run out: the clock
/// by which either of them told the time, or the recipe.
fn recovered(case: &Case<'_>, first: &Claim, second: &Claim) -> Option<Cause> {
    if !has_recovered(case, second) {
        return None;
    }
    Some(match went_by_wrong_clock(case, first) || went_by_wrong_clock(case, second) {
        true => Cause::ClientClock,
        false => Cause::Recovery,
    })
}

/// Returns the cause for which a claim was lost to a second recoverer: a client that saw the same abandoned
/// lock as the first one, and removed what stood there by then. It need not have got the lock itself.
fn recovered_by_others(case: &Case<'_>, owner: &Claim, until_ns: u64) -> Option<Cause> {
    let during = case.time(owner.invoke)..until_ns;
    let claims = case.claims.claims.iter();
    let mut recoverers = claims.filter(|it| it.key == owner.key && has_recovered(case, it));
    let is_near = |it: &&Claim| meets(case, it, &during);
    match recoverers.clone().find(is_near) {
        Some(recoverer) => recovered(case, owner, recoverer),
        // Nobody but a recoverer can have made room for the next.
        None => {
            recoverers.next()?;
            let by_wrong_clock = || asks_by_wrong_clock(case, owner.key, during.clone());
            if went_by_wrong_clock(case, owner) || by_wrong_clock() {
                Some(Cause::ClientClock)
            } else {
                follows_a_death(case, owner).then_some(Cause::Recovery)
            }
        }
    }
}

/// Returns true if a client asked for a lock in a span of time and went by a wrong clock: it may have
/// taken the lock for one that had run out, and made room for another.
fn asks_by_wrong_clock(case: &Case<'_>, key: usize, during: Range<u64>) -> bool {
    let mut asked = case.asked(key).map(|(_, claim)| claim);
    asked.any(|it| meets(case, it, &during) && went_by_wrong_clock(case, it))
}

/// Returns true if a claim was asked for in a span of time.
fn meets(case: &Case<'_>, claim: &Claim, during: &Range<u64>) -> bool {
    let asking = claim.asking();
    case.time(asking.start) < during.end && case.time(asking.end) >= during.start
}

/// Returns true if the last holder before a claim died with the lock.
fn follows_a_death(case: &Case<'_>, claim: &Claim) -> bool {
    let earlier = case.claims.claims.iter().filter(|it| it.key == claim.key);
    let earlier = earlier.filter(|it| it.granted().is_some() && it.granted() < claim.granted());
    let last = earlier.max_by_key(|it| it.granted());
    last.is_some_and(|it| it.end.is_some_and(|end| end.how == Ending::Death))
}

/// Returns true if a claim took the place of an older one, by its recipe.
fn has_recovered(case: &Case<'_>, claim: &Claim) -> bool {
    claim.granted().and_then(|ok| case.facts(ok)).is_some_and(|facts| facts.recovered)
}

/// Returns true if the clock of a client was wrong while it tried: it may have written a time that was past for
/// others, or taken theirs for past.
fn went_by_wrong_clock(case: &Case<'_>, claim: &Claim) -> bool {
    let tried = case.time(claim.invoke)..case.time(claim.asking().end);
    clock_off(case, Trouble::ClientClock, claim.process, tried).is_some()
}

/// Finds a client that was granted another's lock in a span of time and went by a wrong clock, unless the owner
/// did so itself.
fn taken_by_wrong_clock(case: &Case<'_>, owner: &Claim, during: Range<u64>) -> Option<Cause> {
    let is_of_client =
        |span: &FaultSpan| span.fault.family() == Family::Clock && span.fault.is_of_clients();
    // Most runs have no such fault, and then nobody looks through all claims.
    if !case.fault_spans.iter().any(is_of_client) {
        return None;
    }
    let is_taker = |claim: &&Claim| {
        claim.key == owner.key
            && claim.process != owner.process
            && claim.granted().is_some_and(|ok| during.contains(&case.time(ok)))
            && has_recovered(case, claim)
    };
    let mut takers = case.claims.claims.iter().filter(is_taker);
    let wrong = went_by_wrong_clock(case, owner) || takers.any(|it| went_by_wrong_clock(case, it));
    wrong.then_some(Cause::ClientClock)
}

/// The cause for which a client no longer had the lock at a time.
pub(super) fn of_loss(case: &Case<'_>, claim: &Claim, until_ns: u64) -> Option<Cause> {
    if !is_queued(case, claim) {
        return Some(Cause::NothingTaken);
    }
    let begun_ns = claim.end.map_or(u64::MAX, |end| case.time(end.at));
    if let Some(lost) = expired(case, claim)
        && (begun_ns..until_ns).contains(&lost.at_ns)
    {
        return Some(loss::why_released_late(case, claim, &lost, until_ns));
    }
    let granted_ns = claim.granted().map_or(until_ns, |ok| case.time(ok));
    lost(case, claim, until_ns)
        .or_else(|| taken_by_wrong_clock(case, claim, granted_ns..until_ns))
        .or_else(|| freed_by_another(case, claim, granted_ns..until_ns))
        .or_else(|| recovered_by_others(case, claim, until_ns))
        .or_else(|| without_faults(case))
        .or_else(|| freed_by_another(case, claim, asked_ns(case, claim)..until_ns))
}

/// Returns the most likely reason why a claim had lost what it took by a time.
pub(super) fn lost(case: &Case<'_>, claim: &Claim, until_ns: u64) -> Option<Cause> {
    let ok = claim.granted()?;
    if is_kept(case, claim) {
        return None;
    }
    let granted_ns = case.time(ok);
    // A primary that was replaced serves on for a while after the fault.
    let since_ns = granted_ns.saturating_sub(case.run.info.failover_ns.saturating_mul(2));
    if had(case, Trouble::Wiped, claim.process, since_ns..until_ns) {
        return Some(Cause::ServerForgets);
    }
    if had(case, Trouble::Evicted, claim.process, granted_ns..until_ns) {
        return Some(Cause::Evicted);
    }
    match expired(case, claim) {
        Some(lost) if lost.at_ns > until_ns => {
            ran_fast(case, claim, &lost, until_ns).then_some(Cause::ServerClock)
        }
        Some(lost) => Some(loss::why_expired(case, claim, &lost, until_ns)),
        // What nothing ends of itself has no session either.
        None => {
            case.run.info.promises.recovers?;
            match case.run.info.ensemble {
                Some(_) if !may_have_ended(case, claim, until_ns) => None,
                Some(_) => loss::why_session_ended(case, claim, until_ns, until_ns),
                None if is_timed_by_clients(case, claim.key) => {
                    loss::why_session_ended(case, claim, until_ns, until_ns)
                }
                None => loss::why_not_renewed(case, claim, until_ns, until_ns),
            }
        }
    }
}

/// Returns true if the session of a claim may have ended by a time: the servers had heard of its client when
/// it asked, and give it a whole session from then on.
fn may_have_ended(case: &Case<'_>, claim: &Claim, until_ns: u64) -> bool {
    let heard_ns = last_answer(case, claim, until_ns).map_or(0, |at| case.time(at));
    let asked_ns = heard_ns.saturating_sub(try_ns(case)).max(asked_ns(case, claim));
    let trying = asked_ns..case.time(claim.asking().end).max(heard_ns);
    let had = |trouble, during| had(case, trouble, claim.process, during);
    let held_up = had(Trouble::Paused, trying.clone()) || had(Trouble::CutOff, trying);
    let heard_ns = if held_up { case.time(claim.invoke) } else { asked_ns };
    until_ns >= heard_ns.saturating_add(case.run.info.ttl_ns)
        || had(Trouble::ServerClock, heard_ns..until_ns)
}

/// Returns the last event before a time at which a claim's client heard that it got the lock, or that its mode
/// was changed.
fn last_answer(case: &Case<'_>, claim: &Claim, until_ns: u64) -> Option<u64> {
    let (changes, claims) = (&case.claims.changes, &case.claims.claims);
    let since = changes.partition_point(|change| Some(change.at) < claim.granted());
    let before = changes[since..].iter().take_while(|change| case.time(change.at) < until_ns);
    let ours = |change: &&HoldChange| claims[change.hold as usize].invoke == claim.invoke;
    before.filter(ours).filter(|change| change.to.is_some()).map(|change| change.at).last()
}

/// Returns true if a claim still had what it took when it was freed: its release removed that very thing.
/// Of several servers that do not agree on everything, one may still have what the others have lost.
fn is_kept(case: &Case<'_>, claim: &Claim) -> bool {
    let info = &case.run.info;
    let freed = claim.freed.is_some_and(|(_, kind)| kind == Kind::Ok);
    let agree = info.servers == 1 || info.ensemble.is_some();
    agree && freed && claim.removed == Some(Removed::Own)
}

/// Returns true if something but its own client may have taken from a claim what it took, by a time.
pub(super) fn may_be_lost(case: &Case<'_>, claim: &Claim, at_ns: u64) -> bool {
    let since_ns = claim.granted().map_or(at_ns, |ok| case.time(ok));
    // All that a client of an ensemble has lives and ends with its one session.
    if case.run.info.ensemble.is_some() {
        return had(case, Trouble::Wiped, claim.process, since_ns..at_ns);
    }
    let clocks = [Trouble::ServerClock, Trouble::ClientClock];
    lost(case, claim, at_ns).is_some()
        || freed_by_another_client(case, claim, at_ns)
        || clocks.into_iter().any(|clock| missed_a_renewal(case, claim, at_ns, clock))
}

/// Returns true if the release of another client, which removed whatever stood there, may have freed a
/// claim by a time.
fn freed_by_another_client(case: &Case<'_>, claim: &Claim, at_ns: u64) -> bool {
    let client = |claim: &Claim| case.run.info.client_of(claim.process);
    let since_ns = claim.granted().map_or(at_ns, |ok| case.time(ok));
    let mut releases = case.loose_releases().during(claim.key, since_ns..at_ns);
    releases.any(|id| {
        let other = &case.claims.claims[id];
        client(other) != client(claim) && other.end.map(|end| end.at) > claim.granted()
    })
}

/// Returns true if a lock that lives on as long as its client renews it may have run out by a time, because
/// of this clock.
fn missed_a_renewal(case: &Case<'_>, claim: &Claim, at_ns: u64, clock: Trouble) -> bool {
    let Some(ok) = claim.granted() else { return false };
    let lives_on = case.facts(ok).is_none_or(|facts| facts.expires_ns.is_none());
    // It may have missed the renewal before the grant was heard of.
    let since_ns = case.time(ok).saturating_sub(case.run.info.ttl_ns);
    lives_on
        && case.run.info.promises.recovers.is_some()
        && had(case, clock, claim.process, since_ns..at_ns)
}

/// Returns true if a server's clock was off by so much that it may have ended a claim by a time, of
/// which its recipe believes that it had some time left.
fn ran_fast(case: &Case<'_>, claim: &Claim, lost: &Lost, until_ns: u64) -> bool {
    let left_ns = lost.at_ns.saturating_sub(until_ns);
    let off = clock_off(case, Trouble::ServerClock, claim.process, lost.made_ns..until_ns);
    off.is_some_and(|off| off >= left_ns) && !is_timed_by_clients(case, claim.key)
}

/// Returns true if it is clients who decide by their own clocks that a lock has run out, as those do that recover
/// it: the server's clock is no matter then.
fn is_timed_by_clients(case: &Case<'_>, key: usize) -> bool {
    case.claims.claims.iter().any(|claim| claim.key == key && has_recovered(case, claim))
}

/// The loss of a claim by time, as its recipe knows it.
fn expired(case: &Case<'_>, claim: &Claim) -> Option<Lost> {
    let ok = claim.granted()?;
    let facts = case.facts(ok)?;
    let made_ns = facts.asked_ns.unwrap_or(case.time(ok));
    let how = Change::Expired;
    Some(Lost { at_ns: facts.expires_ns?, made_ns, how, spoilt: None, spare: true })
}

/// A release that removed whatever stood there, or of which nobody knows what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Release {
    begun_ns: u64,
    answered_ns: u64,
    claim: u32,
}

/// Such releases of a key, by the time at which they began.
#[derive(Clone, Debug, Default)]
struct Releases {
    all: Vec<Release>,
    /// The time that the longest of them took.
    longest_ns: u64,
}

/// Such releases, by key.
#[derive(Debug)]
pub(crate) struct LooseReleases(Vec<Releases>);

impl LooseReleases {
    pub(crate) fn of(case: &Case<'_>) -> Self {
        let mut keys = vec![Releases::default(); case.claims.keys.len()];
        // Where all releases that were answered have compared, so have those that were not.
        let mut answered = case.claims.grants().filter_map(|claim| claim.removed).peekable();
        let all_compare =
            answered.peek().is_some() && answered.all(|removed| removed != Removed::Any);
        for (claim, id) in case.claims.claims.iter().zip(0..) {
            let Some((at, kind)) = claim.freed.filter(|_| claim.granted().is_some()) else {
                continue;
            };
            let Some(end) = claim.end.filter(|end| end.how == Ending::Released) else { continue };
            let unknown = !matches!(kind, Kind::Ok | Kind::Fail) && !all_compare;
            if claim.removed == Some(Removed::Any) || unknown {
                let begun_ns = case.time(end.at);
                let answered_ns = match kind {
                    Kind::Ok => case.time(at),
                    _ => held_until(case, claim, end.at..at),
                };
                let releases = &mut keys[claim.key];
                releases.longest_ns = releases.longest_ns.max(answered_ns - begun_ns);
                releases.all.push(Release { begun_ns, answered_ns, claim: id });
            }
        }
        keys.iter_mut().for_each(|releases| releases.all.sort_unstable());
        Self(keys)
    }

    /// The claims of a key whose release may have reached the server in a span of time.
    fn during(&self, key: usize, span: Range<u64>) -> impl Iterator<Item = usize> {
        let Releases { all, longest_ns } = &self.0[key];
        let earliest_ns = span.start.saturating_sub(*longest_ns);
        let first = all.partition_point(|release| release.begun_ns < earliest_ns);
        let later = all[first..].iter().take_while(move |release| release.begun_ns < span.end);
        let met = later.filter(move |release| release.answered_ns >= span.start);
        met.map(|release| release.claim as usize)
    }
}

/// Returns the time until which a fault may have held a request of a claim's client that was not answered.
pub(super) fn held_until(case: &Case<'_>, claim: &Claim, asked: Range<u64>) -> u64 {
    let client = Node::Client(case.run.info.client_of(claim.process));
    let hits = |span: &&FaultSpan| {
        let links = span.fault.links();
        let is_ours = links.iter().any(|(from, to)| *from == client || *to == client);
        is_ours && span.begin < asked.end && span.healed.is_none_or(|healed| healed > asked.start)
    };
    let until = |span: &FaultSpan| {
        let healed = span.healed.map_or(u64::MAX, |healed| case.time(healed));
        // What was cut off is on its way from then on.
        let takes_ns = match span.fault.action() {
            Action::Cut(_) => case.run.info.slowest_message_ns,
            action => delays(case, action)?,
        };
        Some(healed.saturating_add(takes_ns))
    };
    let arrived = case.fault_spans.iter().filter(hits).filter_map(until).max();
    arrived.unwrap_or(0).max(case.time(asked.end))
}

/// Returns the claims whose release made room for a second holder, each with the claim that it freed.
pub(super) fn releases_behind_overlaps<'a>(case: &'a Case<'_>) -> Vec<(&'a Claim, &'a Claim)> {
    let claims = &case.claims.claims;
    let release = |conflict: &Conflict| {
        let ids = [conflict.first, conflict.second];
        let [first, second] = ids.map(|id| nested::taken_by(case, &claims[id]));
        let until_ns = case.time(conflict.at);
        // Whose grant was heard of later may have been granted it first.
        let owners = [
            (first, since_either(case, first, second)),
            (first, asked_ns(case, first)),
            (second, asked_ns(case, second)),
        ];
        let freed = |(owner, since_ns)| Some((releaser(case, owner, since_ns..until_ns)?, owner));
        let (by, robbed) = owners.into_iter().find_map(freed)?;
        let cause = of_overlap(case, first, second, until_ns)?;
        (cause == Cause::ForeignRelease).then_some(((by.invoke, robbed.invoke), (by, robbed)))
    };
    // One release may have brought several holders together.
    let found: BTreeMap<_, _> = case.conflicts.iter().filter_map(release).collect();
    found.into_values().collect()
}

/// Finds another's release in this time that removed whatever stood there.
fn freed_by_another(case: &Case<'_>, owner: &Claim, during: Range<u64>) -> Option<Cause> {
    let (answered, kind) = releaser(case, owner, during.clone())?.freed?;
    // Until its client has given it up, a release that is not answered is like any other.
    Some(match kind == Kind::Ok || case.time(answered) >= during.start {
        true => Cause::ForeignRelease,
        false => Cause::LateRequest,
    })
}

/// Returns the claim whose release in this time removed whatever stood there, which was another's. Of
/// several, one that began before the owner's grant was known may have made room for that very grant.
fn releaser<'a>(case: &'a Case<'_>, owner: &Claim, during: Range<u64>) -> Option<&'a Claim> {
    let claims = &case.claims.claims;
    let frees = |it: &&Claim| it.process != owner.process && excludes(it.mode, owner.mode);
    let releases = case.loose_releases().during(owner.key, during).map(|id| &claims[id]);
    let began_before = |it: &Claim| it.end.map(|end| end.at) < owner.granted();
    releases.filter(frees).min_by_key(|it| (began_before(it), it.invoke))
}
