//! The normal form of *belief*: who asked for which lock, who got it, and what ended it.
//!
//! Every request for a lock becomes one [`Claim`]. A **definite hold** runs from the `ok` of the
//! acquire to whichever comes first: the `invoke` of its release (whatever its outcome), the
//! client's own `lost` notice, or the death of its process. A ttl that has run out ends nothing,
//! because the client still believes. An acquire that failed gave nothing; one of unknown outcome
//! (`info`, or open when its process died) may have given the lock and is no definite hold.
//!
//! An upgrade makes a hold exclusive at its `ok`, a downgrade makes it shared at its `invoke`
//! already, whatever its outcome: the weaker hold is kept throughout.
//!
//! A history that no run of ours would write does no harm: an answer without its question opens a
//! claim of its own, and whatever ends a hold that is not open is passed over. A process that
//! acquires again what it holds has two claims, of which a release ends the later one.

use crate::line_sweep::{HoldChange, Holder};
use base::{F, History, Key, Kind, LeaseEnd, Leases, Mode, Removed};
use std::ops::Range;

mod tracker;

use tracker::ClaimTracker;

/// The answer to an acquire, with its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquireAnswer {
    /// The history ends before the answer.
    Open,
    /// The client got the lock.
    Granted(u64),
    /// The client certainly did not get it.
    Failed(u64),
    /// The answer is in doubt; the process number ends here.
    Unknown(u64),
}

/// The way in which a definite hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client asked for its release.
    Released,
    /// The client reported that it may have lost the lock.
    Lost,
    /// The process died.
    Death,
}

/// The end of a definite hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldEnd {
    /// The index of the event that ended it.
    pub at: u64,
    /// The way in which it ended.
    pub how: Ending,
}

/// One request of one process for one lock, and what came of it. Places are event indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The process that asked.
    pub process: u32,
    /// The lock, as an index into [`Claims::keys`].
    pub key: usize,
    /// The mode in which it was asked for; a conversion changes it from then on.
    pub mode: Mode,
    /// The number of permits that it asks for, and holds if it is granted.
    pub permits: u32,
    /// The fencing token of the grant.
    pub token: Option<u64>,
    /// The `invoke` of the acquire.
    pub invoke: u64,
    /// The answer to the acquire.
    pub answer: AcquireAnswer,
    /// The end of the hold. `None`: nothing ended it, or it was never granted.
    pub end: Option<HoldEnd>,
    /// The `invoke` of its release, which may come after its end: clients free what they have lost.
    pub freeing: Option<u64>,
    /// The outcome of the release, with its index; `Info` also when its process died before.
    pub freed: Option<(u64, Kind)>,
    /// The removal that the store reported for the release.
    pub removed: Option<Removed>,
}

impl Claim {
    /// Returns the process, the lock and the permits, as the holder if it is granted.
    pub fn holder(&self) -> Holder {
        Holder { process: self.process, key: self.key, permits: self.permits }
    }

    /// The `ok` of the acquire, if it was granted.
    pub fn granted(&self) -> Option<u64> {
        match self.answer {
            AcquireAnswer::Granted(at) => Some(at),
            _ => None,
        }
    }

    /// The definite hold; it runs to `u64::MAX` when nothing ended it.
    pub fn definite(&self) -> Option<Range<u64>> {
        self.granted().map(|ok| ok..self.end.map_or(u64::MAX, |end| end.at))
    }

    /// Returns the interval from the request to the answer that was not a grant, or to the end of
    /// the hold: the client is waiting for the lock or holds it.
    pub fn wanted(&self) -> Range<u64> {
        let end = match self.answer {
            AcquireAnswer::Open => u64::MAX,
            AcquireAnswer::Granted(_) => self.end.map_or(u64::MAX, |end| end.at),
            AcquireAnswer::Failed(at) | AcquireAnswer::Unknown(at) => at,
        };
        self.invoke..end
    }

    /// The last event before `until` at which its client may have left the lock taken: the end of
    /// its hold and of its release, and an answer that leaves the outcome open.
    pub fn left_at(&self, until: u64) -> Option<u64> {
        let held = self.end.map(|end| end.at);
        let unknown = match self.answer {
            AcquireAnswer::Unknown(at) => Some(at),
            _ => None,
        };
        let freed = self.freed.map(|(at, _)| at);
        [held, unknown, freed].into_iter().flatten().filter(|at| *at < until).max()
    }

    /// Returns the event at which its client went without having freed it for certain: it died,
    /// believed the lock lost, or its acquire or release ended in doubt. The lock may still count
    /// it as the holder.
    pub fn gone_at(&self) -> Option<u64> {
        let unfreed = self.freed.filter(|(_, kind)| *kind == Kind::Info).map(|(at, _)| at);
        let silent = self.end.filter(|end| end.how != Ending::Released).map(|end| end.at);
        match self.answer {
            AcquireAnswer::Unknown(at) => Some(at),
            _ => silent.or(unfreed),
        }
    }

    /// Returns the end of the lease behind the grant, if its client believed in it for longer.
    pub fn outlived(&self, history: &History, leases: &Leases) -> Option<LeaseEnd> {
        let end = self.end.and_then(|end| history.get(end.at));
        let until = end.map_or(u64::MAX, |event| event.time_ns);
        leases.end(history.get(self.granted()?)?).filter(|end| end.at_ns < until)
    }

    /// Returns the interval from the request to its answer.
    pub fn asking(&self) -> Range<u64> {
        let end = match self.answer {
            AcquireAnswer::Open => u64::MAX,
            AcquireAnswer::Granted(at) | AcquireAnswer::Failed(at) | AcquireAnswer::Unknown(at) => {
                at
            }
        };
        self.invoke..end
    }
}

/// A release by a process that was never granted the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrayRelease {
    /// The process that freed it.
    pub process: u32,
    /// The lock, as an index into [`Claims::keys`].
    pub key: usize,
    /// Its `invoke`.
    pub invoke: u64,
    /// Its outcome, with its index; `None`: the history ends before it.
    pub freed: Option<(u64, Kind)>,
    /// The removal that the store reported.
    pub removed: Option<Removed>,
}

/// All claims of a history, by their `invoke`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The locks, in the order in which the history names them.
    pub keys: Vec<Key>,
    /// The claims, in the order of their requests.
    pub claims: Vec<Claim>,
    /// The releases that no claim of their process belongs to, in order.
    pub strays: Vec<StrayRelease>,
    /// The begins, mode changes and ends of definite holds, in order; a hold has the number of its
    /// claim.
    pub changes: Vec<HoldChange>,
    /// Every read and write of the vault, in order.
    pub accesses: Vec<Access>,
    /// The claims that were answered, in the order of their answers.
    pub answered: Vec<u32>,
    /// The events of the run itself, in order: its faults and its phases.
    pub run_events: Vec<u64>,
    /// The processes that were granted something, and how often.
    pub holders: Vec<(u32, u64)>,
}

/// A read or a write of the vault (its begin or its answer, or its late arrival), and the grant it
/// belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The index of the event.
    pub at: u64,
    /// The process that touches the vault.
    pub process: u32,
    /// The lock that guards what is touched, as an index into [`Claims::keys`].
    pub key: u32,
    /// The latest grant of its process at this place, held or not; of a late arrival, the one under
    /// which it was sent, if the history says that.
    pub grant: Option<u32>,
    /// The operation: a read or a write.
    pub f: F,
    /// Its begin or its answer.
    pub kind: Kind,
    /// The mode in which its process held the lock, if the history says that.
    pub mode: Option<Mode>,
}

/// A definite hold, or the part of one in which it has the same mode. Places are event indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the claim.
    pub claim: usize,
    /// The mode in which the lock is held.
    pub mode: Mode,
    /// The begin of the part.
    pub from: u64,
    /// The end of the part; `u64::MAX` when nothing ended it.
    pub until: u64,
}

impl Claims {
    /// Reads a whole history.
    pub fn of(history: &History) -> Self {
        let mut tracker = ClaimTracker::with_room(history.events().len());
        history.events().iter().for_each(|event| tracker.step(event));
        tracker.finish()
    }

    /// The definite holds in parts of one mode each, by their begin.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let mut latest: Vec<Option<usize>> = vec![None; self.claims.len()];
        for HoldChange { at, hold, to } in &self.changes {
            let claim = *hold as usize;
            if let Some(part) = latest[claim].map(|place| &mut parts[place]) {
                if *to == Some(part.mode) {
                    continue;
                }
                part.until = *at;
            }
            if let Some(mode) = *to {
                latest[claim] = Some(parts.len());
                parts.push(Part { claim, mode, from: *at, until: u64::MAX });
            }
        }
        parts
    }

    /// The claim that was granted at this event.
    pub fn granted_at(&self, ok: u64) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.granted() == Some(ok))
    }

    /// Returns the number of grants.
    pub fn granted(&self) -> u64 {
        self.holders.iter().map(|(_, grants)| grants).sum()
    }

    /// The claims that were granted.
    pub fn grants(&self) -> impl Iterator<Item = &Claim> + Clone {
        self.claims.iter().filter(|claim| claim.granted().is_some())
    }
}
