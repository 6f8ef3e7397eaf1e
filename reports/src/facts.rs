//! What a history shows at a glance: who waited and who held when, what was read and written,
//! which faults were in force, and the numbers that follow from these.

mod reader;

use base::units::rate;
use base::{Effect, Event, Fault, FaultId, LeaseEnd, Leases, Mode, Run};
use reader::Reader;

/// How an acquire ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// With a grant.
    Granted,
    /// Certainly without.
    Failed,
    /// Nobody knows.
    Unknown,
    /// The history ends, or its process died, before it did.
    Open,
}

/// A client's wait for the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait<'a> {
    /// Who.
    pub process: u32,
    /// For which lock.
    pub key: &'a str,
    /// Since when.
    pub from: u64,
    /// Until when.
    pub until: u64,
    /// How it ended.
    pub answer: Answer,
    /// Why it was not granted.
    pub error: Option<&'a str>,
}

/// How a definite hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its release was sent.
    Released,
    /// The client said that it may have lost it.
    Lost,
    /// The process died.
    Died,
    /// The history ends first.
    Open,
}

/// A definite hold: from the grant to the begin of its release, to `lost` or to death.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold<'a> {
    /// Who.
    pub process: u32,
    /// Which lock.
    pub key: &'a str,
    /// How.
    pub mode: Mode,
    /// The fencing token.
    pub token: Option<u64>,
    /// Since when.
    pub from: u64,
    /// Until when.
    pub until: u64,
    /// How it ended.
    pub ending: Ending,
    /// When its lease or session had ended, where that is known and its client believed on.
    pub ran_out: Option<LeaseEnd>,
    begins: u64,
    ends: u64,
}

impl Hold<'_> {
    /// Whether the two may not stand at the same moment.
    pub fn conflicts(&self, other: &Self) -> bool {
        let shared = self.mode == Mode::Shared && other.mode == Mode::Shared;
        self.process != other.process && self.key == other.key && !shared
    }

    /// Whether both stand at some index of the history. The index decides, never the time.
    pub fn meets(&self, other: &Self) -> bool {
        self.begins < other.ends && other.begins < self.ends
    }
}

/// A fault, from its begin to its heal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultSpan<'a> {
    /// Its number.
    pub id: FaultId,
    /// What.
    pub fault: &'a Fault,
    /// When it was in force, or was begun if it never came to be.
    pub from: u64,
    /// When it was healed.
    pub until: Option<u64>,
    /// What it was measured to have done.
    pub effect: Option<&'a Effect>,
}

impl FaultSpan<'_> {
    /// Whether it was measured to have done something.
    pub fn had_effect(&self) -> bool {
        self.effect.is_some_and(|e| e.amount > 0)
    }
}

/// Two conflicting holds at the same time, in the lane of one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Overlap {
    /// One of the two holders.
    pub process: u32,
    /// Since when.
    pub from: u64,
    /// Until when.
    pub until: u64,
}

/// How many pairs of holds are compared, and how many overlaps are told, at the most: where nothing is
/// ever released, everything overlaps everything.
const LOOKS: usize = 20_000_000;
const OVERLAPS: usize = 100_000;

/// What a history shows.
#[derive(Clone, Debug, Default)]
pub struct Facts<'a> {
    /// The latest time of any event.
    pub end: u64,
    /// When the quiet phase began.
    pub quiet: Option<u64>,
    /// Whether the history reaches the end of its run.
    pub stopped: bool,
    /// The waits, by begin.
    pub waits: Vec<Wait<'a>>,
    /// The definite holds, by begin.
    pub holds: Vec<Hold<'a>>,
    /// Answered reads and writes, losses and deaths.
    pub marks: Vec<&'a Event>,
    /// The faults, by begin.
    pub faults: Vec<FaultSpan<'a>>,
    /// The processes and the time of their first event, in that order.
    pub births: Vec<(u32, u64)>,
}

impl<'a> Facts<'a> {
    /// Reads a run's history once.
    pub fn of(run: &'a Run) -> Self {
        let mut reader = Reader::new(Leases::of(run));
        for event in run.history.events() {
            reader.read(event);
        }
        // A foreign history need not be in the order of its times.
        reader.finish(run.history.events().iter().map(|e| e.time).max().unwrap_or(0))
    }

    /// How many acquires ended in this way.
    pub fn answered(&self, answer: Answer) -> u64 {
        self.waits.iter().filter(|w| w.answer == answer).count() as u64
    }

    /// How many faults were measured to have done something.
    pub fn effective_faults(&self) -> u64 {
        self.faults.iter().filter(|f| f.had_effect()).count() as u64
    }

    /// How long granted acquires took, in order.
    pub fn latencies(&self) -> Vec<u64> {
        let granted = self.waits.iter().filter(|w| w.answer == Answer::Granted);
        let mut latencies: Vec<u64> = granted.map(|w| w.until - w.from).collect();
        latencies.sort_unstable();
        latencies
    }

    /// How many grants there were in a second, from the first request to the last event; `None`
    /// when nobody asked.
    pub fn grant_rate(&self) -> Option<String> {
        let began = self.waits.first()?.from;
        Some(rate(self.answered(Answer::Granted), self.end.saturating_sub(began)))
    }

    /// Where conflicting holds meet, in the lanes of both, by begin. What is shown is what the
    /// history says; whether it breaks a promise is for the verdicts. Of very many, the first.
    pub fn overlaps(&self) -> Vec<Overlap> {
        let mut found = Vec::new();
        let mut active: Vec<&Hold> = Vec::new();
        let mut looks = LOOKS;
        for hold in &self.holds {
            active.retain(|other| other.ends > hold.begins);
            looks = looks.saturating_sub(active.len());
            if looks == 0 || found.len() > OVERLAPS {
                break;
            }
            for other in active.iter().filter(|other| other.conflicts(hold)) {
                let (from, until) = (hold.from, hold.until.min(other.until));
                found.push(Overlap { process: hold.process, from, until });
                found.push(Overlap { process: other.process, from, until });
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
