//! Gives what the checkers read from a history its times: a picture is drawn along the clock.

use super::{AcquireOutcome, FaultTimes, HistoryFacts, HoldEnding, HoldSpan, WaitSpan};
use base::{Event, F, History, Kind, Leases, Run, Stall};
use checkers::faults::FaultSpan;
use histories::holds::{self, Claim, Claims, Part};
use std::collections::BTreeSet;

/// A run, the claims of its history, and the time at which this ends.
pub(super) struct Reader<'a> {
    history: &'a History,
    leases: Leases,
    claims: Claims,
    end: u64,
}

impl<'a> Reader<'a> {
    pub fn new(run: &'a Run) -> Self {
        let history = &run.history;
        // A foreign history need not be in the order of its times.
        let end = history.events().iter().map(|event| event.time_ns).max().unwrap_or(0);
        Self { history, leases: Leases::of(run), claims: Claims::of(history), end }
    }

    pub fn facts(&self) -> HistoryFacts<'a> {
        let events = self.history.events().iter();
        let quiet = self.run_events().rfind(|event| event.f == F::Quiet);
        HistoryFacts {
            end: self.end,
            quiet: quiet.map(|event| event.time_ns),
            stopped: self.run_events().any(|event| event.f == F::Stop),
            waits: self.claims.claims.iter().map(|claim| self.wait(claim)).collect(),
            holds: self.claims.parts().iter().map(|part| self.hold(part)).collect(),
            marks: events.filter(|event| is_mark(event)).collect(),
            faults: FaultSpan::of(self.run_events()).into_iter().map(|it| self.fault(it)).collect(),
            stalls: self.run_events().filter_map(stall).collect(),
            births: births(self.history),
        }
    }

    fn run_events(&self) -> impl DoubleEndedIterator<Item = &'a Event> {
        let history = self.history;
        self.claims.run_events.iter().filter_map(|at| history.get(*at))
    }

    /// The time of an event, or the end of the history for one that is not in it.
    fn time(&self, at: u64) -> u64 {
        self.history.get(at).map_or(self.end, |event| event.time_ns)
    }

    fn wait(&self, claim: &Claim) -> WaitSpan<'a> {
        let (from, until) = (self.time(claim.invoke), self.time(claim.asking().end));
        let answered = self.history.get(claim.asking().end);
        let died = answered.is_some_and(|event| event.f == F::Death);
        WaitSpan {
            process: claim.process,
            key: self.claims.keys[claim.key].clone(),
            from,
            until: until.max(from),
            answer: match claim.answer {
                holds::AcquireAnswer::Granted(_) => AcquireOutcome::Granted,
                holds::AcquireAnswer::Failed(_) => AcquireOutcome::Failed,
                holds::AcquireAnswer::Unknown(_) if !died => AcquireOutcome::Unknown,
                holds::AcquireAnswer::Unknown(_) | holds::AcquireAnswer::Open => {
                    AcquireOutcome::Open
                }
            },
            error: match died {
                true => Some("its process died"),
                false => answered.and_then(|event| event.error.as_deref()),
            },
        }
    }

    fn hold(&self, part: &Part) -> HoldSpan {
        let claim = &self.claims.claims[part.claim];
        let (from, until) = (self.time(part.from), self.time(part.until));
        let until = until.max(from);
        let outlived = claim.outlived(self.history, &self.leases);
        HoldSpan {
            process: claim.process,
            key: self.claims.keys[claim.key].clone(),
            mode: part.mode,
            token: claim.token,
            from,
            until,
            ending: self.ending(claim, part),
            ran_out: outlived.filter(|end| end.at_ns < until),
            begins: part.from,
            ends: part.until,
        }
    }

    fn ending(&self, claim: &Claim, part: &Part) -> HoldEnding {
        match claim.end {
            _ if part.until == u64::MAX => HoldEnding::Open,
            Some(end) if end.at == part.until => match end.how {
                holds::Ending::Released => HoldEnding::Released,
                holds::Ending::Lost => HoldEnding::Lost,
                holds::Ending::Death => HoldEnding::Died,
            },
            _ => HoldEnding::Converted,
        }
    }

    fn fault(&self, fault_span: FaultSpan) -> FaultTimes {
        let from = self.time(fault_span.shown_at());
        let until = fault_span.healed.map(|healed| self.time(healed).max(from));
        let FaultSpan { id, fault, effect, .. } = fault_span;
        FaultTimes { id, fault, from, until, effect }
    }
}

fn stall(event: &Event) -> Option<(Stall, u64)> {
    event.stall().map(|stall| (stall, event.time_ns))
}

/// Returns true if an event of a client is marked in its lane.
fn is_mark(event: &Event) -> bool {
    let marked = match event.f {
        F::Read | F::Write => event.kind != Kind::Invoke,
        f => matches!(f, F::Doubt | F::Lost | F::Death),
    };
    marked && event.client().is_some()
}

/// The processes and the time of their first event, in that order.
fn births(history: &History) -> Vec<(u32, u64)> {
    let mut born = BTreeSet::new();
    let events = history.events().iter();
    let births = events.filter_map(|event| Some((event.client()?, event.time_ns)));
    births.filter(|(process, _)| born.insert(*process)).collect()
}
