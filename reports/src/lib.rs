//! A run, drawn for people: a summary for the terminal and one self-contained HTML page.
//!
//! Nothing here judges and nothing here does I/O: a run and its verdicts go in, text comes out, so
//! that a stored run can be drawn again at any time.

#![warn(missing_docs)]

pub mod card;
pub mod facts;
pub mod hazards;
pub mod history;
pub mod html;
pub mod interpretation;
pub mod names;
pub mod picture;
pub mod steps;
#[cfg(feature = "plots")]
pub mod sweep;
pub mod terminal;

use base::units;
use base::{Outcome, Run, Verdict};
use facts::HistoryFacts;
use std::time::Duration;

/// The part of a report that neither the run nor its verdicts know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The run folder, as it is to be shown. Empty when nothing was stored.
    pub folder: String,
    /// The version of picklock.
    pub version: String,
    /// The time that the run took by the clock on the wall; `None` for a stored run.
    pub elapsed: Option<Duration>,
}

/// The data that a report is drawn from.
pub(crate) struct ReportSubject<'a> {
    pub run: &'a Run,
    pub verdicts: &'a [Verdict],
    pub outcome: Outcome,
    pub context: &'a Context,
    pub facts: HistoryFacts<'a>,
}

impl<'a> ReportSubject<'a> {
    pub fn new(
        run: &'a Run,
        verdicts: &'a [Verdict],
        outcome: Outcome,
        context: &'a Context,
    ) -> Self {
        Self { run, verdicts, outcome, context, facts: HistoryFacts::of(run) }
    }
}
