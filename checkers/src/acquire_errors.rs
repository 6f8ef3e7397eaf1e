//! `acquire-errors`: does a client that asks for the lock, or whether it still has it, learn the
//! truth, while nothing is wrong?
//!
//! **Decides** over the answers to acquires that came after the first grant, when the servers serve,
//! and before the first fault, death or interference of the run: before the last grant or release
//! ahead of an interference, since that is seen only some time after it began. Its anomaly is
//! `unexplained doubt`: the client answered that it may have the lock or not. In the same time a
//! holder that is refused more time, or answered that it no longer holds the lock, before half of
//! the ttl is over, has a `denied hold`.
//!
//! **Limits.** An acquire whose time is over ends in doubt if a request is on its way then, which is
//! no mistake. A doubt after the first fault may be a late consequence of it, as when a client
//! finds its connection broken only at its next request; it is not judged. Where nobody says that
//! there were no faults, as in histories of others, nothing is. The task `cancel` asks for doubts.
//!
//! **Source.** etcd3 0.12.0 on a later version of tenacity: every acquire that has to wait ends in
//! an exception, and no other property sees a lock that is granted to nobody in vain.

use crate::causes::{Occurrence, by_cause};
use crate::words::count;
use crate::{Case, Checker};
use base::{Cause, Event, F, Kind, Outcome, Task, Verdict};

mod denied;
#[cfg(test)]
mod tests;

use denied::denied;

/// The acquire errors checker.
pub struct AcquireErrors;

impl Checker for AcquireErrors {
    fn name(&self) -> &'static str {
        "acquire-errors"
    }

    fn summary(&self) -> &'static str {
        "a client learns whether it has the lock, while nothing is wrong"
    }

    fn decisive(&self) -> bool {
        false
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        if case.run.info.run.task == "cancel" {
            let why = "the task cancels acquires, whose fate is then in doubt";
            return Verdict::new(self.name(), Outcome::NotApplicable, why);
        }
        if is_silent_on_faults(case) {
            let why = "no fault is recorded, and nothing says that there was none";
            return Verdict::new(self.name(), Outcome::Inconclusive, why);
        }
        let (mut answers, mut doubts, mut served) = (0, Vec::new(), None);
        for event in calm_beginning(case.run.history.events()).filter(|it| is_answer(it)) {
            match (served, event.kind) {
                (None, Kind::Ok) => served = Some(event.index),
                (Some(served), Kind::Info) if is_due(case, served, event) => doubts.push(event),
                _ => {}
            }
            answers += u64::from(served.is_some());
        }
        let denied = denied(case, calm_beginning(case.run.history.events()));
        let (doubtful, refused) = (doubts.len(), denied.len() as u64);
        let doubts = doubts.into_iter().map(|doubt| {
            Occurrence::new(Cause::Recipe, [invoke_of(case, doubt).index, doubt.index])
        });
        let reason = "no fault had been injected, and the client lived";
        let mut anomalies = by_cause(case, "unexplained doubt", reason, doubts);
        let reason = "it had been granted for longer, and no fault had been injected";
        anomalies.extend(by_cause(case, "denied hold", reason, denied));
        let asked = count(answers, "acquire");
        let mut wrong = Vec::new();
        if doubtful > 0 {
            wrong.push(format!("{doubtful} of {asked} left the client in doubt"));
        }
        if refused > 0 {
            wrong.push(format!("{} told too soon that the hold is over", count(refused, "holder")));
        }
        let (outcome, summary) = match (wrong.is_empty(), answers) {
            (false, _) => (Outcome::Violated, wrong.join("; ")),
            (_, 0) => (Outcome::Inconclusive, "nothing was granted before the first fault".into()),
            _ => (Outcome::Held, format!("{asked}, none in doubt")),
        };
        Verdict { anomalies, ..Verdict::new(self.name(), outcome, summary) }
    }
}

/// Returns true if the history has no fault, and its header does not say that there was none.
fn is_silent_on_faults(case: &Case<'_>) -> bool {
    case.fault_spans.is_empty() && case.run.info.run.nemesis != "none"
}

/// The events before the first that anything went wrong with. Interference is seen some time after
/// it began, so only those before the last grant or release are known to be calm.
fn calm_beginning(events: &[Event]) -> impl Iterator<Item = &Event> {
    let is_wrong = |it: &Event| matches!(it.f, F::Fault | F::Death | F::Interference);
    let mut end = events.iter().position(is_wrong).unwrap_or(events.len());
    if events.get(end).is_some_and(|it| it.f == F::Interference) {
        let is_well = |it: &Event| it.kind == Kind::Ok && matches!(it.f, F::Acquire | F::Release);
        end = events[..end].iter().rposition(is_well).map_or(0, |last| last + 1);
    }
    events[..end].iter()
}

/// Returns true for the answer of a client that has asked for a lock.
fn is_answer(event: &Event) -> bool {
    event.f == F::Acquire && event.kind != Kind::Invoke
}

/// Returns true if a client should have learnt more than it did of an acquire: it asked once the
/// servers served, by this event, and the time for which it was to wait was not over.
fn is_due<'a>(case: &Case<'a>, served: u64, answer: &'a Event) -> bool {
    let (info, invoke) = (&case.run.info, invoke_of(case, answer));
    // The tasks that also ask for less time ask for a fourth of the ttl at least.
    let patience_ns = match info.run.task == Task::CONTEND.name {
        true => info.acquire_timeout_ns,
        false => info.acquire_timeout_ns.min(info.run.ttl_ns / 4),
    };
    invoke.index > served && answer.time_ns - invoke.time_ns < patience_ns
}

/// Returns the request that the end of an acquire belongs to.
fn invoke_of<'a>(case: &Case<'a>, answer: &'a Event) -> &'a Event {
    let before = &case.run.history.events()[..answer.index as usize];
    let asked = (answer.process, F::Acquire, Kind::Invoke);
    before.iter().rev().find(|it| (it.process, it.f, it.kind) == asked).unwrap_or(answer)
}
