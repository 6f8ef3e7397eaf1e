//! The interface of a checker.

use crate::causes::Case;
use crate::story::Story;
use base::{Anomaly, Verdict};

/// Decides one property of a case, and from nothing else: no files, no clock, no drawing.
pub trait Checker {
    /// The property's name, as verdicts and reports say it.
    fn name(&self) -> &'static str;
    /// One line for `picklock list`.
    fn summary(&self) -> &'static str;
    /// Returns true if a run says nothing as long as this property is inconclusive. A property that
    /// most runs give no chance to be tested is not decisive: it can break a run, but not hold it
    /// up.
    fn decisive(&self) -> bool {
        true
    }

    /// The verdict. Its anomalies name the events that prove them, and may have a reason as their
    /// explanation; the rest is left to `explain`.
    fn check(&self, case: &Case<'_>) -> Verdict;

    /// Explains how an anomaly of this checker came about, after all verdicts stand. The
    /// explanation costs steps of the story's own budget, and changes no verdict.
    fn explain(&self, case: &Case<'_>, anomaly: &Anomaly, story: &mut Story<'_>) {
        story.retell(case, &anomaly.witness);
    }
}
