//! The facts of a run that several checkers need, read once for all.

use crate::bypass::{self, Bypass, Bypasses};
use crate::calm::Calm;
use crate::faults::FaultSpan;
use crate::groups::Groups;
use crate::intervals::Intervals;
use crate::phase::QuietPhase;
use base::{Event, F, Facts, Leases, Run};
use hashbrown::HashMap;
use histories::holds::{Claim, Claims};
use histories::line_sweep::{Conflict, Rule, conflicts};
use rustc_hash::FxBuildHasher;
use std::cell::OnceCell;
use std::ops::Range;

/// A run with what has been read from it.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The run with its history.
    pub run: &'a Run,
    /// The claims: who asked for and held which lock, and under which grant the vault was touched.
    pub claims: Claims,
    /// The overlapping beliefs of clients that a read/write lock forbids.
    pub conflicts: Vec<Conflict>,
    /// The faults of the run.
    pub fault_spans: Vec<FaultSpan>,
    /// The phase in which progress is due, or why there is none.
    pub(crate) phase: Result<QuietPhase, &'static str>,
    /// The ends of leases and sessions. Made when it is first asked for, as is all below: most runs
    /// break nothing.
    leases: OnceCell<Leases>,
    /// The claims by key and request.
    asked: OnceCell<Groups>,
    /// The claims by key and answer.
    answered: OnceCell<Groups>,
    /// The intervals that no fault disturbs.
    calm: OnceCell<Calm<'a>>,
    /// The acquires that were overtaken.
    bypasses: OnceCell<Bypasses>,
    /// The wake-ups of each process.
    wakes: OnceCell<WokenAt>,
    /// The times of the faults.
    fault_span_times: OnceCell<Intervals>,
    /// The definite holds, by the numbers of their claims.
    holds: OnceCell<Intervals>,
    /// True if a grant has reported its place in the queue.
    tells_places: OnceCell<bool>,
}

/// The events at which each process was woken, by process.
type WokenAt = HashMap<u32, Vec<u64>, FxBuildHasher>;

impl<'a> Evidence<'a> {
    /// Reads a run.
    pub fn of(run: &'a Run) -> Self {
        let claims = Claims::of(&run.history);
        let rule = match run.info.lock.promises.permits {
            1 => Rule::Others,
            permits => Rule::Permits(permits),
        };
        let conflicts = conflicts(&claims, rule);
        let events = || claims.run_events.iter().filter_map(|at| run.history.get(*at));
        let (fault_spans, phase) = (FaultSpan::of(events()), QuietPhase::of(events()));
        Self {
            run,
            claims,
            conflicts,
            fault_spans,
            phase,
            leases: OnceCell::new(),
            asked: OnceCell::new(),
            answered: OnceCell::new(),
            calm: OnceCell::new(),
            bypasses: OnceCell::new(),
            wakes: OnceCell::new(),
            fault_span_times: OnceCell::new(),
            holds: OnceCell::new(),
            tells_places: OnceCell::new(),
        }
    }

    /// The claims of a key with their numbers, in the order of their requests.
    pub(crate) fn asked(
        &self,
        key: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &Claim)> + Clone {
        let groups = self.asked.get_or_init(|| Groups::by_request(&self.claims));
        groups.of_key(&self.claims.claims, key)
    }

    /// The claims of a key that were granted with their numbers, in the order of the grants.
    pub(crate) fn granted(
        &self,
        key: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &Claim)> + Clone {
        let groups = self.answered.get_or_init(|| Groups::by_answer(&self.claims));
        let answered = groups.of_key(&self.claims.claims, key);
        answered.filter(|(_, claim)| claim.granted().is_some())
    }

    /// The claims that were granted in an interval of the history, in the order of the grants.
    pub(crate) fn granted_in(&self, interval: Range<u64>) -> impl Iterator<Item = &Claim> {
        let Claims { claims, answered, .. } = &self.claims;
        let claim = |id: &u32| &claims[*id as usize];
        let first = answered.partition_point(|id| claim(id).asking().end < interval.start);
        let later = answered[first..].iter().map(claim);
        later
            .take_while(move |claim| claim.asking().end < interval.end)
            .filter(|claim| claim.granted().is_some())
    }

    /// The claims of a key that held it right after an event, in the order of their grants.
    pub(crate) fn holders(&self, key: usize, at: u64) -> Vec<&Claim> {
        let Claims { claims, .. } = &self.claims;
        let holds = self.holds.get_or_init(|| {
            // An end is no part of a hold, and what was never granted is met nowhere.
            let last = |hold: Range<u64>| (hold.start, hold.end.saturating_sub(1));
            Intervals::of(claims.iter().map(|claim| claim.definite().map_or((u64::MAX, 0), last)))
        });
        let met = holds.meeting(at, at).map(|id| &claims[id]);
        met.filter(|claim| claim.key == key).collect()
    }

    /// The intervals of the run that nothing disturbs.
    pub(crate) fn calm(&self) -> &Calm<'a> {
        self.calm.get_or_init(|| Calm::of(self.run, &self.claims, &self.fault_spans))
    }

    /// Returns the acquires that were overtaken.
    pub(crate) fn bypasses(&self) -> &Bypasses {
        self.bypasses.get_or_init(|| bypass::bypasses(&self.run.info, &self.claims))
    }

    /// Returns true if the store woke a process in an interval of the history.
    pub(crate) fn woken(&self, process: u32, during: Range<u64>) -> bool {
        self.last_woken(process, during).is_some()
    }

    /// Returns true if the store woke an acquire after it was first overtaken.
    pub(crate) fn woken_since(&self, bypass: &Bypass) -> bool {
        let claim = &self.claims.claims[bypass.claim];
        self.woken(claim.process, bypass.first..claim.asking().end)
    }

    /// Returns the last event at which the store woke a process in an interval of the history.
    pub(crate) fn last_woken(&self, process: u32, during: Range<u64>) -> Option<u64> {
        let wakes = self.wakes.get_or_init(|| {
            let mut wakes = WokenAt::default();
            let events = self.run.history.events().iter();
            for event in events.filter(|event| event.f == F::Notified) {
                if let Some(who) = event.client() {
                    wakes.entry(who).or_default().push(event.index);
                }
            }
            wakes
        });
        let wakes = wakes.get(&process)?;
        let later = wakes.partition_point(|at| *at < during.end);
        wakes[..later].last().copied().filter(|at| *at >= during.start)
    }

    /// The faults that were, or may have been, in force in a span of time, in nanoseconds.
    pub(crate) fn fault_spans_in(
        &self,
        during_ns: &Range<u64>,
    ) -> impl Iterator<Item = &FaultSpan> {
        let spans = self.fault_span_times.get_or_init(|| {
            Intervals::of(self.fault_spans.iter().map(|fault_span| {
                let span = self.span(fault_span);
                (span.start, span.end)
            }))
        });
        spans.meeting(during_ns.start, during_ns.end).map(|id| &self.fault_spans[id])
    }

    /// The span in which a fault was in force, in nanoseconds; open-ended when it was never healed.
    pub(crate) fn span(&self, fault_span: &FaultSpan) -> Range<u64> {
        self.time(fault_span.begin)..fault_span.healed.map_or(u64::MAX, |healed| self.time(healed))
    }

    /// Returns the ends of the leases and sessions behind grants.
    pub(crate) fn leases(&self) -> &Leases {
        self.leases.get_or_init(|| Leases::of(self.run))
    }

    /// The time of an event, in nanoseconds; of one that is not in the history, its end.
    pub(crate) fn time(&self, at: u64) -> u64 {
        let history = &self.run.history;
        history.get(at).map_or(history.end(), |event| event.time_ns)
    }

    /// Returns true if a grant has reported its place in the queue: clients that report none prove
    /// nothing about who has one.
    pub(crate) fn tells_places(&self) -> bool {
        let place = |claim: &Claim| self.facts(claim.granted()?)?.place;
        *self.tells_places.get_or_init(|| self.claims.grants().any(|it| place(it).is_some()))
    }

    /// The stalls of the machine, in order.
    pub(crate) fn stalls(&self) -> impl Iterator<Item = &'a Event> {
        let events = self.claims.run_events.iter().filter_map(|at| self.run.history.get(*at));
        events.filter(|event| event.f == F::Stall)
    }

    /// Returns the first event at which somebody else did something to a server or a client.
    pub fn interference(&self) -> Option<&'a Event> {
        let events = self.claims.run_events.iter().filter_map(|at| self.run.history.get(*at));
        events.into_iter().find(|event| event.f == F::Interference)
    }

    /// Returns the facts that the store gave with an answer.
    pub fn facts(&self, at: u64) -> Option<&'a Facts> {
        self.run.history.get(at)?.facts.as_deref()
    }
}
