//! The causes that an anomaly can have in a run without a ledger: those that the faults in force
//! can bring about, and those that the recipe's own records leave open. Nothing here chooses one of
//! them.
//!
//! A fault counts if it was in force, or its aftermath went on, somewhere from the earliest request
//! of the claims that the anomaly is about to the anomaly itself. The aftermath of a fault lasts
//! for as long as a lock that was left taken may stay so.

use super::is_queued;
use super::span::loses_data;
use crate::evidence::Evidence;
use base::{Action, Cause, Causes, Change, ClockChange, F, Fault, Kind, Node, Removed};
use histories::holds::{Claim, Ending};
use std::ops::Range;

/// Causes that a cut of a client's links can bring about for its own claims.
const CUT_OFF: &[Cause] = &[
    // Its server, which is cut off itself, does not say so over a link that is cut.
    Cause::ServerSilent,
    Cause::HolderCutOff,
    Cause::LateGrant,
    Cause::LateRequest,
    Cause::ReplyLost,
    Cause::ReleaseLost,
    Cause::ClientDied,
];
/// Causes that a pause of a client can bring about for its own claims.
const PAUSED: &[Cause] = &[
    Cause::HolderPaused,
    Cause::LateGrant,
    Cause::LateRequest,
    Cause::ReplyLost,
    Cause::ReleaseLost,
    Cause::ClientDied,
];
/// Causes that a server that does not answer can bring about, for all clients.
const SERVER_DOWN: &[Cause] = &[
    Cause::ServersApart,
    Cause::OnlyServerDown,
    Cause::ShortSession,
    Cause::ServerSilent,
    Cause::LateGrant,
    Cause::LateRequest,
    Cause::ReplyLost,
    Cause::ReleaseLost,
    Cause::ClientDied,
];

/// Causes that a server which nobody hears of can bring about, for all clients.
const UNHEARD: &[Cause] = &[Cause::ReplyLost, Cause::ReleaseLost, Cause::ClientDied];

/// Causes that leave a lock taken, and take it from nobody.
const LEAVE_TAKEN: &[Cause] =
    &[Cause::ReplyLost, Cause::ReleaseLost, Cause::ClientDied, Cause::OnlyServerDown];

/// Anomalies in which nobody gets the lock.
const STUCK: &[&str] = &["deadlock", "lost wake-up"];

/// Returns the causes for which some claims, of which one was lost, can have met at a time.
pub(super) fn of_loss(evidence: &Evidence<'_>, claims: &[&Claim], at_ns: u64) -> Causes {
    let found = causes(evidence, claims, at_ns, |cause| !LEAVE_TAKEN.contains(&cause));
    or_known_recipe(evidence, found, |anomaly| !STUCK.contains(&anomaly))
}

/// Returns the causes for which a lock can have been left taken by one of its claims, or a client
/// can sleep on, at a time.
pub(super) fn of_stuck(evidence: &Evidence<'_>, claims: &[&Claim], at_ns: u64) -> Causes {
    let found = causes(evidence, claims, at_ns, |_| true);
    or_known_recipe(evidence, found, |anomaly| STUCK.contains(&anomaly))
}

/// Adds the recipe where it is known to bring such anomalies about: it may under a fault, too.
fn or_known_recipe(
    evidence: &Evidence<'_>,
    found: Causes,
    is_such: impl Fn(&str) -> bool,
) -> Causes {
    let mut known = evidence.run.info.lock.known.iter();
    let is_known = known.any(|it| it.cause == Cause::Recipe && is_such(&it.anomaly));
    found.iter().chain(is_known.then_some(Cause::Recipe)).collect()
}

fn causes(
    evidence: &Evidence<'_>,
    claims: &[&Claim],
    at_ns: u64,
    can: impl Fn(Cause) -> bool,
) -> Causes {
    let info = &evidence.run.info;
    let clients: Vec<Node> =
        claims.iter().map(|claim| Node::Client(info.client_of(claim.process))).collect();
    let since_ns = claims.iter().map(|claim| evidence.time(claim.invoke)).min().unwrap_or(0);
    let during = since_ns.saturating_sub(info.due_ns())..at_ns;
    let in_force = evidence.fault_spans_in(&during).filter(|span| !span.had_none());
    let by_faults = in_force.flat_map(|span| by_fault(evidence, &span.fault, &clients).iter());
    let mut found: Causes = by_faults.filter(|cause| can(*cause)).collect();
    // No fault hit those whom it is about, and somebody else's need not have to do with it.
    if found.iter().all(|cause| cause == Cause::LateRequest) {
        found.extend([Cause::Recipe]);
    }
    found.extend(recorded(evidence, claims, at_ns).filter(|cause| can(*cause)));
    found
}

/// Returns true if the client of a claim died while it asked, held or released.
fn is_death(evidence: &Evidence<'_>, claim: &Claim) -> bool {
    let gone = claim.gone_at().and_then(|at| evidence.run.history.get(at));
    gone.is_some_and(|event| event.f == F::Death)
}

/// Returns the causes that a fault can bring about for these clients. What befalls any other client
/// bears on them by what it asks of the servers late, or by a wrong clock.
fn by_fault(evidence: &Evidence<'_>, fault: &Fault, clients: &[Node]) -> Causes {
    let is_server = |node: &Node| matches!(node, Node::Server(_));
    let (nodes, links, action) = (fault.nodes(), fault.links(), fault.action());
    let ours = nodes.iter().any(|node| clients.contains(node));
    let of_clients = !nodes.iter().all(is_server) && !fault.is_at_vault();
    let apart = links.iter().any(|(a, b)| is_server(a) && is_server(b));
    let down = fault.spec().takes_server_down && fault.node().is_some_and(|node| is_server(&node));
    let forgets =
        (evidence.run.info.failover_ns > 0 && (apart || down)) || loses_data(evidence, action);
    let (of_links, clock) = (!links.is_empty(), matches!(action, Action::Clock(_)));
    let brought: [(bool, &[Cause]); 11] = [
        (apart || down, SERVER_DOWN),
        (forgets, &[Cause::ServerForgets]),
        (action == Action::Evict, &[Cause::Evicted]),
        (clock && !of_clients, &[Cause::ServerClock]),
        (clock && of_clients, &[Cause::ClientClock]),
        // Its clients take a server for gone whose clock stands still.
        (action == Action::Clock(ClockChange::Freeze) && !of_clients, UNHEARD),
        (action == Action::Kill, &[Cause::ClientDied]),
        (fault.is_at_vault(), &[Cause::WriteDelayed]),
        (of_links && of_clients && ours, CUT_OFF),
        (action == Action::Pause && of_clients && ours, PAUSED),
        ((of_links || action == Action::Pause) && of_clients, &[Cause::LateRequest]),
    ];
    brought.into_iter().filter(|(so, _)| *so).flat_map(|(_, causes)| causes).copied().collect()
}

/// Returns the causes that need no fault, and of which the claims of the same lock say themselves
/// that they are possible: when a grant ran out, what a release removed, whether a client died.
fn recorded<'a>(
    evidence: &'a Evidence<'_>,
    claims: &'a [&Claim],
    at_ns: u64,
) -> impl Iterator<Item = Cause> + use<'a> {
    let of_lock = || {
        let ours = |it: &&Claim| claims.iter().any(|claim| claim.key == it.key);
        evidence.claims.claims.iter().filter(ours)
    };
    let before = |at: u64| evidence.time(at) <= at_ns;
    // A library does not say when its grant runs out. The ledger does, though not always whose it
    // was.
    let expired = |from_ns: u64| {
        let mut entries = evidence.run.ledger.iter().flat_map(|ledger| ledger.entries());
        entries.any(|entry| {
            matches!(entry.change, Change::Expired | Change::Overdue(_))
                && (from_ns..=at_ns).contains(&entry.time_ns)
        })
    };
    let ran_out = |claim: &&&Claim| {
        let facts = claim.granted().and_then(|ok| evidence.facts(ok));
        match facts.and_then(|facts| facts.expires_ns) {
            Some(expires_ns) => expires_ns <= at_ns,
            None => expired(evidence.time(claim.invoke)),
        }
    };
    let released =
        |claim: &Claim| claim.end.is_some_and(|end| end.how == Ending::Released && before(end.at));
    let frees_any = |it: &Claim| it.removed == Some(Removed::Any);
    let died = |it: &Claim| it.gone_at().is_some_and(before) && is_death(evidence, it);
    let recovers = |it: &Claim| {
        it.granted()
            .filter(|ok| before(*ok))
            .and_then(|ok| evidence.facts(ok))
            .is_some_and(|it| it.recovered)
    };
    let client = |claim: &Claim| evidence.run.info.client_of(claim.process);
    // Until its release is answered it may still have what it shares.
    let wanted = |claim: &Claim| {
        let Range { start, end } = claim.wanted();
        start..claim.freed.map_or(end, |(at, _)| at.max(end))
    };
    let shares = |claim: &Claim| {
        let (ours, again) = (wanted(claim), evidence.run.info.lock.promises.reentrant);
        of_lock().any(|it| {
            let theirs = wanted(it);
            it.invoke != claim.invoke
                && client(it) == client(claim)
                && !(again && it.process == claim.process)
                && it.mode.excludes(claim.mode)
                && theirs.start < ours.end
                && ours.start < theirs.end
        })
    };
    // What two of one client share, one frees for both; what the other frees then is a third one's.
    let unanswered = |it: &&Claim| it.freed.is_some_and(|(_, kind)| kind == Kind::Info);
    let frees_twice = || of_lock().filter(unanswered).any(shares);
    let found = [
        (Cause::LongHold, claims.iter().any(|claim| ran_out(&claim))),
        (Cause::LateGrant, claims.iter().any(|claim| ran_out(&claim))),
        (
            Cause::RanOutWhileReleasing,
            claims.iter().any(|claim| ran_out(&claim) && released(claim)),
        ),
        (Cause::ForeignRelease, of_lock().any(frees_any) || frees_twice()),
        (Cause::Recovery, of_lock().any(recovers)),
        (Cause::ClientDied, of_lock().any(died)),
        (
            Cause::NothingTaken,
            claims.iter().any(|claim| claim.granted().is_some() && !is_queued(evidence, claim)),
        ),
        (Cause::SharedIdentity, claims.iter().any(|claim| shares(claim))),
    ];
    found.into_iter().filter(|(_, is_possible)| *is_possible).map(|(cause, _)| cause)
}
