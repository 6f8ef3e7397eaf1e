//! The faults that a client or the servers had in a span of time.

use crate::evidence::Evidence;
use crate::faults::FaultSpan;
use crate::intervals::covered;
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

/// The faults that a client and the servers had in a span of time. All times are in nanoseconds, and
/// `None` where there was no such trouble.
#[derive(Clone, Debug)]
pub(super) struct Troubles<'a, 'run> {
    evidence: &'a Evidence<'run>,
    client: Node,
    during: Range<u64>,
}

impl<'a, 'run> Troubles<'a, 'run> {
    /// The faults that the client of a process and the servers had in a span of time.
    pub(super) fn of(evidence: &'a Evidence<'run>, process: u32, during: Range<u64>) -> Self {
        let client = Node::Client(evidence.run.info.client_of(process));
        Self { evidence, client, during }
    }

    /// Returns true if there was such trouble.
    pub(super) fn had(&self, trouble: Trouble) -> bool {
        self.lasted(trouble).is_some()
    }

    /// Returns the time in all for which such trouble lasted.
    pub(super) fn lasted(&self, trouble: Trouble) -> Option<u64> {
        self.united(self.met(trouble))
    }

    /// Returns the time in all for which the client did not run. (An enumeration has no time: it
    /// tells of a request that is held up by a pause, of which hardly anything was measured.)
    pub(super) fn not_running(&self) -> Option<u64> {
        let measured = |fault_span: &&FaultSpan| {
            let span = self.evidence.span(fault_span);
            let lasted_ms = span.end.saturating_sub(span.start) / 1_000_000;
            let effect = fault_span.effect.as_ref().map_or(lasted_ms, |effect| effect.amount);
            fault_span.healed.is_none() || effect >= lasted_ms / 2
        };
        self.united(self.met(Trouble::Paused).filter(measured))
    }

    /// Returns the longest time for which one such trouble lasted.
    pub(super) fn longest(&self, trouble: Trouble) -> Option<u64> {
        let parts = self.met(trouble).filter_map(|fault_span| self.part(fault_span));
        parts.map(|part| part.end - part.start).max()
    }

    /// Returns the longest time for which one such trouble had lasted by its end or the span's,
    /// from before the span where it began there.
    pub(super) fn longest_until(&self, trouble: Trouble) -> Option<u64> {
        let lasted = |fault_span| {
            let span = self.evidence.span(fault_span);
            span.end.min(self.during.end).saturating_sub(span.start)
        };
        self.met(trouble).map(lasted).max()
    }

    /// Returns the time in all for which the client could reach no server.
    pub(super) fn unreachable(&self) -> Option<u64> {
        let is_off = |fault_span: &&FaultSpan| {
            keeps_off(fault_span.fault.action(), self.evidence) && self.is_to_all(fault_span)
        };
        self.united(self.met(Trouble::CutOff).filter(is_off))
    }

    /// Returns the time in all for which links of the client were broken. A link to some of the
    /// servers that it could do without when it was granted a lock, at `granted_ns`, does not count.
    pub(super) fn broken(&self, granted_ns: u64) -> Option<u64> {
        let is_needed = |fault_span: &&FaultSpan| {
            self.is_to_all(fault_span) || self.evidence.span(fault_span).start >= granted_ns
        };
        self.united(self.met(Trouble::Broken).filter(is_needed))
    }

    /// Returns true if the links of a fault lead to all servers.
    fn is_to_all(&self, fault_span: &FaultSpan) -> bool {
        let links = fault_span.fault.links();
        let to = |server| links.iter().any(|(a, b)| [*a, *b].contains(&Node::Server(server)));
        (0..self.evidence.run.info.servers).all(to)
    }

    /// Returns the time in all by which the clocks that such trouble is about ran slower or faster
    /// than they should. A clock that only jumped runs well.
    pub(super) fn ran_wrong(&self, trouble: Trouble) -> Option<u64> {
        let off = |fault_span: &FaultSpan| {
            let part = self.part(fault_span)?;
            let lasted = part.end - part.start;
            match fault_span.fault.action() {
                Action::Clock(ClockChange::Jump(_)) => None,
                Action::Clock(ClockChange::Drift(ppm)) => Some(drifted(lasted, ppm)),
                _ => Some(lasted),
            }
        };
        self.met(trouble).filter_map(off).max()
    }

    /// Returns the time by which the clock that the client's session lives on was wrong. On real
    /// servers the library of ZooKeeper pings by the machine's clock.
    pub(super) fn kept_wrong_time(&self) -> Option<u64> {
        let info = &self.evidence.run.info;
        let by_machine = info.backend != "sim" && info.ensemble().is_some();
        if by_machine { None } else { self.ran_wrong(Trouble::ClientClock) }
    }

    /// Returns the time that the clocks of servers gained because they ran fast.
    pub(super) fn gained(&self) -> Option<u64> {
        let gain = |fault_span: &FaultSpan| {
            let part = self.part(fault_span)?;
            match fault_span.fault.action() {
                Action::Clock(ClockChange::Drift(ppm)) if ppm > 0 => {
                    Some(drifted(part.end - part.start, ppm))
                }
                _ => None,
            }
        };
        self.met(Trouble::ServerClock).filter_map(gain).max()
    }

    /// Returns the time by which the clocks that such trouble is about were wrong at most.
    pub(super) fn clock_off(&self, trouble: Trouble) -> Option<u64> {
        let off = |fault_span: &FaultSpan| {
            let span = self.evidence.span(fault_span);
            let lasted = self.during.end.min(span.end).saturating_sub(span.start);
            let by_itself = match fault_span.fault.action() {
                Action::Clock(ClockChange::Jump(by)) => by.unsigned_abs(),
                Action::Clock(ClockChange::Drift(ppm)) => drifted(lasted, ppm),
                _ => lasted,
            };
            // The last of several that overlap to be healed sets right what the others have left.
            let healed = fault_span.effect.as_ref().filter(|_| span.end < self.during.end);
            by_itself.max(healed.map_or(0, |effect| effect.amount.saturating_mul(1_000)))
        };
        self.met(trouble).map(off).reduce(u64::saturating_add)
    }

    /// Returns true if the client's clock stood still at some time.
    pub(super) fn stood_still(&self) -> bool {
        let freezes = |fault_span: &FaultSpan| {
            fault_span.fault.action() == Action::Clock(ClockChange::Freeze)
        };
        self.met(Trouble::ClientClock).any(freezes)
    }

    /// The faults that had an effect and may have been in force somewhere in the span.
    fn met(&self, trouble: Trouble) -> impl Iterator<Item = &'a FaultSpan> {
        let client = self.client;
        let met = self.evidence.fault_spans_in(&self.during);
        met.filter(move |it| !it.had_none() && bears(&it.fault, trouble, client))
    }

    /// Returns the time in all for which faults were in force in the span: of several at once the
    /// time counts once.
    fn united(&self, fault_spans: impl Iterator<Item = &'a FaultSpan>) -> Option<u64> {
        let parts = fault_spans.filter_map(|fault_span| self.part(fault_span));
        let parts: Vec<(u64, u64)> = parts.map(|part| (part.start, part.end)).collect();
        (!parts.is_empty()).then(|| covered(parts))
    }

    /// Returns the part of the span in which a fault was in force.
    fn part(&self, fault_span: &FaultSpan) -> Option<Range<u64>> {
        let span = self.evidence.span(fault_span);
        let (from, to) = (span.start.max(self.during.start), span.end.min(self.during.end));
        (from <= to).then_some(from..to)
    }
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

/// Returns the error of a clock after it has drifted for a time, both in nanoseconds.
fn drifted(lasted: u64, ppm: i32) -> u64 {
    (lasted / 1_000_000).saturating_mul(u64::from(ppm.unsigned_abs()))
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
            Some(info.message_ns().saturating_mul(factor.into()))
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
