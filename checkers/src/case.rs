//! What is judged: a run, and what several checkers want to know of it, read once for all.

use crate::faults::Outage;
use crate::holds::Claims;
use crate::phase::Phase;
use crate::sweep::{Conflict, sweep};
use crate::words::Story;
use base::{Anomaly, Facts, Run, Verdict};

/// A run with its readings.
#[derive(Debug)]
pub struct Case<'a> {
    /// What was run, and what happened.
    pub run: &'a Run,
    /// Who asked for and held which lock, and under which grant the vault was touched.
    pub claims: Claims,
    /// Where clients believed what a read/write lock forbids.
    pub conflicts: Vec<Conflict>,
    /// What the nemesis did.
    pub outages: Vec<Outage>,
    /// The phase in which progress is due, or why there is none.
    pub(crate) phase: Result<Phase, &'static str>,
}

impl<'a> Case<'a> {
    /// Reads a run.
    pub fn of(run: &'a Run) -> Self {
        let claims = Claims::of(&run.history);
        let conflicts = sweep(&claims);
        let events = || claims.run_events.iter().filter_map(|at| run.history.get(*at));
        let (outages, phase) = (Outage::of(events()), Phase::of(events()));
        Self { run, claims, conflicts, outages, phase }
    }

    /// What the store said with an answer.
    pub fn facts(&self, at: u64) -> Option<&'a Facts> {
        self.run.history.get(at)?.facts.as_deref()
    }
}

/// Decides one property of a case, and from nothing else: no files, no clock, no drawing.
pub trait Checker {
    /// The property's name, as verdicts and reports say it.
    fn name(&self) -> &'static str;
    /// One line for `picklock list`.
    fn summary(&self) -> &'static str;
    /// Whether a run says nothing as long as this property is inconclusive. A property that most
    /// runs give no chance to be tested is not decisive: it can break a run, but not hold it up.
    fn decisive(&self) -> bool {
        true
    }

    /// The verdict. Its anomalies name the events that prove them, and may have a reason as their
    /// explanation; the rest is told by `explain`.
    fn check(&self, case: &Case<'_>) -> Verdict;

    /// Tells how an anomaly of this checker came about, after all verdicts stand. Whatever is told
    /// costs steps of the story's own budget, and changes no verdict.
    fn explain(&self, case: &Case<'_>, anomaly: &Anomaly, story: &mut Story<'_>) {
        story.retell(case, &anomaly.witness);
    }
}
