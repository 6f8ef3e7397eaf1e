//! The stalls of a run: times for which the machine did not run a server, a client or the harness.
//! An anomaly that a stall can explain is not held against the lock, unless a fault was found to have
//! done it, or it is known of the lock.

use crate::evidence::Evidence;
use crate::words::{moment, seconds};
use base::{Anomaly, Event, Outcome, Stall, Verdict};
use std::ops::Range;

/// The least share of the time of an anomaly that stalls have to fill to explain it, in percent.
const SHARE: u64 = 10;

/// Anomalies that no delay brings about.
const TIMELESS: &[&str] =
    &["grant without token", "self-deadlock", "inner release freed the lock", "unguarded write"];

const ROOM: &str = "a machine with less to do, fewer --clients or a longer --ttl";

/// Makes each verdict inconclusive whose anomalies a stall of the machine can explain, all of them.
/// `is_exact` returns true if the causes of this run were found, and are not merely possible.
pub(crate) fn excuse(
    evidence: &Evidence<'_>,
    is_exact: impl Fn() -> bool,
    verdicts: &mut [Verdict],
) {
    let stalls: Vec<&Event> = evidence.stalls().collect();
    if stalls.is_empty() {
        return;
    }
    for verdict in verdicts.iter_mut().filter(|it| it.outcome == Outcome::Violated) {
        let excuses =
            verdict.anomalies.iter().map(|it| excuse_of(evidence, &is_exact, &stalls, it));
        let Some(excuses) = excuses.collect::<Option<Vec<String>>>() else { continue };
        let advice = vec![ROOM.into()];
        let open = Verdict::new(&verdict.property, Outcome::Inconclusive, excuses.join("; "));
        *verdict = Verdict { decisive: true, advice, ..open }
    }
}

/// Tells in words which stalls can explain an anomaly; `None`: they cannot, or need not, since it
/// was found which fault did it, or it is known of the lock.
fn excuse_of(
    evidence: &Evidence<'_>,
    is_exact: &impl Fn() -> bool,
    stalls: &[&Event],
    anomaly: &Anomaly,
) -> Option<String> {
    let known = &evidence.run.info.lock.known;
    if TIMELESS.contains(&anomaly.name.as_str()) {
        return None;
    }
    let is_known = |cause| known.iter().any(|it| it.cause == cause && it.anomaly == anomaly.name);
    if anomaly.cause.iter().any(is_known) {
        return None;
    }
    // A fault that is possible as a cause is no more so than the stall.
    if anomaly.cause.iter().any(|cause| cause.needs_fault()) && is_exact() {
        return None;
    }
    let longest = explanation(evidence, stalls, &anomaly.witness)?;
    let stall = longest.stall()?;
    Some(format!(
        "{} while the machine did not run {} for {} (until {}): that can be why",
        anomaly.name,
        stall.waited(),
        seconds(stall.lasted_ns),
        moment(longest.time_ns)
    ))
}

/// Returns the longest of these stalls, if they can explain what these events prove.
pub(crate) fn explanation<'a>(
    evidence: &Evidence<'_>,
    stalls: &[&'a Event],
    witness: &[u64],
) -> Option<&'a Event> {
    let times = || witness.iter().map(|at| evidence.time(*at));
    let during_ns = times().min()?..times().max()?;
    let met = || stalls.iter().filter(|it| meets(evidence, it, &during_ns)).copied();
    let stalled_ns: u64 = met().filter_map(|it| Some(it.stall()?.lasted_ns)).sum();
    let longest = met().max_by_key(|it| it.stall().map(|stall| stall.lasted_ns));
    longest.filter(|_| stalled_ns >= (during_ns.end - during_ns.start) / 100 * SHARE)
}

/// Returns true if a stall was there while an anomaly came about, or so shortly before it that what
/// it left may not have been mended.
fn meets(evidence: &Evidence<'_>, event: &Event, during_ns: &Range<u64>) -> bool {
    let Some(stall) = event.stall() else { return false };
    let from_ns = event.time_ns.saturating_sub(stall.lasted_ns + Stall::LOOK_NS);
    let mended_ns = event.time_ns.saturating_add(evidence.run.info.due_ns());
    from_ns <= during_ns.end && mended_ns >= during_ns.start
}

#[cfg(test)]
mod tests {
    use crate::Judgement;
    use crate::picture::picture;
    use base::{Cause, Known, Outcome, Run};

    const TWO_HOLDERS: &str = "
        p0 | A=RA====R
        p1 | a----A===R";

    fn with(rows: &str) -> Run {
        let mut run = picture(&format!("{TWO_HOLDERS}\n{rows}"));
        run.info.lock.promises.shared = false;
        run
    }

    fn exclusion(run: &Run) -> (Outcome, String) {
        let verdicts = Judgement::of(run).verdicts;
        let verdict =
            verdicts.into_iter().find(|it| it.property == "exclusion").expect("it is there");
        (verdict.outcome, verdict.summary)
    }

    #[test]
    fn what_a_stall_can_explain_is_not_held_against_the_lock() {
        let excused = (
            Outcome::Inconclusive,
            "double hold while the machine did not run server 0 for 300 ms (until 0.500 s): that can \
             be why"
                .to_owned(),
        );
        assert_eq!(exclusion(&with("stall s0 |      3")), excused);
        let judgement = Judgement::of(&with("stall s0 |      3"));
        assert_eq!(judgement.outcome, Outcome::Inconclusive, "the run is as unclear");
    }

    #[test]
    fn what_no_stall_can_explain_is_violated() {
        assert_eq!(exclusion(&with("")).0, Outcome::Violated);
        // A stall may have ended up to one check before the event that reports it.
        assert_eq!(exclusion(&with("stall s0 |        1")).0, Outcome::Inconclusive);
        assert_eq!(exclusion(&with("stall s0 |           1")).0, Outcome::Violated);
        // After it.
        assert_eq!(exclusion(&with("stall s0 |                      3")).0, Outcome::Violated);
    }

    #[test]
    fn no_stall_explains_what_no_delay_brings_about() {
        let mut run = picture("p0 | A1=R A==R\nstall s0 |   3");
        run.info.lock.promises.fenced = true;
        assert_eq!(Judgement::of(&run).outcome, Outcome::Violated);
    }

    #[test]
    fn of_several_overlaps_the_one_far_from_every_stall_is_reported() {
        let mut run = with("stall s0 |      3");
        let far = picture(
            "
            p0       | A=RA==========R                                             A===R
            p1       | a----A==========R                                             A===R
            stall s0 |      3",
        );
        run.history = far.history;
        assert_eq!(exclusion(&run).0, Outcome::Violated, "the other lasted longer");
    }

    #[test]
    fn what_is_known_of_the_lock_is_violated() {
        let mut run = with("stall s0 |      3");
        let cause = Judgement::of(&with("")).verdicts[0].anomalies[0].cause.only();
        let cause = cause.unwrap_or(Cause::Recipe);
        let (anomaly, why) = ("double hold".to_owned(), "it is known".to_owned());
        run.info.lock.known = vec![Known { cause, anomaly, why }];
        assert_eq!(exclusion(&run).0, Outcome::Violated);
    }

    #[test]
    fn what_a_fault_has_done_is_violated_and_what_it_may_have_done_is_not() {
        let paused = "
            p0       | A==================R
            p1       | a-----------A===R
            store    | 0         x 1   b
            pause c0 |   [               ]
            stall s0 |          3";
        let outcome = |text: &str| {
            let mut run = picture(text);
            run.info.lock.promises.shared = false;
            exclusion(&run).0
        };
        assert_eq!(outcome(paused), Outcome::Violated);
        let without_ledger = paused.replace("store    | 0         x 1   b\n", "");
        assert_eq!(outcome(&without_ledger), Outcome::Inconclusive);
    }
}
