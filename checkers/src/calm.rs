//! The intervals of a run that no fault disturbs: there, what a lock does is its own doing.

use crate::faults::FaultSpan;
use base::{History, Run};
use histories::holds::{AcquireAnswer, Claims, Ending};

/// The troubled intervals of a run, in nanoseconds, merged and in order.
#[derive(Debug)]
pub(crate) struct Calm<'a> {
    history: &'a History,
    troubled: Vec<(u64, u64)>,
}

impl<'a> Calm<'a> {
    /// Trouble lasts from the begin of a fault until its heal, and on for as long as a lock that
    /// was left taken meanwhile may stay so and then be picked up (a session runs out, a server
    /// comes back). It lasts as long after a death or an acquire of unknown outcome.
    pub(crate) fn of(run: &'a Run, claims: &Claims, fault_spans: &[FaultSpan]) -> Self {
        let grace = run.info.due_ns();
        let history = &run.history;
        let time = |at: u64| history.get(at).map_or(u64::MAX, |event| event.time_ns);
        let fault_spans = fault_spans.iter().map(|fault_span| {
            let healed = fault_span.healed.map_or(u64::MAX, time);
            (time(fault_span.begin), healed.saturating_add(grace))
        });
        let ends = claims.claims.iter().filter_map(|claim| match (claim.answer, claim.end) {
            (AcquireAnswer::Unknown(at), _) => Some(at),
            (_, Some(end)) if end.how == Ending::Death => Some(end.at),
            _ => None,
        });
        let ends = ends.map(|at| (time(at), time(at).saturating_add(grace)));
        let mut all: Vec<(u64, u64)> = fault_spans.chain(ends).collect();
        all.sort_unstable();
        let mut troubled: Vec<(u64, u64)> = Vec::new();
        for (from, to) in all {
            match troubled.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => troubled.push((from, to)),
            }
        }
        Self { history, troubled }
    }

    /// Returns true if nothing disturbed the interval from one event to another, both included.
    pub(crate) fn spans(&self, from: u64, to: u64) -> bool {
        let time = |at: u64| self.history.get(at).map_or(self.history.end(), |event| event.time_ns);
        self.spans_times(time(from), time(to))
    }

    /// The same for an interval between two times, in nanoseconds.
    pub(crate) fn spans_times(&self, from: u64, to: u64) -> bool {
        let next = self.troubled.partition_point(|(_, end)| *end < from);
        self.troubled.get(next).is_none_or(|(begin, _)| *begin > to)
    }

    /// Returns the time from when nothing disturbed an interval between two times up to its end, in
    /// nanoseconds; `None` if something did at its end.
    pub(crate) fn since(&self, from: u64, to: u64) -> Option<u64> {
        let next = self.troubled.partition_point(|(begin, _)| *begin <= to);
        let last = next.checked_sub(1).map_or(0, |last| self.troubled[last].1.saturating_add(1));
        (last <= to).then_some(from.max(last))
    }
}

#[cfg(test)]
mod tests;
