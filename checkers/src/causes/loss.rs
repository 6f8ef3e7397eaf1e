//! Losses: how a client came to have nothing in the store any more, and why it did not know.

use super::ownership::{Changed, ClaimStep, Ownership, Written};
use super::span::{Trouble, Troubles, wall_clock_gain};
use crate::evidence::Evidence;
use base::{Cause, Change, F, Kind, Mode, Process};
use histories::holds::{Claim, Ending};
use std::ops::Range;

/// The part that a client still has in the store of what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftInStore {
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
    pub(super) how: Change,
    /// The cause for which another had overwritten it before with something wrong.
    pub(super) spoilt: Option<Cause>,
    /// The other claim has not taken it since.
    pub(super) spare: bool,
}

/// The loss of a claim up to a time, in nanoseconds: the first thing that it lost, or on several
/// servers the one without which it would still have had a majority. Those count that the other
/// claim has taken since, if it took enough of them.
pub(super) fn of(
    evidence: &Evidence<'_>,
    ownership: &Ownership,
    claim: &Claim,
    until_ns: u64,
    other: Option<&Claim>,
) -> LeftInStore {
    let mut taken = ownership.taken(evidence, claim);
    if taken.is_empty() {
        return LeftInStore::Never;
    }
    Ownership::last_of_queue(evidence, &mut taken);
    // A server may be asked by a message that comes when others have granted the lock already.
    // (What is written under another name belongs to another lock.)
    let end_ns = evidence.time(claim.end.map_or(u64::MAX, |end| end.at));
    let late = ownership.taken_until(evidence, claim, until_ns.min(end_ns)).into_iter();
    let is_known = |write: &Written| taken.iter().any(|known| known.thing == write.thing);
    let is_copy = |write: &Written| taken.iter().any(|it| ownership.is_copy(it.thing, write.thing));
    let late: Vec<Written> = late.filter(|write| !is_known(write) && is_copy(write)).collect();
    taken.extend(late);
    let lost = |write: &Written| {
        let lost = of_thing(evidence, ownership, claim, *write, until_ns)?;
        let since = other.and_then(|other| ownership.takes(evidence, other, write.thing));
        Some(Lost { spare: since.is_none_or(|since| since < lost.at_ns), ..lost })
    };
    let mut losses: Vec<Lost> = taken.iter().filter_map(lost).collect();
    losses.sort_by_key(|lost| (lost.spare, lost.at_ns));
    let breaks = bearable(evidence, ownership, &taken);
    losses.get(breaks).map_or(LeftInStore::Kept, |lost| LeftInStore::Lost(*lost))
}

/// Returns how many of the servers on which a claim took something may forget it: as many as leave
/// it a majority.
fn bearable(evidence: &Evidence<'_>, ownership: &Ownership, taken: &[Written]) -> usize {
    let mut servers: Vec<u32> = taken.iter().map(|write| ownership.server(write.thing)).collect();
    servers.sort_unstable();
    servers.dedup();
    let majority = evidence.run.info.servers as usize / 2 + 1;
    servers.len().saturating_sub(majority)
}

/// The change that took a thing from the client that made it: the first that removed it, or with
/// which another was granted the lock. (Whoever tries in vain may overwrite a thing as well, and
/// the owner itself writes it anew where a re-entrant lock counts its holds in the store.)
fn of_thing(
    evidence: &Evidence<'_>,
    ownership: &Ownership,
    claim: &Claim,
    write: Written,
    until_ns: u64,
) -> Option<Lost> {
    let counts = evidence.run.info.lock.promises.reentrant;
    let is_own_end = |changed: &&Changed| match changed.change {
        Change::Written(by) => by == claim.process && !counts,
        Change::Deleted(by) => by == claim.process,
        _ => false,
    };
    let write = written_anew(evidence, ownership, claim, write, until_ns);
    let life = ownership.after(write).iter();
    let mut life = life.take_while(|changed| changed.at_ns <= until_ns && !is_own_end(changed));
    let mut spoilt = None;
    let changed = life.find(|changed| match changed.change {
        Change::Written(by) if by == claim.process => false,
        Change::Written(by) if overwrites(evidence, ownership, (by, changed.at_ns), claim) => true,
        Change::Written(by) => {
            let clock = || {
                let tried = tried(evidence, ownership, by, changed.at_ns);
                Troubles::of(evidence, by, tried.start.min(write.at_ns)..changed.at_ns)
                    .had(Trouble::ClientClock)
            };
            if is_late(evidence, ownership, by, changed.at_ns) {
                spoilt = Some(Cause::LateRequest);
            } else if spoilt.is_none() && clock() {
                spoilt = Some(Cause::ClientClock);
            }
            has_won(evidence, ownership, by, changed.at_ns)
                && rival(evidence, ownership, (by, changed.at_ns), claim).is_some()
        }
        _ => true,
    })?;
    Some(Lost {
        at_ns: changed.at_ns,
        made_ns: write.at_ns,
        how: changed.change,
        spoilt,
        spare: true,
    })
}

/// The last write in a row by which a client kept a thing that it holds, up to a time: an extension
/// may write it anew.
fn written_anew(
    evidence: &Evidence<'_>,
    ownership: &Ownership,
    claim: &Claim,
    write: Written,
    until_ns: u64,
) -> Written {
    let end_ns = until_ns.min(evidence.time(claim.end.map_or(u64::MAX, |end| end.at)));
    let own = Change::Written(claim.process);
    let again =
        ownership.after(write).iter().take_while(|it| it.change == own && it.at_ns <= end_ns);
    again.fold(write, |write, it| Written { at_ns: it.at_ns, place: write.place + 1, ..write })
}

/// Returns true if a process was granted the lock by what it wrote at a time.
pub(super) fn has_won(evidence: &Evidence<'_>, ownership: &Ownership, by: u32, at_ns: u64) -> bool {
    let Some(claim) = ownership.busy_with(evidence, by, at_ns) else { return false };
    let last = ownership.taken(evidence, claim).into_iter().map(|write| write.at_ns).max();
    claim.granted().is_some() && last == Some(at_ns)
}

/// Returns true if a process wrote something at a time as part of a release, however late, of a
/// lock that this claim excludes. (A reader takes its own part out of what others hold, too.)
pub(super) fn overwrites(
    evidence: &Evidence<'_>,
    ownership: &Ownership,
    (by, at_ns): (u32, u64),
    owner: &Claim,
) -> bool {
    let is_of_release = |it: &Claim| it.freeing.is_some_and(|begun| evidence.time(begun) <= at_ns);
    rival(evidence, ownership, (by, at_ns), owner).is_some_and(is_of_release)
}

/// The claim that a process was busy with at a time, if an owner excludes it: a reader takes nothing
/// from another one, whatever it writes.
fn rival<'a>(
    evidence: &'a Evidence<'_>,
    ownership: &Ownership,
    (by, at_ns): (u32, u64),
    owner: &Claim,
) -> Option<&'a Claim> {
    let mode = |it: &Claim| mode_at(evidence, it, at_ns);
    let excludes = |it: &&Claim| it.key == owner.key && mode(it).excludes(mode(owner));
    ownership.busy_with(evidence, by, at_ns).filter(excludes)
}

/// Returns the mode in which a claim has its lock at a time, after the conversions until then.
fn mode_at(evidence: &Evidence<'_>, claim: &Claim, at_ns: u64) -> Mode {
    let Evidence { claims, run, .. } = evidence;
    let converts = run.info.lock.promises.downgrades;
    let changes = claims.changes.iter().filter(|_| converts);
    let ours = changes.filter(|it| claims.claims[it.hold as usize].invoke == claim.invoke);
    let until_then = ours.filter(|it| evidence.time(it.at) <= at_ns);
    until_then.filter_map(|it| it.to).last().unwrap_or(claim.mode)
}

/// Returns true if a request of a process took effect after its client had given it up.
fn is_late(evidence: &Evidence<'_>, ownership: &Ownership, by: u32, at_ns: u64) -> bool {
    let claim = ownership.busy_with(evidence, by, at_ns);
    claim.is_none_or(|claim| ClaimStep::of(evidence, claim, at_ns) == ClaimStep::Over)
}

/// Returns the time from when a process began the try in which it wrote something at a time, and
/// looked at its clock, until it was granted the lock, or wrote.
fn tried(evidence: &Evidence<'_>, ownership: &Ownership, by: u32, at_ns: u64) -> Range<u64> {
    let Some(claim) = ownership.busy_with(evidence, by, at_ns) else { return at_ns..at_ns };
    let asked = claim.granted().and_then(|ok| evidence.facts(ok)?.asked_ns);
    // The last try is known by its grant. One that came to nothing took no longer than any.
    let any = at_ns.saturating_sub(evidence.run.info.pick_up_ns()).max(evidence.time(claim.invoke));
    let begun = asked.filter(|asked| *asked <= at_ns).unwrap_or(any);
    begun..claim.granted().map_or(at_ns, |ok| evidence.time(ok).max(at_ns))
}

/// Returns true if something was lost by time alone.
pub(super) fn ran_out(lost: &Lost) -> bool {
    matches!(lost.how, Change::Expired | Change::Overdue(_))
}

/// Returns the reason why a client lost what it had, and believed on until a time.
pub(super) fn why(
    evidence: &Evidence<'_>,
    ownership: &Ownership,
    claim: &Claim,
    lost: &Lost,
    until_ns: u64,
) -> Option<Cause> {
    match lost.how {
        Change::Overdue(by) if was_thought_overdue(evidence, claim, lost) => {
            Some(why_taken(evidence, ownership, claim, (lost, by), until_ns))
        }
        Change::SessionEnded(_) => why_session_ended(evidence, claim, lost.at_ns, until_ns),
        Change::Expired | Change::Overdue(_) if was_extended_in_vain(evidence, claim, lost) => {
            Some(Cause::Recipe)
        }
        Change::Expired | Change::Overdue(_) if promised_life(evidence, claim).is_none() => {
            // A store that counts whole seconds may end it before its ttl is over.
            let end_ns = evidence.time(claim.end.map_or(u64::MAX, |end| end.at));
            let was_long = end_ns.saturating_sub(lost.made_ns) >= evidence.run.info.run.ttl_ns;
            let why = if was_long { Cause::LongHold } else { Cause::Recipe };
            let not_renewed = || was_never_renewed(evidence, lost).then_some(why);
            why_not_renewed(evidence, claim, lost.at_ns, until_ns).or_else(not_renewed)
        }
        Change::Expired | Change::Overdue(_) => Some(why_expired(evidence, claim, lost, until_ns)),
        Change::Wiped | Change::Restored | Change::Evicted
            if had_outlived(evidence, claim, lost, until_ns) =>
        {
            Some(why_expired(evidence, claim, lost, until_ns))
        }
        Change::Wiped | Change::Restored => Some(Cause::ServerForgets),
        Change::Evicted => Some(Cause::Evicted),
        Change::Deleted(by) | Change::Written(by) => {
            Some(why_taken(evidence, ownership, claim, (lost, by), until_ns))
        }
    }
}

/// Returns true if another took the time of a lock for over too early, by more than a server's clock
/// had gained since that began.
fn was_thought_overdue(evidence: &Evidence<'_>, claim: &Claim, lost: &Lost) -> bool {
    let life = promised_life(evidence, claim).unwrap_or(evidence.run.info.run.ttl_ns);
    let early = lost.made_ns.saturating_add(life).saturating_sub(lost.at_ns + GRAIN_NS);
    let gained = wall_clock_gain(evidence, &(lost.made_ns..lost.at_ns));
    early > gained.max(0).unsigned_abs()
}

/// Returns true if a lock ran out less than a ttl after its client had asked for more time, and been
/// granted it, by right clocks.
fn was_extended_in_vain(evidence: &Evidence<'_>, claim: &Claim, lost: &Lost) -> bool {
    let process = Process::Client(claim.process);
    let events = evidence.run.history.events().iter().skip(claim.granted().unwrap_or(0) as usize);
    let before = events.take_while(|event| event.time_ns <= lost.at_ns);
    let mut asked_ns = 0;
    let mut extended_ns = None;
    for event in before.filter(|event| (event.process, event.f) == (process, F::Extend)) {
        match event.kind {
            Kind::Invoke => asked_ns = event.time_ns,
            Kind::Ok => extended_ns = Some(asked_ns),
            Kind::Fail | Kind::Info => {}
        }
    }
    extended_ns.is_some_and(|asked_ns| {
        let due_ns = asked_ns.saturating_add(evidence.run.info.run.ttl_ns);
        lost.at_ns + GRAIN_NS < due_ns
            && !Troubles::of(evidence, claim.process, asked_ns..lost.at_ns)
                .had(Trouble::ServerClock)
    })
}

/// Returns true if a lock would have run out in any case while its client relied on it, and that is
/// why another got in by a time: it had run out by then, or its client would have been done by then
/// but for its pauses. Then it does not matter what took it.
fn had_outlived(evidence: &Evidence<'_>, claim: &Claim, lost: &Lost, until_ns: u64) -> bool {
    let end_ns = evidence.time(claim.end.map_or(u64::MAX, |end| end.at));
    let Some(life) = promised_life(evidence, claim) else { return false };
    let due_ns = lost.made_ns.saturating_add(life);
    let paused =
        || Troubles::of(evidence, claim.process, lost.made_ns..end_ns).lasted(Trouble::Paused);
    let done_ns = || end_ns.saturating_sub(paused().unwrap_or(0));
    due_ns < end_ns && (due_ns <= until_ns.saturating_add(GRAIN_NS) || done_ns() <= until_ns)
}

/// Redis counts in milliseconds, and a wait in its own event loop may add some.
const GRAIN_NS: u64 = 5_000_000;

/// Returns the reason why a client believed on though its lock had run out by time.
pub(super) fn why_expired(
    evidence: &Evidence<'_>,
    claim: &Claim,
    lost: &Lost,
    until_ns: u64,
) -> Cause {
    let life = lost.at_ns.saturating_sub(lost.made_ns);
    if is_early(evidence, claim, lost, until_ns) {
        return Cause::ServerClock;
    }
    // Awake all the time, it would have let go before.
    let due_ns = due_ns(evidence, claim, lost);
    let end_ns = evidence.time(claim.end.map_or(u64::MAX, |end| end.at));
    let paused =
        Troubles::of(evidence, claim.process, lost.made_ns..end_ns).lasted(Trouble::Paused);
    if paused.is_some_and(|paused| end_ns.saturating_sub(paused) <= due_ns + GRAIN_NS) {
        return Cause::HolderPaused;
    }
    let slow = Troubles::of(evidence, claim.process, lost.made_ns..until_ns)
        .ran_wrong(Trouble::ClientClock);
    if slow.is_some_and(|slow| slow >= until_ns.saturating_sub(due_ns)) {
        return Cause::ClientClock;
    }
    let ended_ns = ran_out_ns(evidence, claim, lost);
    let granted = claim.granted().map_or(ended_ns, |ok| evidence.time(ok));
    let late = granted.saturating_sub(lost.made_ns);
    // With a grant in time the same work would have been done so soon. Up to an overlap it harms
    // nobody; a release comes too late once the lock has run out.
    let done_ns = lost.made_ns.saturating_add(end_ns.saturating_sub(granted));
    let free_ns = if until_ns > end_ns { ended_ns } else { until_ns.max(ended_ns) };
    match done_ns <= free_ns && (late > life / 4 || granted >= ended_ns) {
        true => Cause::LateGrant,
        false => Cause::LongHold,
    }
}

/// Returns the reason why a lock ran out after its release had begun and before that was done, at a
/// time: a fault without which it would have been done before; or else its steps took too long.
pub(super) fn why_released_late(
    evidence: &Evidence<'_>,
    claim: &Claim,
    lost: &Lost,
    until_ns: u64,
) -> Cause {
    let late_ns = until_ns.saturating_sub(due_ns(evidence, claim, lost));
    let made_up = |lasted: Option<u64>| lasted.is_some_and(|lasted| lasted + GRAIN_NS >= late_ns);
    let begun_ns = evidence.time(claim.end.map_or(u64::MAX, |end| end.at));
    let all = Troubles::of(evidence, claim.process, lost.made_ns..until_ns);
    let releasing = Troubles::of(evidence, claim.process, begun_ns..until_ns);
    if is_early(evidence, claim, lost, until_ns) {
        Cause::ServerClock
    } else if made_up(all.not_running()) {
        Cause::HolderPaused
    } else if made_up(all.ran_wrong(Trouble::ClientClock)) {
        Cause::ClientClock
    } else if made_up(releasing.unreachable()) {
        Cause::HolderCutOff
    } else if made_up(releasing.lasted(Trouble::ServerDown)) {
        Cause::ServersApart
    } else {
        Cause::RanOutWhileReleasing
    }
}

/// The time at which a lock ran out that was found to have done so. A server may find it some time
/// later, when somebody asks or when it looks through its keys.
pub(super) fn ran_out_ns(evidence: &Evidence<'_>, claim: &Claim, lost: &Lost) -> u64 {
    let promised = promised_life(evidence, claim).map(|life| lost.made_ns.saturating_add(life));
    let wrong =
        Troubles::of(evidence, claim.process, lost.made_ns..lost.at_ns).had(Trouble::ServerClock);
    promised.filter(|_| !wrong).map_or(lost.at_ns, |promised| lost.at_ns.min(promised))
}

/// The time at which a lock would have run out by a right clock.
fn due_ns(evidence: &Evidence<'_>, claim: &Claim, lost: &Lost) -> u64 {
    let promised = promised_life(evidence, claim).unwrap_or(0);
    lost.at_ns.max(lost.made_ns.saturating_add(promised))
}

/// Returns true if a server's clock ended a lock before its time, and its client had not outlived
/// it in any case.
fn is_early(evidence: &Evidence<'_>, claim: &Claim, lost: &Lost, until_ns: u64) -> bool {
    let life = lost.at_ns.saturating_sub(lost.made_ns);
    let early = |promised: u64| life + GRAIN_NS < promised;
    promised_life(evidence, claim).is_some_and(early)
        && !had_outlived(evidence, claim, lost, until_ns)
        && Troubles::of(evidence, claim.process, lost.made_ns..until_ns).had(Trouble::ServerClock)
}

/// Returns the time that a grant was to live, as its recipe knows it, in nanoseconds.
fn promised_life(evidence: &Evidence<'_>, claim: &Claim) -> Option<u64> {
    let facts = evidence.facts(claim.granted()?)?;
    facts.expires_ns?.checked_sub(facts.asked_ns?)
}

/// Returns the reason why a session ended at a time while its client believed in it until another:
/// it was paused, or its clock stood still, and it could not notice; or else the longest trouble in
/// the time in which the servers must have missed it.
pub(super) fn why_session_ended(
    evidence: &Evidence<'_>,
    claim: &Claim,
    at_ns: u64,
    until_ns: u64,
) -> Option<Cause> {
    if slept_through(evidence, claim.process, at_ns, until_ns) {
        return Some(Cause::HolderPaused);
    }
    // By a clock that stands still it lets go of nothing, whoever was silent.
    if Troubles::of(evidence, claim.process, at_ns..at_ns).stood_still() && until_ns > at_ns {
        return Some(Cause::ClientClock);
    }
    if is_early_session(evidence, claim, at_ns, until_ns) {
        return Some(Cause::ServerClock);
    }
    if let Some(cause) = own_trouble(evidence, claim, at_ns) {
        return Some(cause);
    }
    let missed_ns = 2 * evidence.run.info.run.ttl_ns;
    let granted_ns = claim.granted().map_or(at_ns, |ok| evidence.time(ok));
    let apart = servers_apart(evidence, claim.process, at_ns, until_ns);
    let since = |ns: u64| Troubles::of(evidence, claim.process, at_ns.saturating_sub(ns)..at_ns);
    let worst = |ns: u64| worst_trouble(&since(ns), granted_ns, apart);
    let worst_of_servers = |ns: u64| longest(troubles_of_servers(&since(ns), apart));
    // Servers without a leader end no session. After the last fault they recover for as long as a
    // quiet phase, and the first thing that their leader does is to give each session its whole
    // time anew.
    let recovered_ns = missed_ns + evidence.run.info.quiet_ns;
    worst(missed_ns).or_else(|| worst_of_servers(recovered_ns)).or_else(|| worst(recovered_ns))
}

/// Returns true if a server's fast clock ended a session by so much too early that its client would
/// have let go in time by a right one. (It does by itself, though it is cut off.)
fn is_early_session(evidence: &Evidence<'_>, claim: &Claim, at_ns: u64, until_ns: u64) -> bool {
    let live = at_ns.saturating_sub(evidence.run.info.run.ttl_ns)..at_ns;
    let gained = Troubles::of(evidence, claim.process, live).gained();
    let end_ns = claim.end.map_or(until_ns, |end| evidence.time(end.at));
    gained.is_some_and(|gained| end_ns > at_ns && end_ns - at_ns <= gained)
}

/// Returns the reason why a lock that its client renews, so that the recipe knows no end of it, ran
/// out at a time while the client believed in it until another. It is like a session; but a server
/// keeps it by its wall clock, and a replica that is promoted may lack the last renewal.
pub(super) fn why_not_renewed(
    evidence: &Evidence<'_>,
    claim: &Claim,
    at_ns: u64,
    until_ns: u64,
) -> Option<Cause> {
    let since_ns = at_ns.saturating_sub(evidence.run.info.run.ttl_ns);
    let asleep = slept_through(evidence, claim.process, at_ns, until_ns);
    if !asleep && Troubles::of(evidence, claim.process, since_ns..at_ns).had(Trouble::ServerClock) {
        return Some(Cause::ServerClock);
    }
    // Nobody is promoted unless servers fail.
    let failover_ns = evidence.run.info.failover_ns;
    let failing = || since_ns.saturating_sub(failover_ns)..at_ns;
    let promotes =
        failover_ns > 0 && Troubles::of(evidence, claim.process, failing()).had(Trouble::Servers);
    match why_session_ended(evidence, claim, at_ns, until_ns) {
        Some(Cause::ServersApart | Cause::HolderCutOff) if promotes => Some(Cause::ServerForgets),
        cause => cause,
    }
}

/// Returns true if a lock whose recipe knows no end of it ran out as one does that nobody renews,
/// in its ttl: libraries do not tell when their grants run out.
fn was_never_renewed(evidence: &Evidence<'_>, lost: &Lost) -> bool {
    // A server may find it late, and a renewal comes before the last quarter.
    lost.at_ns.saturating_sub(lost.made_ns) <= evidence.run.info.run.ttl_ns / 4 * 5
}

/// Returns true if a client could not notice until a time that its session had ended at another: it
/// was paused, or had only just woken from a pause in which it ended.
fn slept_through(evidence: &Evidence<'_>, process: u32, at_ns: u64, until_ns: u64) -> bool {
    let paused = |during| Troubles::of(evidence, process, during).lasted(Trouble::Paused);
    let asleep = paused(at_ns..at_ns).and_then(|_| paused(at_ns..until_ns));
    let awake = asleep.map(|asleep| until_ns.saturating_sub(at_ns).saturating_sub(asleep));
    awake.is_some_and(|awake| awake <= GRAIN_NS) || paused(until_ns..until_ns).is_some()
}

/// The trouble of a client's own for which its session ended at a time, if one filled most of the
/// session before: then it does not matter what else was wrong. (A client that obeys *Disconnected*
/// finds out after two thirds of a session.)
fn own_trouble(evidence: &Evidence<'_>, claim: &Claim, at_ns: u64) -> Option<Cause> {
    let (process, session) = (claim.process, evidence.run.info.run.ttl_ns);
    // A session that its client has slept through is over, however late the servers end it.
    let held = claim.granted().map_or(at_ns, |ok| evidence.time(ok).min(at_ns))..at_ns;
    let slept = Troubles::of(evidence, process, held).longest(Trouble::Paused);
    if slept.is_some_and(|slept| slept >= session) {
        return Some(Cause::HolderPaused);
    }
    let last = Troubles::of(evidence, process, at_ns.saturating_sub(session)..at_ns);
    let troubles = [
        (last.lasted(Trouble::Paused), Cause::HolderPaused),
        (last.kept_wrong_time(), Cause::ClientClock),
        (last.unreachable(), Cause::HolderCutOff),
    ];
    let met = troubles.into_iter().filter_map(|(lasted, cause)| Some((lasted?, cause)));
    let longest = met.max_by_key(|(lasted, _)| *lasted);
    longest.filter(|(lasted, _)| *lasted > session / 4 * 3).map(|(_, cause)| cause)
}

/// The longest of the troubles of a client that was granted a lock at `granted_ns`. A link that is
/// only slow is one if there is no other.
fn worst_trouble(troubles: &Troubles<'_, '_>, granted_ns: u64, apart: Cause) -> Option<Cause> {
    let own = [
        (troubles.kept_wrong_time(), Cause::ClientClock),
        (troubles.broken(granted_ns), Cause::HolderCutOff),
        (troubles.lasted(Trouble::Paused), Cause::HolderPaused),
    ];
    longest(troubles_of_servers(troubles, apart).into_iter().chain(own))
        .or_else(|| troubles.lasted(Trouble::CutOff).map(|_| Cause::HolderCutOff))
}

/// The time that each of the servers' troubles lasted, in nanoseconds, and the cause that it is;
/// `apart` is the one where they were apart.
fn troubles_of_servers(troubles: &Troubles<'_, '_>, apart: Cause) -> [(Option<u64>, Cause); 2] {
    [
        (troubles.lasted(Trouble::Servers), apart),
        (troubles.ran_wrong(Trouble::ServerClock), Cause::ServerClock),
    ]
}

/// The cause that lasted longest; of several as long, the last.
fn longest(troubles: impl IntoIterator<Item = (Option<u64>, Cause)>) -> Option<Cause> {
    let met = troubles.into_iter().filter_map(|(lasted, cause)| Some((lasted?, cause)));
    met.max_by_key(|(lasted, _)| *lasted).map(|(_, cause)| cause)
}

/// Returns the reason why a session ended at a time whose servers were apart, though its client
/// believed in it until another.
///
/// With some settings they may serve it for longer than it lives. With the others a server that is
/// cut off closes its clients' connections in time, unless something keeps it from doing so: then
/// they find out by themselves, after two thirds of a session without an answer, which is too late.
/// (Of a client that does not believe on there is nothing to find out.)
fn servers_apart(evidence: &Evidence<'_>, process: u32, at_ns: u64, until_ns: u64) -> Cause {
    let info = &evidence.run.info;
    let begun_ns = at_ns.saturating_sub(info.run.ttl_ns);
    let all = Troubles::of(evidence, process, begun_ns..until_ns);
    let in_session = Troubles::of(evidence, process, begun_ns..at_ns);
    // Whoever obeys would have found out before.
    let silent = |trouble| {
        let longest = in_session.longest_until(trouble);
        longest.is_some_and(|silent| silent > info.run.ttl_ns / 3 * 2)
    };
    let outlasts = info.ensemble().is_some_and(|ensemble| ensemble.outlasts(info.run.ttl_ns));
    if outlasts && all.had(Trouble::ServersCut) {
        Cause::ShortSession
    } else if silent(Trouble::ServerDown) || !all.had(Trouble::ServersCut) {
        Cause::ServersApart
    } else if all.ran_wrong(Trouble::ServerClock).is_some_and(|wrong| wrong >= info.tick_ns) {
        // The server that is cut off counts its silence by that clock.
        Cause::ServerClock
    } else if until_ns > at_ns
        && (all.had(Trouble::ServerDown) || all.had(Trouble::CutOff))
        && !silent(Trouble::CutOff)
    {
        Cause::ServerSilent
    } else {
        Cause::ServersApart
    }
}

/// Returns true if the release of a claim would have removed what was made at a time also if it had
/// not been late: it was there when the release began.
pub(super) fn frees_anyway(evidence: &Evidence<'_>, claim: &Claim, made_ns: u64) -> bool {
    let begun = claim.end.filter(|end| end.how == Ending::Released);
    begun.is_some_and(|end| made_ns < evidence.time(end.at))
}

/// Returns the reason why another client's request took something from its owner.
fn why_taken(
    evidence: &Evidence<'_>,
    ownership: &Ownership,
    owner: &Claim,
    (lost, by): (&Lost, u32),
    until_ns: u64,
) -> Cause {
    // A recoverer goes by times that clients have written by their own clocks, and by its own until
    // it believes.
    let clock = |process, during| Troubles::of(evidence, process, during).had(Trouble::ClientClock);
    let (owned, took) = (
        tried(evidence, ownership, owner.process, lost.made_ns),
        tried(evidence, ownership, by, lost.at_ns),
    );
    let wrong = || {
        clock(owner.process, owned.start..lost.at_ns)
            || clock(by, took.start.min(lost.made_ns)..took.end)
    };
    let taker = ownership.busy_with(evidence, by, lost.at_ns);
    let recovers = match taker.map(|taker| ClaimStep::of(evidence, taker, lost.at_ns)) {
        Some(ClaimStep::Over)
            if taker.is_some_and(|it| frees_anyway(evidence, it, lost.made_ns)) =>
        {
            Err(Cause::ForeignRelease)
        }
        None | Some(ClaimStep::Over) => Err(Cause::LateRequest),
        Some(ClaimStep::Releasing) => Err(Cause::ForeignRelease),
        Some(ClaimStep::Asking | ClaimStep::Holding) => Ok(lost.spoilt.unwrap_or(Cause::Recovery)),
    };
    if had_outlived(evidence, owner, lost, until_ns) {
        why_expired(evidence, owner, lost, until_ns)
    } else if recovers.is_ok() && wrong() {
        Cause::ClientClock
    } else {
        recovers.unwrap_or_else(|cause| cause)
    }
}
