//! What all checkers together say about a run, as it is stored beside its history.

use crate::check_all;
use base::{Outcome, Run, Verdict};
use serde::{Deserialize, Serialize};

/// The version of the stored form that this build writes.
pub const JUDGEMENT_VERSION: u32 = 1;

/// The verdict file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The version of this format.
    pub version: u32,
    /// The verdicts, merged.
    pub outcome: Outcome,
    /// What each checker says.
    pub verdicts: Vec<Verdict>,
}

impl Judgement {
    /// Judges a run.
    pub fn of(run: &Run) -> Self {
        let verdicts = check_all(run);
        Self { version: JUDGEMENT_VERSION, outcome: overall(&verdicts), verdicts }
    }
}

/// Merges verdicts: violated before inconclusive before held. When no property applies, nothing
/// was tested, and that is inconclusive.
pub fn overall(verdicts: &[Verdict]) -> Outcome {
    match verdicts.iter().map(|v| v.outcome).max() {
        None | Some(Outcome::NotApplicable) => Outcome::Inconclusive,
        Some(outcome) => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(outcomes: &[Outcome]) -> Outcome {
        overall(&outcomes.iter().map(|&o| Verdict::new("any", o, "")).collect::<Vec<_>>())
    }

    #[test]
    fn the_worst_verdict_wins() {
        use Outcome::{Held, Inconclusive, NotApplicable, Violated};
        assert_eq!(merged(&[Held, Violated, Inconclusive]), Violated);
        assert_eq!(merged(&[Held, Inconclusive, NotApplicable]), Inconclusive);
        assert_eq!(merged(&[NotApplicable, Held]), Held);
        assert_eq!(merged(&[NotApplicable]), Inconclusive);
        assert_eq!(merged(&[]), Inconclusive);
    }
}
