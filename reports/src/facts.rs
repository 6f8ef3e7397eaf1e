//! The facts of a history at a glance: who waited and who held when, what was read and written,
//! which faults were in force, and the numbers that follow from these. What a wait, a hold and a
//! fault is, the checkers say.

mod reader;

use base::units::rate;
use base::{Effect, Event, Fault, FaultId, Key, LeaseEnd, Mode, Run, Stall};
use reader::Reader;

/// The outcome of an acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquireOutcome {
    /// It ended with a grant.
    Granted,
    /// It ended certainly without a grant.
    Failed,
    /// It ended in doubt: nobody knows whether it was granted.
    Unknown,
    /// The history ends, or its process died, before it did.
    Open,
}

/// A client's wait for the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitSpan<'a> {
    /// The process that waited.
    pub process: u32,
    /// The lock that it waited for.
    pub key: Key,
    /// The begin of the wait, in nanoseconds.
    pub from: u64,
    /// The end of the wait, in nanoseconds.
    pub until: u64,
    /// The outcome of the acquire.
    pub answer: AcquireOutcome,
    /// The reason why it was not granted.
    pub error: Option<&'a str>,
}

/// The way in which a definite hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldEnding {
    /// Its release was sent.
    Released,
    /// The client reported that it may have lost it.
    Lost,
    /// The process died.
    Died,
    /// It went on in another mode.
    Converted,
    /// The history ends first.
    Open,
}

/// A definite hold, or the part of one in which it had the same mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldSpan {
    /// The process that held the lock.
    pub process: u32,
    /// The lock that it held.
    pub key: Key,
    /// The mode in which it held the lock.
    pub mode: Mode,
    /// The fencing token.
    pub token: Option<u64>,
    /// The begin of the hold, in nanoseconds.
    pub from: u64,
    /// The end of the hold, in nanoseconds.
    pub until: u64,
    /// The way in which the hold ended.
    pub ending: HoldEnding,
    /// The end of its lease or session, where that is known and its client believed on.
    pub ran_out: Option<LeaseEnd>,
    begins: u64,
    ends: u64,
}

impl HoldSpan {
    /// Returns true if the two may not stand at the same moment.
    pub fn conflicts(&self, other: &Self) -> bool {
        let shared = self.mode == Mode::Shared && other.mode == Mode::Shared;
        self.process != other.process && self.key == other.key && !shared
    }

    /// Returns true if an event is one of its process while it lasts, from its grant to its end.
    pub fn covers(&self, event: &Event) -> bool {
        event.client() == Some(self.process) && (self.begins..=self.ends).contains(&event.index)
    }

    /// Returns true if both stand at some index of the history. The index decides, never the time.
    pub fn meets(&self, other: &Self) -> bool {
        self.begins < other.ends && other.begins < self.ends
    }
}

/// A fault, from its begin to its heal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultTimes {
    /// The number of the fault.
    pub id: FaultId,
    /// The fault itself.
    pub fault: Fault,
    /// The time at which it came into force, or was begun if it never did.
    pub from: u64,
    /// The time at which it was healed.
    pub until: Option<u64>,
    /// The effect that was measured.
    pub effect: Option<Effect>,
}

impl FaultTimes {
    /// Returns true if it was measured to have done something.
    pub fn had_effect(&self) -> bool {
        self.effect.as_ref().is_some_and(|e| e.amount > 0)
    }
}

/// Two conflicting holds at the same time, in the lane of one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OverlapSpan {
    /// One of the two holders.
    pub process: u32,
    /// The begin of the overlap, in nanoseconds.
    pub from: u64,
    /// The end of the overlap, in nanoseconds.
    pub until: u64,
}

/// The largest numbers of pairs of holds that are compared, and of overlaps that are reported:
/// where nothing is ever released, everything overlaps everything.
const LOOKS: usize = 20_000_000;
const OVERLAPS: usize = 100_000;

/// The facts of a history.
#[derive(Clone, Debug, Default)]
pub struct HistoryFacts<'a> {
    /// The latest time of any event.
    pub end: u64,
    /// The time at which the quiet phase began.
    pub quiet: Option<u64>,
    /// True if the history reaches the end of its run.
    pub stopped: bool,
    /// The waits, by begin.
    pub waits: Vec<WaitSpan<'a>>,
    /// The definite holds, by begin.
    pub holds: Vec<HoldSpan>,
    /// Answered reads and writes, losses and deaths.
    pub marks: Vec<&'a Event>,
    /// The faults, by begin.
    pub faults: Vec<FaultTimes>,
    /// The stalls of the machine, each with its end.
    pub stalls: Vec<(Stall, u64)>,
    /// The processes and the time of their first event, in that order.
    pub births: Vec<(u32, u64)>,
}

impl<'a> HistoryFacts<'a> {
    /// Reads a run's history.
    pub fn of(run: &'a Run) -> Self {
        Reader::new(run).facts()
    }

    /// Returns the number of acquires that ended in this way.
    pub fn answered(&self, answer: AcquireOutcome) -> u64 {
        self.waits.iter().filter(|w| w.answer == answer).count() as u64
    }

    /// Returns the number of faults that were measured to have done something.
    pub fn effective_faults(&self) -> u64 {
        self.faults.iter().filter(|f| f.had_effect()).count() as u64
    }

    /// Returns the times that granted acquires took, in order, in nanoseconds.
    pub fn latencies(&self) -> Vec<u64> {
        let granted = self.waits.iter().filter(|w| w.answer == AcquireOutcome::Granted);
        let mut latencies: Vec<u64> = granted.map(|w| w.until - w.from).collect();
        latencies.sort_unstable();
        latencies
    }

    /// Returns the number of grants in a second, from the first request to the last event, as text;
    /// `None` when nobody asked.
    pub fn grant_rate(&self) -> Option<String> {
        let began = self.waits.first()?.from;
        Some(rate(self.answered(AcquireOutcome::Granted), self.end.saturating_sub(began)))
    }

    /// Returns the overlaps of conflicting holds, in the lanes of both, by begin. What is shown is
    /// what the history says; whether it breaks a promise is for the verdicts. Of very many, the
    /// first.
    pub fn overlaps(&self) -> Vec<OverlapSpan> {
        let mut found = Vec::new();
        let mut active: Vec<&HoldSpan> = Vec::new();
        let mut looks = LOOKS;
        for hold in &self.holds {
            active.retain(|other| other.ends > hold.begins);
            looks = looks.saturating_sub(active.len());
            if looks == 0 || found.len() > OVERLAPS {
                break;
            }
            for other in active.iter().filter(|other| other.conflicts(hold)) {
                let (from, until) = (hold.from, hold.until.min(other.until));
                found.push(OverlapSpan { process: hold.process, from, until });
                found.push(OverlapSpan { process: other.process, from, until });
            }
            active.push(hold);
        }
        found.sort_by_key(|o| (o.from, o.process, o.until));
        found
    }
}

/// The value below which `percent` of the sorted values lie (nearest rank); `None` of nothing.
pub fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}
