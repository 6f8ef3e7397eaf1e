//! The judgement of a run by all checkers together, as it is stored beside its history.

use crate::stalls;
use crate::story::Story;
use crate::{CHECKERS, Case, Checker};
use base::{Event, History, Outcome, Run, Verdict};
use serde::{Deserialize, Serialize};

/// The version of the stored form that this build writes.
pub const JUDGEMENT_VERSION: u32 = 4;

/// The number of things that all explanations of a run together may look at. A step costs some
/// nanoseconds.
pub const EXPLANATION_STEPS: u64 = 20_000_000;

/// The verdict on a property for which no time was left.
const UNJUDGED: &str = "the time budget was spent before this was judged";

/// The verdict file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The version of this format.
    pub version: u32,
    /// The verdicts, merged.
    pub outcome: Outcome,
    /// The verdict of each checker.
    pub verdicts: Vec<Verdict>,
}

impl Judgement {
    /// Judges a run, and explains what was violated.
    pub fn of(run: &Run) -> Self {
        Self::within(run, &|| false)
    }

    /// Judges a run as long as the time is not `expired`: a checker for which none is left is
    /// inconclusive, and so is the run, unless it was violated by then.
    pub fn within(run: &Run, expired: &dyn Fn() -> bool) -> Self {
        Self::limited(run, JudgementLimits { steps: EXPLANATION_STEPS, expired })
    }

    /// Returns the judgement if the run was only a beginning. What broke in it is broken; what did
    /// not may break yet.
    pub fn of_beginning(self) -> Self {
        let outcome = match self.outcome {
            Outcome::Violated => Outcome::Violated,
            _ => Outcome::Inconclusive,
        };
        Self { outcome, ..self }
    }

    /// Judges a run, with so many steps for the explanations. The verdicts stand before the first
    /// of them is begun: no number of steps changes an outcome, an anomaly or its count.
    pub fn explained(run: &Run, steps: u64) -> Self {
        Self::limited(run, JudgementLimits { steps, expired: &|| false })
    }

    fn limited(run: &Run, limits: JudgementLimits<'_>) -> Self {
        let case = Case::of(run);
        match case.interference() {
            None => Self::of_case(&case, limits),
            Some(seen) => {
                let mut judgement = Self::of_case(&Case::of(&undisturbed(run, seen)), limits);
                // What stays undecided has one reason, the interference, and `coverage` names it.
                for verdict in judgement.verdicts.iter_mut().filter(|v| v.property != "coverage") {
                    verdict.decisive &= verdict.outcome != Outcome::Inconclusive;
                }
                judgement
            }
        }
    }

    fn of_case(case: &Case<'_>, limits: JudgementLimits<'_>) -> Self {
        let mut verdicts = check_case(case, limits.expired);
        stalls::excuse(case, || case.ownership().is_some(), &mut verdicts);
        let outcome = overall(&verdicts);
        let broken: usize = verdicts.iter().map(|verdict| verdict.anomalies.len()).sum();
        let each = limits.steps / broken.max(1) as u64;
        for (checker, verdict) in CHECKERS.iter().zip(&mut verdicts) {
            let steps = if (limits.expired)() { 0 } else { each };
            explain(*checker, case, verdict, steps);
        }
        Self { version: JUDGEMENT_VERSION, outcome, verdicts }
    }
}

/// The limits of a judgement.
#[derive(Clone, Copy)]
struct JudgementLimits<'a> {
    /// The number of steps that all explanations together may take.
    steps: u64,
    /// Returns true once the time is over.
    expired: &'a dyn Fn() -> bool,
}

/// The longest time between somebody else's doing and its discovery, in nanoseconds.
const HINDSIGHT_NS: u64 = 2_000_000_000;

/// The part of a run that nobody else can have disturbed, with the word of what was seen. What was
/// broken before stays broken, and nothing else is held against the lock.
fn undisturbed(run: &Run, seen: &Event) -> Run {
    let before = |event: &&Event| event.time_ns.saturating_add(HINDSIGHT_NS) <= seen.time_ns;
    let mut history = History::default();
    for event in run.history.events().iter().take_while(before).chain([seen]) {
        history.push(event.clone());
    }
    Run { history, ..run.clone() }
}

/// Returns each checker's verdict on a run, in the order of [`CHECKERS`], without explanations.
pub fn check_all(run: &Run) -> Vec<Verdict> {
    check_case(&Case::of(run), &|| false)
}

/// Returns each checker's verdict on a case, without explanations, until the time is `expired`.
pub(crate) fn check_case(case: &Case<'_>, expired: &dyn Fn() -> bool) -> Vec<Verdict> {
    // A run in which nothing is found out about what somebody demands says nothing.
    let demand = &case.run.info.run.demand;
    let is_demanded = |c: &dyn Checker| demand.iter().any(|it| it.property() == c.name());
    let verdict = |c: &&dyn Checker| match expired() {
        false => Verdict { decisive: c.decisive() || is_demanded(*c), ..c.check(case) },
        true => Verdict {
            decisive: true,
            advice: vec!["a longer --time-budget".into()],
            ..Verdict::new(c.name(), Outcome::Inconclusive, UNJUDGED)
        },
    };
    CHECKERS.iter().map(verdict).collect()
}

/// Tells how each anomaly of a verdict came about, in so many steps each.
pub(crate) fn explain(checker: &dyn Checker, case: &Case<'_>, verdict: &mut Verdict, steps: u64) {
    for anomaly in &mut verdict.anomalies {
        let mut story = Story::new(case, anomaly.cause, steps);
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
        None | Some(Outcome::NotApplicable | Outcome::Measured) => Outcome::Inconclusive,
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
        use Outcome::{Held, Inconclusive, Measured, NotApplicable, Violated};
        assert_eq!(merged(&[Held, Violated, Inconclusive]), Violated);
        assert_eq!(merged(&[Held, Inconclusive, NotApplicable]), Inconclusive);
        assert_eq!(merged(&[NotApplicable, Held]), Held);
        assert_eq!(merged(&[NotApplicable]), Inconclusive);
        assert_eq!(merged(&[Measured, Held]), Held);
        assert_eq!(merged(&[Measured, NotApplicable]), Inconclusive, "facts keep no promise");
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

    #[test]
    fn whatever_is_demanded_has_to_be_found_out() {
        let mut run = crate::picture::picture(KEPT);
        let decisive = |run: &Run| {
            let verdicts = check_all(run);
            let verdict = verdicts.iter().find(|it| it.property == "availability");
            verdict.is_some_and(|it| it.outcome == Outcome::Inconclusive && it.decisive)
        };
        run.info.lock.promises.available = true;
        assert!(!decisive(&run));
        run.info.run.demand = vec![base::ExtraPromise::Availability];
        assert!(decisive(&run));
    }

    /// One client is paused while another takes the lock: several properties are broken.
    const BROKEN: &str = "
        p0       | Ag====================wR
        p1       | a----------Ag===w=======R
        pause c0 |    [              ]
        run      |                               Q          E";

    /// Each waits for the other, and all goes well.
    const KEPT: &str = "
        p0  | AgwRAgwRAgwRAgwRAgwRAgwR
        p1  | a-----------------------AgwRAgwRAgwRAgwRAgwRAgwR
        run |                             Q                   E";

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
    fn the_beginning_of_a_run_is_never_held() {
        let broken = crate::picture::picture(BROKEN);
        assert_eq!(Judgement::of(&broken).of_beginning().outcome, Outcome::Violated);
        let mut kept = crate::picture::picture(KEPT);
        kept.info.lock.promises.shared = false;
        assert_eq!(Judgement::of(&kept).outcome, Outcome::Held, "{:#?}", Judgement::of(&kept));
        assert_eq!(Judgement::of(&kept).of_beginning().outcome, Outcome::Inconclusive);
    }

    #[test]
    fn explanations_share_their_steps_evenly() {
        let run = crate::picture::picture(BROKEN);
        let case = Case::of(&run);
        let whole = |verdicts: &[Verdict]| {
            verdicts.iter().flat_map(|v| &v.anomalies).all(|anomaly| !anomaly.cut_short)
        };
        let alone = |steps: &u64| {
            let mut verdicts = check_case(&case, &|| false);
            let explained = CHECKERS.iter().zip(&mut verdicts);
            explained.for_each(|(checker, verdict)| explain(*checker, &case, verdict, *steps));
            whole(&verdicts)
        };
        let together = |steps: &u64| whole(&Judgement::explained(&run, *steps).verdicts);
        let broken =
            check_case(&case, &|| false).iter().map(|v| v.anomalies.len() as u64).sum::<u64>();
        assert!(broken > 1);
        let each = (0..1_000).find(alone).expect("enough for the longest");
        assert_eq!((0..10_000).find(together), Some(each * broken));
    }

    #[test]
    fn what_there_was_no_time_for_is_inconclusive() {
        let broken = crate::picture::picture(BROKEN);
        let first_violated = Judgement::of(&broken).verdicts;
        let first_violated = first_violated.iter().position(|v| v.outcome == Outcome::Violated);
        for judged in 0..CHECKERS.len() {
            let asked = std::cell::Cell::new(0);
            let expired = || asked.replace(asked.get() + 1) >= judged;
            let Judgement { outcome, verdicts, .. } = Judgement::within(&broken, &expired);
            let unjudged = verdicts.iter().filter(|verdict| verdict.summary == UNJUDGED);
            assert_eq!(unjudged.count(), CHECKERS.len() - judged);
            let violated = first_violated.is_some_and(|first| first < judged);
            let known = if violated { Outcome::Violated } else { Outcome::Inconclusive };
            assert_eq!(outcome, known, "{judged}");
        }
        let kept = crate::picture::picture("p0 | A==R\n run |       Q   E");
        assert_eq!(Judgement::within(&kept, &|| true).outcome, Outcome::Inconclusive);
    }

    #[test]
    fn what_comes_after_somebody_else_interfered_is_not_held_against_the_lock() {
        let mut summaries = Vec::new();
        let mut violated = |text: &str| {
            let run = crate::picture::picture(text);
            let Judgement { outcome, verdicts, .. } = Judgement::of(&run);
            let coverage = verdicts.iter().find(|v| v.property == "coverage").expect("it is there");
            assert_eq!(coverage.outcome, Outcome::Inconclusive, "{text}");
            summaries.push(coverage.summary.clone());
            let open = |v: &&Verdict| v.decisive && v.outcome == Outcome::Inconclusive;
            assert_eq!(verdicts.iter().filter(open).count(), 1, "{verdicts:?}");
            outcome == Outcome::Violated
        };
        let before = "
            p0  | A===R
            p1  | -A==R
            run |                        X  Q  E";
        let after = "
            p0  | A===R
            p1  | -A==R
            run | X                      Q  E";
        // It is seen a second later, and may have begun before.
        let shortly_before_it_was_seen = "
            p0  | A===R
            p1  | -A==R
            run |           X            Q  E";
        assert!(violated(before));
        assert!(!violated(after));
        assert!(!violated(shortly_before_it_was_seen));
        expect_test::expect![[r#"
            a server or a client was disturbed, as was seen at 2.3 s, and no fault of this run did that: run it again undisturbed (2 grants by 2 processes, 1 contended)
            a server or a client was disturbed, as was seen at 0 s, and no fault of this run did that: run it again undisturbed (0 grants by 0 processes, 0 contended)
            a server or a client was disturbed, as was seen at 1 s, and no fault of this run did that: run it again undisturbed (0 grants by 0 processes, 0 contended)"#]].assert_eq(&summaries.join("\n"));
    }
}
