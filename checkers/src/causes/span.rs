//! The faults that a client or the servers had in a span of time.

use crate::evidence::Evidence;
use crate::faults::FaultSpan;
use crate::stretches::covered;
use base::{
    Action, Clock, ClockChange, Data, Family, Fault, LinkFault, Mono, Node, Target, WallTime,
};
use std::collections::BTreeSet;
use std::ops::Range;

/// A kind of fault, as it bears on one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The client was paused.
    Paused,
    /// A link of the client to a server was cut or faulty.
    CutOff,
    /// A link of the client to a server was cut, or lost what went over it.
    Broken,
    /// The client's clock was wrong.
    ClientClock,
    /// A server's clock was wrong.
    ServerClock,
    /// A server was down or paused.
    ServerDown,
    /// Servers were cut off from each other.
    ServersCut,
    /// Any of these two.
    Servers,
}

/// Returns the time in all for which the client of a process had such trouble in a span of time, in
/// nanoseconds; `None` when it had none.
pub(super) fn lasted(
    evidence: &Evidence<'_>,
    trouble: Trouble,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    united(evidence, met(evidence, trouble, process, &during), &during)
}

/// Returns the time in all for which a client did not run in a span of time, in nanoseconds; `None`
/// when it always ran. (An enumeration has no time: it tells of a request that is held up by a
/// pause, of which hardly anything was measured.)
pub(super) fn not_running(
    evidence: &Evidence<'_>,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    let measured = |fault_span: &&FaultSpan| {
        let span = evidence.span(fault_span);
        let lasted_ms = span.end.saturating_sub(span.start) / 1_000_000;
        let effect = fault_span.effect.as_ref().map_or(lasted_ms, |effect| effect.amount);
        fault_span.healed.is_none() || effect >= lasted_ms / 2
    };
    united(evidence, met(evidence, Trouble::Paused, process, &during).filter(measured), &during)
}

/// Returns the time in all for which faults were in force in a span of time, in nanoseconds: of
/// several at once the time counts once. `None`: none of them was.
fn united<'a>(
    evidence: &Evidence<'_>,
    fault_spans: impl Iterator<Item = &'a FaultSpan>,
    during: &Range<u64>,
) -> Option<u64> {
    let parts = fault_spans.filter_map(|fault_span| part(evidence, fault_span, during));
    let parts: Vec<(u64, u64)> = parts.map(|part| (part.start, part.end)).collect();
    (!parts.is_empty()).then(|| covered(parts))
}

/// Returns the longest time for which one such trouble lasted in a span of time, in nanoseconds;
/// `None` when there was none.
pub(super) fn longest_of(
    evidence: &Evidence<'_>,
    trouble: Trouble,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    let parts =
        met(evidence, trouble, process, &during).filter_map(|one| part(evidence, one, &during));
    parts.map(|part| part.end - part.start).max()
}

/// Returns the longest time for which one such trouble of a span of time had lasted by its end or
/// the span's, in nanoseconds, from before the span where it began there; `None` when there was
/// none.
pub(super) fn longest_until(
    evidence: &Evidence<'_>,
    trouble: Trouble,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    let lasted = |fault_span| {
        let span = evidence.span(fault_span);
        span.end.min(during.end).saturating_sub(span.start)
    };
    met(evidence, trouble, process, &during).map(lasted).max()
}

/// Returns the part of a span of time in which a fault was in force.
fn part(
    evidence: &Evidence<'_>,
    fault_span: &FaultSpan,
    during: &Range<u64>,
) -> Option<Range<u64>> {
    let span = evidence.span(fault_span);
    let (from, to) = (span.start.max(during.start), span.end.min(during.end));
    (from <= to).then_some(from..to)
}

/// Returns the time in all for which the client of a process could reach no server in a span of
/// time, in nanoseconds; `None` when it always could.
pub(super) fn unreachable(
    evidence: &Evidence<'_>,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    let servers = evidence.run.info.servers;
    let is_off = |fault_span: &&FaultSpan| {
        let action = fault_span.fault.action();
        let links = fault_span.fault.links();
        let to = |server| links.iter().any(|(a, b)| [*a, *b].contains(&Node::Server(server)));
        keeps_off(action, evidence) && (0..servers).all(to)
    };
    united(evidence, met(evidence, Trouble::CutOff, process, &during).filter(is_off), &during)
}

/// Returns the time in all for which links of a client were broken in a span of time, in
/// nanoseconds; `None` if none was. A link to some of the servers that it could do without when it
/// was granted a lock, at `granted_ns`, does not count.
pub(super) fn broken(
    evidence: &Evidence<'_>,
    process: u32,
    granted_ns: u64,
    during: Range<u64>,
) -> Option<u64> {
    let servers = evidence.run.info.servers;
    let is_needed = |fault_span: &&FaultSpan| {
        let links = fault_span.fault.links();
        let to = |server| links.iter().any(|(a, b)| [*a, *b].contains(&Node::Server(server)));
        (0..servers).all(to) || evidence.span(fault_span).start >= granted_ns
    };
    united(evidence, met(evidence, Trouble::Broken, process, &during).filter(is_needed), &during)
}

/// Returns the time in all by which the clocks that such trouble is about ran slower or faster than
/// they should in a span of time, in nanoseconds; `None` when they ran well. A clock that only
/// jumped runs well.
pub(super) fn ran_wrong(
    evidence: &Evidence<'_>,
    trouble: Trouble,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    let off = |fault_span: &FaultSpan| {
        let part = part(evidence, fault_span, &during)?;
        let lasted = part.end - part.start;
        match fault_span.fault.action() {
            Action::Clock(ClockChange::Jump(_)) => None,
            Action::Clock(ClockChange::Drift(ppm)) => Some(drifted(lasted, ppm)),
            _ => Some(lasted),
        }
    };
    met(evidence, trouble, process, &during).filter_map(off).max()
}

/// Returns the time that the clocks of servers gained in a span of time because they ran fast, in
/// nanoseconds; `None` when none did.
pub(super) fn gained(evidence: &Evidence<'_>, process: u32, during: Range<u64>) -> Option<u64> {
    let gain = |fault_span: &FaultSpan| {
        let part = part(evidence, fault_span, &during)?;
        match fault_span.fault.action() {
            Action::Clock(ClockChange::Drift(ppm)) if ppm > 0 => {
                Some(drifted(part.end - part.start, ppm))
            }
            _ => None,
        }
    };
    met(evidence, Trouble::ServerClock, process, &during).filter_map(gain).max()
}

/// Returns the time by which the clocks that such trouble is about were wrong at most in a span of
/// time, in nanoseconds; `None` when they were right.
pub(super) fn clock_off(
    evidence: &Evidence<'_>,
    trouble: Trouble,
    process: u32,
    during: Range<u64>,
) -> Option<u64> {
    let off = |fault_span: &FaultSpan| {
        let span = evidence.span(fault_span);
        let lasted = during.end.min(span.end).saturating_sub(span.start);
        let by_itself = match fault_span.fault.action() {
            Action::Clock(ClockChange::Jump(by)) => by.unsigned_abs(),
            Action::Clock(ClockChange::Drift(ppm)) => drifted(lasted, ppm),
            _ => lasted,
        };
        // The last of several that overlap to be healed sets right what the others have left.
        let healed = fault_span.effect.as_ref().filter(|_| span.end < during.end);
        by_itself.max(healed.map_or(0, |effect| effect.amount.saturating_mul(1_000)))
    };
    met(evidence, trouble, process, &during).map(off).reduce(u64::saturating_add)
}

/// Returns the time that the wall clock of some server gained at most in a span of time, all faults
/// on it together, in nanoseconds: less than nothing where each fell behind.
pub(super) fn wall_clock_gain(evidence: &Evidence<'_>, during: &Range<u64>) -> i64 {
    let of_servers = |fault_span: &FaultSpan| match fault_span.fault.target() {
        Target::Node(node @ Node::Server(_)) => Some(*node),
        _ => None,
    };
    let servers: BTreeSet<Node> = evidence.fault_spans.iter().filter_map(of_servers).collect();
    let lead = |server, at_ns| wall_clock_lead(evidence, server, at_ns);
    let gain = |server| lead(server, during.end) - lead(server, during.start);
    servers.into_iter().map(gain).max().unwrap_or(0)
}

/// Returns the lead of a node's wall clock over a right one at a time, in nanoseconds: each fault
/// changes what those before it have left, and the last to be healed sets the clock right.
fn wall_clock_lead(evidence: &Evidence<'_>, node: Node, at_ns: u64) -> i64 {
    let mut changes = Vec::new();
    for fault_span in &evidence.fault_spans {
        let (fault, span) = (&fault_span.fault, evidence.span(fault_span));
        if let (Action::Clock(change), Target::Node(of)) = (fault.action(), fault.target())
            && *of == node
        {
            changes.extend([(span.start, true, change), (span.end, false, change)]);
        }
    }
    changes.retain(|(changed_ns, ..)| *changed_ns <= at_ns);
    changes.sort_by_key(|(changed_ns, ..)| *changed_ns);
    let mut clock = Clock::right(WallTime::from_nanos(0), Mono::ZERO, Mono::ZERO);
    for (changed_ns, begins, change) in changes {
        let now = Mono::from_nanos(changed_ns);
        match begins {
            true => clock.change(change, now),
            false => drop(clock.undo(change, now)),
        }
    }
    clock.lead_ns(Mono::from_nanos(at_ns))
}

/// Returns true if a client's clock stood still at some time in a span of it, in nanoseconds.
pub(super) fn stood_still(evidence: &Evidence<'_>, process: u32, during: Range<u64>) -> bool {
    let freezes =
        |fault_span: &FaultSpan| fault_span.fault.action() == Action::Clock(ClockChange::Freeze);
    met(evidence, Trouble::ClientClock, process, &during).any(freezes)
}

/// Returns the error of a clock after it has drifted for a time, both in nanoseconds.
fn drifted(lasted: u64, ppm: i32) -> u64 {
    (lasted / 1_000_000).saturating_mul(u64::from(ppm.unsigned_abs()))
}

/// The faults that had an effect and may have been in force somewhere in a span of time.
fn met<'a>(
    evidence: &'a Evidence<'_>,
    trouble: Trouble,
    process: u32,
    during: &Range<u64>,
) -> impl Iterator<Item = &'a FaultSpan> {
    let client = Node::Client(evidence.run.info.client_of(process));
    let met = evidence.fault_spans_in(during).filter(|fault_span| !fault_span.had_none());
    met.filter(move |fault_span| bears(&fault_span.fault, trouble, client))
}

/// Returns true if a client had such trouble in a span of time.
pub(super) fn had(
    evidence: &Evidence<'_>,
    trouble: Trouble,
    process: u32,
    during: Range<u64>,
) -> bool {
    lasted(evidence, trouble, process, during).is_some()
}

/// Returns true if a fault is such trouble of a client.
fn bears(fault: &Fault, trouble: Trouble, client: Node) -> bool {
    let is_server = |node: &Node| matches!(node, Node::Server(_));
    let ours = |links: &[(Node, Node)]| links.iter().any(|(a, b)| *a == client || *b == client);
    let is_clock = fault.family() == Family::Clock;
    match (trouble, fault.target()) {
        (Trouble::Paused, Target::Node(node)) => fault.family() == Family::Pause && *node == client,
        (Trouble::ClientClock, Target::Node(node)) => is_clock && *node == client,
        (Trouble::ServerClock, Target::Node(node)) => is_clock && is_server(node),
        (Trouble::ServerDown | Trouble::Servers, Target::Node(node)) => {
            fault.spec().takes_server_down && is_server(node)
        }
        (Trouble::CutOff, Target::Links(links)) => ours(links) && !fault.is_at_vault(),
        (Trouble::Broken, Target::Links(links)) => {
            ours(links) && !fault.is_at_vault() && !slows(fault.action())
        }
        (Trouble::ServersCut | Trouble::Servers, Target::Links(links)) => {
            links.iter().all(|(a, b)| is_server(a) && is_server(b))
        }
        (Trouble::CutOff | Trouble::Broken | Trouble::ServersCut, Target::Node(_))
        | (
            Trouble::Paused | Trouble::ClientClock | Trouble::ServerClock | Trouble::ServerDown,
            Target::Links(_),
        ) => false,
    }
}

/// Returns true if a fault keeps what goes over its links back for so long that a session cannot go
/// on: its client hears from the servers once in a third of it.
fn keeps_off(action: Action, evidence: &Evidence<'_>) -> bool {
    match action {
        Action::Cut(_) | Action::Link(LinkFault::Refuse) => true,
        _ => delays(evidence, action)
            .is_some_and(|delay_ns| delay_ns >= evidence.run.info.run.ttl_ns / 3),
    }
}

/// Returns the longest time that a message takes over links that a fault slows down, in
/// nanoseconds; `None` for one that does not.
pub(super) fn delays(evidence: &Evidence<'_>, action: Action) -> Option<u64> {
    let info = &evidence.run.info;
    match action {
        Action::Link(LinkFault::Slow(factor)) => {
            Some(info.slowest_message_ns.max(info.run.link_delay_ns).saturating_mul(factor.into()))
        }
        Action::Link(LinkFault::Jitter(micros)) => Some(u64::from(micros) * 1_000),
        Action::Link(LinkFault::Throttle(rate)) => {
            Some(LinkFault::PACKET * 1_000_000_000 / u64::from(rate.max(1)))
        }
        _ => None,
    }
}

fn slows(action: Action) -> bool {
    matches!(action, Action::Link(link_fault) if link_fault.is_delay())
}

/// Returns true if a server comes back from a fault without all of its data.
pub(super) fn loses_data(evidence: &Evidence<'_>, action: Action) -> bool {
    match action {
        Action::Crash(Data::Lost) => true,
        // A member of an ensemble has its data on disk before it answers for them.
        Action::Crash(Data::Unsynced) => evidence.run.info.ensemble().is_none(),
        Action::Crash(Data::Kept) | Action::Vanish => evidence.run.info.volatile,
        _ => false,
    }
}
