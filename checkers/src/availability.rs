//! `availability`: is the lock granted while a minority of its servers is down?
//!
//! **Decides** for a lock that promises `available`, over the fault spans that hit servers only,
//! fewer than half of them at a time: crashes, pauses, and servers cut off from each other. After
//! the bound within which the lock is granted again (an election, and another one if the members of
//! an ensemble have elected a leader that none of them follows; sessions that run out; counted from
//! the last client that went meanwhile and may have taken it along), from there to the heal,
//! somebody who asks must be granted it. If clients were asking for at least as long again, or
//! asked again and again (with pauses of a quarter of that at the most), nobody definitely held it
//! meanwhile and nobody was granted it, the anomaly is `unavailable`. A grant within the fault span
//! shows that the lock goes on, if it was asked for within the span, or came after that bound: any
//! other may have been on its way before.
//!
//! **Limits.** Most faults are shorter than that: without one that was long enough it is
//! inconclusive. Servers that are cut off one way only are not a minority that is down: those that
//! still hear them and cannot answer may elect them again and again, and no quorum promises
//! otherwise. One whose clock is wrong is not down. A lock on one server does not promise it; one
//! that is held to it all the same breaks with its only server (cause `only-server-down`).
//!
//! **Source.** Gray and Lamport's 2F + 1 servers for F faults; ZooKeeper's majority quorums; for
//! the limit, Jensen, Howard and Mortier, "Examining Raft's behaviour during partial network
//! failures" (2021).

use crate::faults::FaultSpan;
use crate::intervals::Intervals;
use crate::words::{count, decided, seconds};
use crate::{Case, Checker};
use base::{Anomaly, Cause, Node, Outcome, Verdict};
use histories::holds::Claim;
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// The availability checker.
pub struct Availability;

impl Checker for Availability {
    fn name(&self) -> &'static str {
        "availability"
    }

    fn summary(&self) -> &'static str {
        "the lock is granted while a minority of its servers is down"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        if !case.run.info.lock.promises.available {
            let why = "the lock does not promise to outlive a server";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        }
        let fault_spans = &case.fault_spans;
        let meetings =
            Intervals::of(fault_spans.iter().map(|o| (o.begin, o.healed.unwrap_or(u64::MAX))));
        let minority: Vec<&FaultSpan> = fault_spans
            .iter()
            .filter(|fault_span| hits_minority(case, &meetings, fault_span))
            .collect();
        if minority.is_empty() {
            let why = "no minority of the servers was down";
            return Verdict::new(self.name(), Outcome::Inconclusive, why);
        }
        let (mut served, mut silent) = (0, Vec::new());
        let demand = Demand::of(case);
        for fault_span in &minority {
            match demand.examine(fault_span) {
                AvailabilityFinding::Served => served += 1,
                AvailabilityFinding::Silent(witness) => silent.push(witness),
                AvailabilityFinding::TooShort => {}
            }
        }
        let times = count(minority.len() as u64, "time");
        let part = if is_alone(case) { "the only server" } else { "a minority" };
        if let Some(first) = silent.first() {
            let anomaly = unavailable(case, silent.len() as u64, *first);
            let summary = format!("down {} of {times} that {part} was", silent.len());
            let anomalies = vec![anomaly];
            return Verdict { anomalies, ..Verdict::new(self.name(), Outcome::Violated, summary) };
        }
        if served == 0 {
            let info = &case.run.info;
            let due = seconds(info.settled_ns().saturating_add(info.due_ns()));
            let why = format!("{part} was down {times}, never for the {due} that would tell");
            return Verdict::new(self.name(), Outcome::Inconclusive, why);
        }
        let summary = format!("granted {served} of {times} that {part} was down long enough");
        Verdict::new(self.name(), Outcome::Held, summary)
    }
}

/// Returns true if a server has no others that could go on without it.
fn is_alone(case: &Case<'_>) -> bool {
    case.run.info.groups().iter().any(|group| group.len() == 1)
}

/// The anomaly: its cause is the server that was down, alone or among others.
fn unavailable(case: &Case<'_>, times: u64, witness: [u64; 3]) -> Anomaly {
    let (cause, reason) = match is_alone(case) {
        true => (Cause::OnlyServerDown, "its only server was down"),
        false => (Cause::ServersApart, "a majority of its servers was up"),
    };
    let anomaly = decided("unavailable", times, witness, reason);
    Anomaly { cause: cause.into(), ..anomaly }
}

enum AvailabilityFinding {
    /// The lock was granted to somebody.
    Served,
    /// The lock was granted to nobody: the fault, the first acquire that waited, the heal.
    Silent([u64; 3]),
    /// The fault was too short for anybody to be granted the lock.
    TooShort,
}

/// Returns true if a fault hits servers only, and with all that overlap it fewer than half of them.
fn hits_minority(case: &Case<'_>, meetings: &Intervals, fault_span: &FaultSpan) -> bool {
    let until = fault_span.healed.unwrap_or(u64::MAX);
    let together = || meetings.meeting(fault_span.begin, until).map(|id| &case.fault_spans[id]);
    let unlike = |other: &FaultSpan| {
        other.clients().next().is_some() || !other.fault.spec().takes_server_down
    };
    if fault_span.had_none() || together().any(unlike) {
        return false;
    }
    let groups = case.run.info.groups();
    let down = lost(&groups, together());
    let of = |group: &[u32]| group.iter().filter(|server| down.contains(*server)).count();
    // A group of one has no minority: a lock that is held to go on has none to go on with.
    let goes_on = |group: &Vec<u32>| of(group) * 2 < group.len() || group.len() == 1;
    !down.is_empty() && groups.iter().all(goes_on)
}

/// The servers that faults take from the others. Whoever is cut off from half of its group or more
/// is not with the majority.
fn lost<'a>(
    groups: &[Vec<u32>],
    fault_spans: impl Iterator<Item = &'a FaultSpan>,
) -> BTreeSet<u32> {
    let mut down = BTreeSet::new();
    let mut cut: BTreeMap<u32, BTreeSet<Node>> = BTreeMap::new();
    for fault_span in fault_spans {
        down.extend(fault_span.fault.node().and_then(server));
        for (a, b) in fault_span.fault.links().iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
            if let Some(server) = server(a) {
                cut.entry(server).or_default().insert(b);
            }
        }
    }
    let alone = |(server, others): &(&u32, &BTreeSet<Node>)| {
        let group = groups.iter().find(|group| group.contains(*server));
        group.is_some_and(|group| others.len() * 2 >= group.len())
    };
    down.extend(cut.iter().filter(alone).map(|(server, _)| *server));
    down
}

fn server(node: Node) -> Option<u32> {
    match node {
        Node::Server(server) => Some(server),
        Node::Client(_) | Node::Vault => None,
    }
}

/// The intervals in which the lock was wanted and held, by time, in nanoseconds.
struct Demand<'c, 'a> {
    case: &'c Case<'a>,
    asking: Intervals,
    grants: Vec<&'c Claim>,
    held: Intervals,
    /// The events at which a client went, in order.
    gone: Vec<u64>,
}

impl<'c, 'a> Demand<'c, 'a> {
    fn of(case: &'c Case<'a>) -> Self {
        let claims = &case.claims.claims;
        let times = |at: std::ops::Range<u64>| (case.time(at.start), case.time(at.end));
        let mut gone: Vec<u64> = claims.iter().filter_map(Claim::gone_at).collect();
        gone.sort_unstable();
        Self {
            case,
            asking: Intervals::of(claims.iter().map(|claim| times(claim.asking()))),
            grants: case.granted_in(0..u64::MAX).collect(),
            held: Intervals::of(case.claims.grants().filter_map(Claim::definite).map(times)),
            gone,
        }
    }

    fn examine(&self, fault_span: &FaultSpan) -> AvailabilityFinding {
        let case = self.case;
        let due = case.run.info.due_ns();
        let Some(healed) = fault_span.healed else { return AvailabilityFinding::TooShort };
        let (begin, to) = (fault_span.shown_at(), case.time(healed));
        let first = self.grants.partition_point(|claim| claim.granted() <= Some(begin));
        let settled = case.time(begin).saturating_add(case.run.info.settled_ns());
        let times = |claim: &&Claim| claim.granted().map(|ok| (claim.invoke, case.time(ok)));
        let mut granted = self.grants[first..].iter().filter_map(times).take_while(|it| it.1 < to);
        // The server that is down may have had its part in what was on its way by then.
        if granted.any(|(invoke, ok)| invoke > begin || ok >= settled) {
            return AvailabilityFinding::Served;
        }
        // Whoever went meanwhile may have taken the lock with him.
        let meanwhile = self.gone.partition_point(|at| case.time(*at) < to);
        let gone = self.gone[..meanwhile].last().filter(|at| **at > begin).unwrap_or(&begin);
        let from = case.time(*gone).saturating_add(case.run.info.settled_ns());
        // What only touches the span is no part of it.
        let (after, before) = (from.saturating_add(1), to.saturating_sub(1));
        let held = self.held.meeting(after, before).next().is_some();
        let asked: Vec<&Claim> =
            self.asking.meeting(after, before).map(|id| &case.claims.claims[id]).collect();
        let times = asked.iter().map(|claim| {
            let asking = claim.asking();
            (case.time(asking.start).max(from), case.time(asking.end).min(to))
        });
        match asked.iter().min_by_key(|claim| claim.invoke) {
            Some(first) if !held && longest(times, due / 4) >= due => {
                let mut witness = [begin, first.invoke, healed];
                witness.sort_unstable();
                AvailabilityFinding::Silent(witness)
            }
            _ => AvailabilityFinding::TooShort,
        }
    }
}

/// The length of the longest of these intervals, in the order of their begins, if those no further
/// apart than `pause` count as one.
fn longest(intervals: impl Iterator<Item = (u64, u64)>, pause: u64) -> u64 {
    let (mut longest, mut current): (u64, Option<(u64, u64)>) = (0, None);
    for (begin, end) in intervals {
        let joined = match current {
            Some((first, last)) if begin <= last.saturating_add(pause) => (first, last.max(end)),
            _ => (begin, end),
        };
        longest = longest.max(joined.1.saturating_sub(joined.0));
        current = Some(joined);
    }
    longest
}
