//! Locks that stay taken: the thing that still stands in the store, and how it was left there.

use super::Case;
use super::loss::{self, Lost, why_session_ended};
use super::ownership::{Changed, Ownership, Standing, Written};
use super::possible;
use super::span::{Trouble, Troubles, loses_data};
use super::{is_queued, reply_lost, reply_lost_during};
use base::{CANCELLED, Cause, Causes, Change, F, Kind, Node, Process};
use histories::holds::{AcquireAnswer, Claim, Ending};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The cause for which nobody is granted a lock, at a time in nanoseconds: that of the thing which
/// stands in the store and was left there by a claim for this lock, of several the one in front.
pub(crate) fn of_stuck(case: &Case<'_>, key: usize, at_ns: u64) -> Causes {
    let found = by_what_stands(case, key, at_ns);
    match case.asked(key).any(|(_, claim)| is_cancelled(case, claim, at_ns)) {
        false => found,
        // Workers share what their client has left, so that nothing tells whose it was.
        true if case.fault_spans.is_empty() => Cause::CallCancelled.into(),
        true => found.iter().chain([Cause::CallCancelled]).collect(),
    }
}

/// Returns true if the caller of a claim stopped waiting for its answer, or for that of its
/// release, by a time in nanoseconds.
pub(super) fn is_cancelled(case: &Case<'_>, claim: &Claim, at_ns: u64) -> bool {
    let asked = match claim.answer {
        AcquireAnswer::Unknown(at) => Some(at),
        _ => claim.freed.map(|(at, _)| at),
    };
    let event = asked.and_then(|at| case.run.history.get(at));
    event.is_some_and(|event| event.time_ns <= at_ns && event.error.as_deref() == Some(CANCELLED))
}

fn by_what_stands(case: &Case<'_>, key: usize, at_ns: u64) -> Causes {
    match case.ownership() {
        Some(_) if is_dead(case, at_ns) => Cause::ServerForgets.into(),
        Some(ownership) => {
            let left = left_by(case, ownership, key, at_ns).map(|(_, cause)| cause);
            left.or_else(|| ran_out(case, ownership, key, at_ns)).unwrap_or(Cause::Recipe).into()
        }
        None => {
            let asked: Vec<&Claim> = case.asked(key).map(|(_, claim)| claim).collect();
            possible::of_stuck(case, &asked, at_ns)
        }
    }
}

/// The claim that left a lock taken, by the ledger, at a time in nanoseconds.
pub(crate) fn culprit_of<'a>(
    case: &'a Case<'_>,
    ownership: &Ownership,
    key: usize,
    at_ns: u64,
) -> Option<&'a Claim> {
    let left = left_by(case, ownership, key, at_ns).filter(|_| !is_dead(case, at_ns));
    left.map(|(claim, _)| claim)
}

/// Returns true if a majority of the servers that hold one store have lost their data up to a time,
/// in nanoseconds, and nothing has changed there since: they form no quorum any more.
fn is_dead(case: &Case<'_>, at_ns: u64) -> bool {
    let servers = case.run.info.servers as usize;
    let wipes = || {
        let wiped = case
            .fault_spans
            .iter()
            .filter(|span| !span.had_none() && loses_data(case, span.fault.action()));
        let wiped = wiped.filter_map(|span| Some((span.fault.node()?, case.time(span.begin))));
        wiped.filter(|(node, begun)| matches!(node, Node::Server(_)) && *begun <= at_ns)
    };
    let nodes: BTreeSet<Node> = wipes().map(|(node, _)| node).collect();
    let last = wipes().map(|(_, begun)| begun).max().unwrap_or(0);
    let mut entries = case.run.ledger.iter().flat_map(|ledger| ledger.entries());
    servers > 1
        && nodes.len() > servers / 2
        && !entries.any(|entry| (last..=at_ns).contains(&entry.time_ns))
}

/// The claim that left a lock taken, and the cause for which it did.
fn left_by<'a>(
    case: &'a Case<'_>,
    ownership: &Ownership,
    key: usize,
    at_ns: u64,
) -> Option<(&'a Claim, Cause)> {
    let left = case.left(ownership, at_ns);
    let standing = left.standing.get(&key).into_iter().flatten().map(|it| it.write.thing);
    let shared = standing.filter(|thing| ownership.is_shared(*thing));
    let shared = shared.filter(|thing| !keeps_all(case, ownership, key, (*thing, at_ns)));
    let parts = shared.filter_map(|thing| part_of_one_gone(case, ownership, key, (thing, at_ns)));
    if let Some((made_ns, claim)) = parts.min_by_key(|(made_ns, _)| *made_ns) {
        return Some((claim, why_left(case, claim, Some(made_ns))));
    }
    let left_by = |Standing { write, process, restored }: &Standing| {
        let claim = ownership.busy_with(case, *process, write.at_ns)?;
        let cause = match restored {
            true => Cause::ServerForgets,
            false => left_behind(case, ownership, &left, (claim, *write))?,
        };
        Some((write.at_ns, claim, cause))
    };
    let waits_at = |Standing { write, process, .. }: &Standing| {
        let claim = ownership.busy_with(case, *process, write.at_ns);
        claim.is_some_and(|claim| waits_at(case, ownership, (claim, *write), at_ns))
    };
    let blocking = match left.standing.get(&key) {
        // If all that stands there are places at which clients wait, nobody woke the first.
        Some(standing) => {
            let is_own = |thing: &&Standing| !ownership.is_shared(thing.write.thing);
            let own: Vec<&Standing> = standing.iter().filter(is_own).collect();
            // Whoever wrote last what several share need not have left anything of its own there.
            let standing = if own.is_empty() { standing.iter().collect() } else { own };
            let left = standing.iter().filter_map(|thing| left_by(thing));
            // Of nodes that each client makes for itself, all others wait behind the first; and
            // whoever waits there waits for none that came later.
            match standing.iter().all(|thing| thing.write.place == 0) {
                true => {
                    let waiting = standing.iter().filter(|thing| waits_at(thing));
                    let first_ns = waiting.map(|thing| thing.write.at_ns).min();
                    let left = left.min_by_key(|(made_ns, ..)| *made_ns);
                    left.filter(|(made_ns, ..)| first_ns.is_none_or(|first| *made_ns < first))
                }
                false => left.max_by_key(|(made_ns, ..)| *made_ns),
            }
        }
        // Nothing does: the reason why the session ended in which a client still asks in vain.
        None => left.sessions.get(&key).and_then(|(claim, ended_ns)| {
            let claim = &case.claims.claims[*claim];
            Some((*ended_ns, claim, why_session_ended(case, claim, *ended_ns, *ended_ns)?))
        }),
    };
    blocking.map(|(_, claim, cause)| (claim, cause))
}

/// Returns true if whoever released the lock has left its part in a thing that several share, as in
/// a counter of tokens: nobody waits for that.
fn keeps_all(
    case: &Case<'_>,
    ownership: &Ownership,
    key: usize,
    (thing, at_ns): (usize, u64),
) -> bool {
    let is_freed =
        |claim: &&Claim| matches!(claim.freed, Some((at, Kind::Ok)) if case.time(at) <= at_ns);
    let mut freed = case.asked(key).map(|(_, claim)| claim).filter(is_freed).peekable();
    let leaves_part = |claim: &Claim| ownership.part(case, claim, (thing, at_ns)).is_some();
    freed.peek().is_some() && freed.all(leaves_part)
}

/// The first of those that went without having taken out again what it had put into a thing that
/// several share, and when it had done so, in nanoseconds.
fn part_of_one_gone<'a>(
    case: &'a Case<'_>,
    ownership: &Ownership,
    key: usize,
    (thing, at_ns): (usize, u64),
) -> Option<(u64, &'a Claim)> {
    let went = |claim: &Claim| match claim.answer {
        AcquireAnswer::Failed(at) => Some(at),
        _ => claim.gone_at(),
    };
    let gone = case.asked(key).map(|(_, claim)| claim);
    let gone = gone.filter(|claim| went(claim).is_some_and(|at| case.time(at) <= at_ns));
    let parts =
        gone.filter_map(|claim| Some((ownership.part(case, claim, (thing, at_ns))?, claim)));
    parts.min_by_key(|(made_ns, _)| *made_ns)
}

/// The cause for which a lock ran out that nobody has taken since: its holder did not free it, and
/// so nobody notified those who wait for its message. (Where the store itself wakes its waiters, it
/// was the store that did not.)
fn ran_out(case: &Case<'_>, ownership: &Ownership, key: usize, at_ns: u64) -> Option<Cause> {
    if case.run.info.lock.promises.wakes.is_some() {
        return None;
    }
    let of_key = |(last, thing): (Changed, Standing)| {
        let claim = ownership.busy_with(case, thing.process, thing.write.at_ns)?;
        (claim.key == key).then_some((last, thing.write.at_ns, claim))
    };
    let changes = ownership.last_changes(at_ns).filter_map(of_key);
    let (last, made_ns, claim) = changes.max_by_key(|(last, ..)| last.at_ns)?;
    let lost = Lost { at_ns: last.at_ns, made_ns, how: last.change, spoilt: None, spare: false };
    loss::ran_out(&lost).then(|| match why_left(case, claim, Some(made_ns)) {
        Cause::Recipe => loss::why_expired(case, claim, &lost, at_ns),
        cause => cause,
    })
}

/// The contents of the store at some time.
#[derive(Debug)]
pub(crate) struct Left {
    /// The time, in nanoseconds.
    at_ns: u64,
    /// The things that stand there, by the key that their writer was busy with.
    standing: BTreeMap<usize, Vec<Standing>>,
    /// The claim that asks then and never gets an answer, in the session that ended last, and when
    /// that was, by key.
    sessions: BTreeMap<usize, (usize, u64)>,
    /// The lock is free again by its time.
    expires: bool,
}

impl Left {
    pub(crate) fn of(case: &Case<'_>, ownership: &Ownership, at_ns: u64) -> Self {
        let mut standing: BTreeMap<usize, Vec<Standing>> = BTreeMap::new();
        for thing in ownership.standing(at_ns) {
            if let Some(claim) = ownership.busy_with(case, thing.process, thing.write.at_ns) {
                standing.entry(claim.key).or_default().push(thing);
            }
        }
        let expires = |claim: &Claim| claim.granted().and_then(|ok| case.facts(ok)?.expires_ns);
        let expires = case.claims.grants().any(|claim| expires(claim).is_some());
        Self { at_ns, standing, sessions: sessions(case, at_ns), expires }
    }

    /// Returns true if something stands there that a process wrote while it was busy with a key.
    pub(crate) fn has(&self, key: usize, process: u32) -> bool {
        let mut standing = self.standing.get(&key).into_iter().flatten();
        standing.any(|thing| thing.process == process)
    }
}

/// Returns true if a claim waits for its answer at a time, in nanoseconds.
fn asks(case: &Case<'_>, claim: &Claim, at_ns: u64) -> bool {
    let open = claim.answer == AcquireAnswer::Open;
    case.time(claim.invoke) <= at_ns && (open || at_ns <= case.time(claim.asking().end))
}

/// A life of a client, between two of its deaths: the client, and the number of deaths before. A
/// process that was given up leaves its session to the next one of the same life.
type ClientLife = (u32, usize);

/// Returns the life of its client to which each process belongs.
fn lives(case: &Case<'_>) -> BTreeMap<u32, ClientLife> {
    let client = |process| case.run.info.client_of(process);
    let mut deaths: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for event in case.run.history.events().iter().filter(|event| event.f == F::Death) {
        if let Process::Client(process) = event.process {
            deaths.entry(client(process)).or_default().push(event.index);
        }
    }
    let mut lives = BTreeMap::new();
    for claim in &case.claims.claims {
        let client = client(claim.process);
        let before = |died: &Vec<u64>| died.partition_point(|at| *at < claim.invoke);
        let life = (client, deaths.get(&client).map_or(0, before));
        lives.entry(claim.process).or_insert(life);
    }
    lives
}

fn sessions(case: &Case<'_>, at_ns: u64) -> BTreeMap<usize, (usize, u64)> {
    let lives = lives(case);
    let mut asking: BTreeMap<ClientLife, usize> = BTreeMap::new();
    for (id, claim) in case.claims.claims.iter().enumerate() {
        let answered = match claim.answer {
            AcquireAnswer::Open => false,
            AcquireAnswer::Unknown(at) => is_death(case, at),
            AcquireAnswer::Granted(_) | AcquireAnswer::Failed(_) => true,
        };
        if let Some(life) = lives.get(&claim.process)
            && !answered
            && asks(case, claim, at_ns)
        {
            asking.insert(*life, id);
        }
    }
    let mut sessions = BTreeMap::new();
    let entries = case.run.ledger.iter().flat_map(|ledger| ledger.entries().iter().rev());
    for entry in entries {
        let Change::SessionEnded(process) = entry.change else { continue };
        let Some(life) = lives.get(&process) else { continue };
        let Some(id) = asking.get(life).copied() else { continue };
        let claim = &case.claims.claims[id];
        // A client that is given up in the end takes its session with it.
        if entry.time_ns <= at_ns || asks(case, claim, entry.time_ns) {
            sessions.entry(claim.key).or_insert((id, entry.time_ns));
            // Of a session that ended before, nothing more is asked.
            asking.remove(life);
        }
    }
    sessions
}

/// Returns the reason why a claim left a thing behind; `None` if it still waits or holds, as it
/// may.
fn left_behind(
    case: &Case<'_>,
    ownership: &Ownership,
    left: &Left,
    (claim, write): (&Claim, Written),
) -> Option<Cause> {
    if left.expires
        && let Some(cause) = kept_by_a_clock(case, ownership, (claim, write))
    {
        return Some(cause);
    }
    if waits_at(case, ownership, (claim, write), left.at_ns) || holds(case, claim, left.at_ns) {
        return None;
    }
    if asks(case, claim, left.at_ns) {
        return Some(match ownership.taken(case, claim).len() {
            // It may be a place in a queue that its author has not reported.
            1 => reply_lost(case, claim),
            _ if is_of_another(case, ownership, claim) => Cause::LateRequest,
            _ => Cause::ReplyLost,
        });
    }
    Some(why_left(case, claim, Some(write.at_ns)))
}

/// Returns true if a claim waits at a time, in nanoseconds, at the place in a queue that it made:
/// its latest, unless the reply to its creation may have been lost. (Its client does not know of
/// that one then, nor of any other thing of its own.)
fn waits_at(
    case: &Case<'_>,
    ownership: &Ownership,
    (claim, write): (&Claim, Written),
    at_ns: u64,
) -> bool {
    let last = || ownership.taken(case, claim).into_iter().max_by_key(|taken| taken.at_ns);
    let answered_by_ns = write.at_ns.saturating_add(case.run.info.message_ns());
    let is_known =
        || reply_lost_during(case, claim, &(write.at_ns..answered_by_ns)) == Cause::Recipe;
    case.run.info.lock.promises.fifo
        && asks(case, claim, at_ns)
        && last() == Some(write)
        && is_known()
}

/// Returns true if the client of a claim believes in its hold at a time, in nanoseconds.
fn holds(case: &Case<'_>, claim: &Claim, at_ns: u64) -> bool {
    claim.granted().is_some_and(|ok| case.time(ok) <= at_ns)
        && claim.end.is_none_or(|end| case.time(end.at) > at_ns)
}

/// Returns true if what a claim does not know of may be from the one before, which ended with
/// nothing: then a request of that one came late.
fn is_of_another(case: &Case<'_>, ownership: &Ownership, claim: &Claim) -> bool {
    let ours = case.claims.claims.iter().filter(|other| other.process == claim.process);
    let before = ours.filter(|other| other.invoke < claim.invoke).max_by_key(|it| it.invoke);
    before.is_some_and(|before| {
        ownership.taken(case, before).is_empty()
            && (!is_queued(case, before) || before.granted().is_none())
    })
}

/// Returns the clock by which a lock that is to be free again by its time was kept so long: one
/// that was wrong while it was made, by as much. (One that stood for longer still had no time.)
fn kept_by_a_clock(
    case: &Case<'_>,
    ownership: &Ownership,
    (claim, write): (&Claim, Written),
) -> Option<Cause> {
    let made = case.time(claim.invoke)..write.at_ns;
    let stood_ns = ownership.after(write).first().map_or(case.run.history.end(), |next| next.at_ns);
    clock_that_kept(case, claim, (write.at_ns..write.at_ns, made), stood_ns)
}

/// Returns the clock by which a claim stood so long: that of a server or of its client, in the
/// times at which each of them was read.
fn clock_that_kept(
    case: &Case<'_>,
    claim: &Claim,
    (by_server, by_client): (Range<u64>, Range<u64>),
    stood_ns: u64,
) -> Option<Cause> {
    let clocks = [
        (Trouble::ServerClock, by_server, Cause::ServerClock),
        (Trouble::ClientClock, by_client, Cause::ClientClock),
    ];
    let kept = |(trouble, during, _): &(Trouble, Range<u64>, Cause)| {
        let free_ns = during.end.saturating_add(case.run.info.recovery_ns());
        let off = Troubles::of(case, claim.process, during.clone()).clock_off(*trouble);
        off.is_some_and(|off| stood_ns <= free_ns.saturating_add(off))
    };
    clocks.into_iter().find(kept).map(|(.., cause)| cause)
}

/// Returns true if an event is the death of a client.
fn is_death(case: &Case<'_>, at: u64) -> bool {
    case.run.history.get(at).is_some_and(|event| event.f == F::Death)
}

/// Returns the reason why a claim left the lock taken, by how it ended; `made_ns` is when it made
/// what stands there.
pub(super) fn why_left(case: &Case<'_>, claim: &Claim, made_ns: Option<u64>) -> Cause {
    let is_death = |at| is_death(case, at);
    let late = |at: u64| made_ns.is_some_and(|made| made > case.time(at));
    // A server that is down refuses, and one that is cut off cannot be connected to; nor is there
    // any to call until a new primary is made, and the one that a client knew at its grant may be
    // none any more.
    let unheard = |at: u64| {
        let begun = claim.end.map_or(at, |end| end.at);
        let around = match case.run.info.failover_ns {
            0 => case.time(begun).saturating_sub(1)..case.time(at),
            failover_ns => case.time(claim.asking().end).saturating_sub(failover_ns)..case.time(at),
        };
        let troubles = [Trouble::Servers, Trouble::CutOff];
        let around = Troubles::of(case, claim.process, around);
        troubles.into_iter().any(|trouble| around.had(trouble))
    };
    match (claim.answer, claim.end, claim.freed) {
        (AcquireAnswer::Unknown(at), ..) if is_death(at) => Cause::ClientDied,
        // It went on without its place in the queue, which it does not know of.
        (AcquireAnswer::Granted(ok), Some(end), _)
            if !is_queued(case, claim) && end.how == Ending::Released =>
        {
            if late(ok) {
                Cause::LateRequest
            } else {
                Cause::ReplyLost
            }
        }
        (AcquireAnswer::Failed(at) | AcquireAnswer::Unknown(at), ..) if late(at) => {
            Cause::LateRequest
        }
        (AcquireAnswer::Failed(_), ..) => reply_lost(case, claim),
        (AcquireAnswer::Unknown(_) | AcquireAnswer::Open, ..) => Cause::ReplyLost,
        (AcquireAnswer::Granted(_), Some(end), _) if end.how == Ending::Death => Cause::ClientDied,
        (AcquireAnswer::Granted(_), _, Some((at, Kind::Info))) if is_death(at) => Cause::ClientDied,
        (AcquireAnswer::Granted(_), _, Some((at, _))) if late(at) => Cause::LateRequest,
        (AcquireAnswer::Granted(_), _, Some((_, Kind::Info | Kind::Invoke)) | None) => {
            Cause::ReleaseLost
        }
        (AcquireAnswer::Granted(_), _, Some((at, Kind::Fail))) if unheard(at) => Cause::ReleaseLost,
        // Its client takes an error for a success.
        (AcquireAnswer::Granted(_), Some(end), Some((at, Kind::Ok)))
            if Troubles::of(case, claim.process, case.time(end.at)..case.time(at))
                .had(Trouble::Broken) =>
        {
            Cause::ReleaseLost
        }
        (AcquireAnswer::Granted(_), _, Some((_, Kind::Ok | Kind::Fail))) => Cause::Recipe,
    }
}
