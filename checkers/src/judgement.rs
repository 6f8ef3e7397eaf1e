//! What all checkers together say about a run, as it is stored beside its history.

use crate::words::Story;
use crate::{CHECKERS, Case, Checker};
use base::{Outcome, Run, Verdict};
use serde::{Deserialize, Serialize};

/// The version of the stored form that this build writes.
pub const JUDGEMENT_VERSION: u32 = 2;

/// How many things all explanations of a run together may look at. A step costs some nanoseconds.
pub const EXPLANATION_STEPS: u64 = 20_000_000;

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
    /// Judges a run, and explains what was violated.
    pub fn of(run: &Run) -> Self {
        Self::explained(run, EXPLANATION_STEPS)
    }

    /// The same, with so many steps for the explanations. The verdicts stand before the first of
    /// them is begun: no number of steps changes an outcome, an anomaly or its count.
    pub fn explained(run: &Run, steps: u64) -> Self {
        let case = Case::of(run);
        let mut verdicts = check_case(&case);
        let outcome = overall(&verdicts);
        let broken: usize = verdicts.iter().map(|verdict| verdict.anomalies.len()).sum();
        let each = steps / broken.max(1) as u64;
        for (checker, verdict) in CHECKERS.iter().zip(&mut verdicts) {
            explain(*checker, &case, verdict, each);
        }
        Self { version: JUDGEMENT_VERSION, outcome, verdicts }
    }
}

/// What each checker says about a case, without explanations.
pub(crate) fn check_case(case: &Case<'_>) -> Vec<Verdict> {
    let verdict = |c: &&dyn Checker| Verdict { decisive: c.decisive(), ..c.check(case) };
    CHECKERS.iter().map(verdict).collect()
}

/// Tells how each anomaly of a verdict came about, in so many steps each.
pub(crate) fn explain(checker: &dyn Checker, case: &Case<'_>, verdict: &mut Verdict, steps: u64) {
    for anomaly in &mut verdict.anomalies {
        let mut story = Story::new(case, steps);
        checker.explain(case, anomaly, &mut story);
        story.complete(case, anomaly);
    }
}

/// Merges verdicts: violated before inconclusive before held. A property that is not
/// [decisive](Verdict::decisive) may be inconclusive without the run being so: most runs give it
/// no chance, and `coverage` says whether the run was worth something. When no property says
/// held, nothing was tested, and that is inconclusive.
pub fn overall(verdicts: &[Verdict]) -> Outcome {
    let counts = |v: &&Verdict| v.decisive || v.outcome != Outcome::Inconclusive;
    match verdicts.iter().filter(counts).map(|v| v.outcome).max() {
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

    #[test]
    fn what_is_not_decisive_breaks_a_run_but_does_not_hold_it_up() {
        use Outcome::{Held, Inconclusive, Violated};
        let with = |decisive, outcome| {
            let other = Verdict { decisive, ..Verdict::new("other", outcome, "") };
            overall(&[Verdict::new("exclusion", Held, ""), other])
        };
        assert_eq!(with(false, Inconclusive), Held);
        assert_eq!(with(false, Violated), Violated);
        assert_eq!(with(true, Inconclusive), Inconclusive);
        let alone = Verdict { decisive: false, ..Verdict::new("other", Inconclusive, "") };
        assert_eq!(overall(&[alone]), Inconclusive);
    }

    /// One client is paused while another takes the lock: several properties are broken.
    const BROKEN: &str = "
        p0       | Ag====================wR
        p1       | a----------Ag===w=======R
        pause c0 |    [              ]
        run      |                               Q          E";

    #[test]
    fn without_steps_the_verdict_stands_and_says_that_it_is_not_explained() {
        let run = crate::picture::picture(BROKEN);
        let decided = |j: &Judgement| {
            let of = |v: &Verdict| {
                let seen = v.anomalies.iter().map(|a| (a.name.clone(), a.count));
                (v.property.clone(), v.outcome, v.summary.clone(), seen.collect::<Vec<_>>())
            };
            (j.outcome, j.verdicts.iter().map(of).collect::<Vec<_>>())
        };
        let full = Judgement::of(&run);
        assert_eq!(full.outcome, Outcome::Violated);
        for steps in [0, 1, 5, 20, 100] {
            let short = Judgement::explained(&run, steps);
            assert_eq!(decided(&short), decided(&full), "{steps} steps");
            if steps == 0 {
                let anomalies = short.verdicts.iter().flat_map(|v| &v.anomalies);
                for anomaly in anomalies {
                    assert!(anomaly.cut_short, "{anomaly:?}");
                    assert!(!anomaly.witness.is_empty(), "{anomaly:?}");
                    assert!(anomaly.explanation.ends_with("cut short here"), "{anomaly:?}");
                }
            }
        }
        let anomalies = full.verdicts.iter().flat_map(|v| &v.anomalies);
        for anomaly in anomalies {
            assert!(!anomaly.cut_short, "{anomaly:?}");
            assert_eq!(anomaly.faults, [2], "{anomaly:?}");
            let believers: Vec<u32> = anomaly.beliefs.iter().map(|b| b.process).collect();
            assert_eq!(believers, [0, 1], "{anomaly:?}");
        }
    }

    #[test]
    fn explanations_share_their_steps_evenly() {
        let run = crate::picture::picture(BROKEN);
        let case = Case::of(&run);
        let whole = |verdicts: &[Verdict]| {
            verdicts.iter().flat_map(|v| &v.anomalies).all(|anomaly| !anomaly.cut_short)
        };
        let alone = |steps: &u64| {
            let mut verdicts = check_case(&case);
            let explained = CHECKERS.iter().zip(&mut verdicts);
            explained.for_each(|(checker, verdict)| explain(*checker, &case, verdict, *steps));
            whole(&verdicts)
        };
        let together = |steps: &u64| whole(&Judgement::explained(&run, *steps).verdicts);
        let broken = check_case(&case).iter().map(|v| v.anomalies.len() as u64).sum::<u64>();
        assert!(broken > 1);
        let each = (0..1_000).find(alone).expect("enough for the longest");
        assert_eq!((0..10_000).find(together), Some(each * broken));
    }
}
