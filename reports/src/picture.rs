//! The picture of a witness, before anybody draws it: a lane for each process involved, its waits
//! and holds, what it did, and the faults that stood over it. The terminal draws it in characters,
//! the page as SVG.

use crate::facts::{FaultTimes, HistoryFacts, HoldSpan};
use crate::names::Speaker;
use base::{Event, F, FaultId, Kind, Mode, Node, Run};

/// The most lanes and bands that a picture can carry before nobody reads it any more.
#[derive(Clone, Copy, Debug)]
pub struct PictureLimits {
    /// Lanes of processes.
    pub lanes: usize,
    /// Bands of faults.
    pub bands: usize,
}

/// An interval of time in a lane, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The begin of the interval, in nanoseconds.
    pub from: u64,
    /// The end of the interval, in nanoseconds.
    pub until: u64,
}

/// The meaning of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// A read that the vault served.
    Read,
    /// A write that the vault applied.
    Write,
    /// A read or write that the vault refused.
    Fenced,
    /// A read or write of unknown outcome.
    Unknown,
    /// The client doubted its hold, and went on.
    Doubt,
    /// The client gave the lock up for lost.
    Lost,
    /// The process died.
    Death,
}

/// A mark for what happened at one moment in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The time of the event, in nanoseconds.
    pub at: u64,
    /// The meaning of the mark.
    pub sign: MarkKind,
    /// The index of the event.
    pub index: u64,
    /// The witness names it.
    pub named: bool,
}

/// The lane of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The number of the process.
    pub process: u32,
    /// The name of the process.
    pub label: String,
    /// The intervals in which it waited for the lock.
    pub waits: Vec<Interval>,
    /// The intervals in which it held the lock, each with its mode.
    pub holds: Vec<(Interval, Mode)>,
    /// The intervals in which it believed in a hold whose lease had run out.
    pub unleased: Vec<Interval>,
    /// The times at which these leases ran out.
    pub lease_ends: Vec<u64>,
    /// The marks of what it did meanwhile.
    pub marks: Vec<Mark>,
}

/// A fault, over the lanes that it hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The fault's number.
    pub id: FaultId,
    /// The name of its kind.
    pub kind: &'static str,
    /// The name of the fault.
    pub label: String,
    /// The interval in which it was in force.
    pub interval: Interval,
    /// The lanes that it hit, by place; none for a fault of servers alone.
    pub lanes: Vec<usize>,
}

/// A picture of the events around an anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The part of the run that it shows.
    pub window: Interval,
    /// The lanes, by first appearance in the witness.
    pub lanes: Vec<Lane>,
    /// The bands of the faults.
    pub bands: Vec<Band>,
    /// The intervals in which conflicting holds of these lanes meet.
    pub overlaps: Vec<Interval>,
    /// Processes of the witness that found no place.
    pub hidden: usize,
}

/// Lays out the picture of a witness; `None` when no client is part of it.
pub fn picture(
    run: &Run,
    facts: &HistoryFacts<'_>,
    witness: &[u64],
    limits: PictureLimits,
) -> Option<Picture> {
    let events: Vec<&Event> = witness.iter().filter_map(|i| run.history.get(*i)).collect();
    let all = processes(&events);
    let shown = &all[..all.len().min(limits.lanes)];
    if shown.is_empty() {
        return None;
    }
    let window = window(&events, facts, shown);
    let speaker = Speaker::new(&run.info);
    let lanes: Vec<Lane> =
        shown.iter().map(|p| lane(*p, speaker, facts, witness, window)).collect();
    let bands = bands(&events, facts, speaker, &lanes, window, limits.bands);
    Some(Picture {
        window,
        bands,
        overlaps: overlaps(facts, shown, window),
        hidden: all.len() - shown.len(),
        lanes,
    })
}

fn processes(events: &[&Event]) -> Vec<u32> {
    let mut seen = Vec::new();
    for process in events.iter().filter_map(|e| e.client()) {
        if !seen.contains(&process) {
            seen.push(process);
        }
    }
    seen
}

/// Returns the interval from the first event of the witness to its last, then on through the holds
/// that stand at its end (an overlap that is cut off where it begins could not be seen), and a
/// margin.
fn window(events: &[&Event], facts: &HistoryFacts<'_>, shown: &[u32]) -> Interval {
    let first = events.iter().map(|e| e.time_ns).min().unwrap_or(0);
    let last = events.iter().map(|e| e.time_ns).max().unwrap_or(0);
    let open = facts.holds.iter().filter(|h| shown.contains(&h.process));
    let open = open.filter(|h| h.from <= last && h.until > last);
    let wanted = open.map(|h| h.until).min().unwrap_or(last);
    let reach = ((last - first) * 6 / 10).max(20_000_000);
    let until = wanted.min(last.saturating_add(reach));
    let margin = ((until - first) / 20).max(1_000_000);
    Interval { from: first.saturating_sub(margin), until: until.saturating_add(margin) }
}

fn lane(
    process: u32,
    speaker: Speaker,
    facts: &HistoryFacts<'_>,
    witness: &[u64],
    window: Interval,
) -> Lane {
    let waits = facts.waits.iter().filter(|w| w.process == process);
    let holds = facts.holds.iter().filter(|h| h.process == process);
    let expired = holds.clone().filter_map(|h| Some((h.ran_out?.at_ns, h)));
    let ends = expired.clone().map(|(at, _)| at);
    let marks = facts.marks.iter().filter(|e| e.client() == Some(process));
    Lane {
        process,
        label: speaker.process(process),
        waits: waits.filter_map(|w| clip(w.from, w.until, window)).collect(),
        holds: holds.filter_map(|h| Some((clip(h.from, h.until, window)?, h.mode))).collect(),
        unleased: expired.filter_map(|(at, h)| clip(at.max(h.from), h.until, window)).collect(),
        lease_ends: ends.filter(|at| (window.from..=window.until).contains(at)).collect(),
        marks: marks
            .filter(|e| (window.from..=window.until).contains(&e.time_ns))
            .map(|e| mark(e, witness))
            .collect(),
    }
}

fn mark(event: &Event, witness: &[u64]) -> Mark {
    Mark {
        at: event.time_ns,
        sign: sign(event),
        index: event.index,
        named: witness.contains(&event.index),
    }
}

/// Returns the meaning of this event's mark.
pub fn sign(event: &Event) -> MarkKind {
    match (event.f, event.kind) {
        (F::Death, _) => MarkKind::Death,
        (F::Lost, _) => MarkKind::Lost,
        (F::Doubt, _) => MarkKind::Doubt,
        (_, Kind::Fail) => MarkKind::Fenced,
        (F::Read, Kind::Ok) => MarkKind::Read,
        (F::Write, Kind::Ok) => MarkKind::Write,
        _ => MarkKind::Unknown,
    }
}

fn clip(from: u64, until: u64, window: Interval) -> Option<Interval> {
    (from <= window.until && until >= window.from)
        .then(|| Interval { from: from.max(window.from), until: until.min(window.until) })
}

/// The faults that the witness names come first, then those that stood over its lanes or over a
/// server, by begin.
fn bands(
    events: &[&Event],
    facts: &HistoryFacts<'_>,
    speaker: Speaker,
    lanes: &[Lane],
    window: Interval,
    limit: usize,
) -> Vec<Band> {
    let named = |f: &FaultTimes| {
        events.iter().any(|e| e.fault.as_ref().is_some_and(|fault| fault.id == f.id))
    };
    let mut found: Vec<(bool, Band)> = Vec::new();
    for fault in &facts.faults {
        let Some(interval) = clip(fault.from, fault.until.unwrap_or(facts.end), window) else {
            continue;
        };
        let hit = lanes_hit(fault, speaker, lanes);
        if named(fault) || !hit.is_empty() || only_servers(fault) {
            let (id, kind, label) =
                (fault.id, fault.fault.family().name(), fault.fault.to_string());
            found.push((!named(fault), Band { id, kind, label, interval, lanes: hit }));
        }
    }
    found.sort_by_key(|(unnamed, band)| (*unnamed, band.interval.from));
    found.truncate(limit);
    found.sort_by_key(|(_, band)| band.interval.from);
    found.into_iter().map(|(_, band)| band).collect()
}

fn lanes_hit(fault: &FaultTimes, speaker: Speaker, lanes: &[Lane]) -> Vec<usize> {
    let nodes = fault.fault.nodes();
    let hit = |lane: &Lane| nodes.contains(&Node::Client(speaker.client(lane.process)));
    lanes.iter().enumerate().filter(|(_, lane)| hit(lane)).map(|(at, _)| at).collect()
}

fn only_servers(fault: &FaultTimes) -> bool {
    fault.fault.nodes().iter().all(|node| matches!(node, Node::Server(_)))
}

/// Returns the intervals in which conflicting holds of the shown processes meet within the window,
/// merged.
fn overlaps(facts: &HistoryFacts<'_>, shown: &[u32], window: Interval) -> Vec<Interval> {
    let inside =
        |h: &&HoldSpan| shown.contains(&h.process) && clip(h.from, h.until, window).is_some();
    let holds: Vec<&HoldSpan> = facts.holds.iter().filter(inside).collect();
    let mut merged: Vec<Interval> = Vec::new();
    for (i, hold) in holds.iter().enumerate() {
        let met = holds[..i].iter().filter(|other| other.conflicts(hold) && other.meets(hold));
        for other in met {
            let both = clip(hold.from, hold.until.min(other.until), window);
            merged.extend(both);
        }
    }
    merge(merged)
}

fn merge(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_by_key(|s| s.from);
    let mut merged: Vec<Interval> = Vec::new();
    for next in intervals {
        match merged.last_mut() {
            Some(last) if next.from <= last.until => last.until = last.until.max(next.until),
            _ => merged.push(next),
        }
    }
    merged
}
