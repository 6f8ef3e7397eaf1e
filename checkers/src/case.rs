//! What is judged: a run, and what several checkers want to know of it, read once for all.

use crate::causes::Books;
use crate::faults::Outage;
use crate::holds::Claims;
use crate::phase::Phase;
use crate::sweep::{Conflict, sweep};
use crate::words::Story;
use base::{Anomaly, Event, F, Facts, Leases, Run, Verdict};
use std::cell::OnceCell;

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
    /// The ledger by thing, made when it is first asked for: most runs break nothing.
    books: OnceCell<Option<Books>>,
    /// When leases ended, the same.
    leases: OnceCell<Leases>,
}

impl<'a> Case<'a> {
    /// Reads a run.
    pub fn of(run: &'a Run) -> Self {
        let claims = Claims::of(&run.history);
        let conflicts = sweep(&claims);
        let events = || claims.run_events.iter().filter_map(|at| run.history.get(*at));
        let (outages, phase) = (Outage::of(events()), Phase::of(events()));
        Self {
            run,
            claims,
            conflicts,
            outages,
            phase,
            books: OnceCell::new(),
            leases: OnceCell::new(),
        }
    }

    /// Who wrote and who removed each thing in the store, if that is known of this run.
    pub(crate) fn ownership(&self) -> Option<&Books> {
        let read = || self.run.ledger.as_ref().map(|ledger| Books::of(self, ledger));
        self.books.get_or_init(read).as_ref()
    }

    /// When the leases and sessions behind grants ended.
    pub(crate) fn leases(&self) -> &Leases {
        self.leases.get_or_init(|| Leases::of(self.run))
    }

    /// The time of an event, in nanoseconds; of one that is not in the history, its end.
    pub(crate) fn time(&self, at: u64) -> u64 {
        let history = &self.run.history;
        history.get(at).map_or(history.end(), |event| event.time)
    }

    /// Where somebody else did something to a server or a client.
    pub fn interference(&self) -> Option<&'a Event> {
        let events = self.claims.run_events.iter().filter_map(|at| self.run.history.get(*at));
        events.into_iter().find(|event| event.f == F::Interference)
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
