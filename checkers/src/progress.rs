//! `progress`: once all faults are healed, does somebody get the lock who asks for it?
//!
//! **Decides** between `quiet` (all faults are healed and stay so) and `stop`, a lock at a time. A
//! grant in this phase is progress, up to the last of them. From then on the lock is *excused*
//! until the last moment at which a client may have left it taken: the end of a definite hold and
//! of its release, a death, an acquire of unknown outcome. From there on its bound counts
//! (`RunInfo::due_ns`): as long as it may stay taken by somebody who is gone (so many of its lives
//! as it promises, in its own grain, and a tick of its store), and as long as clients take to pick
//! it up (the tries of an acquire, each with its round trips over the slowest link and its
//! back-off). If clients were asking for it over that time, from one unanswered acquire to the
//! last, and nobody was granted it until `stop`, it is stuck. Who asks after a while in which
//! nobody did, and is granted it at once, proves nothing of that while.
//!
//! Readers that come and go do not excuse that no writer is granted the lock in the whole quiet
//! phase: it is stuck for writers if it is free for as long as its bound, in total, while one asks.
//! Nor do the permits that a semaphore still grants excuse that some are gone: it is stuck if, for
//! as long as its bound, in total, enough are free while somebody waits, and never are all of them
//! held.
//!
//! A lock that never promises to recover is excused by definite holds alone: a dead client that
//! keeps it for ever is the very deadlock that is sought.
//!
//! Progress is due in every other interval without a fault in force, too. A lock that somebody asks
//! for, and that nobody is granted for the whole of its bound, and, where a fault of the run is one
//! of a server or a link, for the length of a quiet phase (in which the servers can recover, too),
//! is stuck, even if a client that is given up in the end
//! sets it free. The bound counts from the last excuse or the last heal, and a fault ends the
//! interval.
//!
//! A stuck lock is one story, and has one name, the most exact one that the history proves:
//!
//! * `phantom holder`: a client was refused the lock, and holds it. This is judged over the whole
//!   run: the acquire was answered `fail`, and the store counts its client as the holder all the
//!   same: the client has asked it (`held`), or the ledger shows that its key stands.
//! * `lost wake-up`: its waiters sleep until the store wakes them (`wakes`), the lock was freed
//!   while one of them slept, and nothing woke it: the ledger knows of nothing in the store that a
//!   client left there. Without a ledger nothing may have disturbed the run there (a reply that is
//!   lost leaves something in the store that nobody knows to be his, and then nothing has to wake
//!   anybody). Over the whole run, it is the name of an acquire, too, that was overtaken again and
//!   again for as long as the bound and was not woken meanwhile, in calm.
//! * `deadlock`: everything else. Its story tells who may have left the lock taken: whoever died,
//!   or whose acquire or release ended in doubt. There is no name apart for that, because a client
//!   that dies with the lock is the deadlock that everybody knows, and what became of a client in
//!   doubt the history cannot tell.
//!
//! **Measures** how long after the death of a holder the lock was granted again, at most, to
//! somebody who was asking for it; and the bound beside it.
//!
//! **Limits.** Inconclusive, with the reason: no `quiet` or no `stop` event; nobody asked;
//! somebody definitely held the lock until `stop`; the phase or the asking was too short to tell.
//! A lock that nobody asked for in the phase is passed over if another was asked for.
//!
//! **Source.** TigerBeetle's VOPR: a phase of faults, then one without, in which progress is due.

use crate::causes::{self, Occurrence, by_cause};
use crate::evidence::Evidence;
use crate::phase::QuietPhase;
use crate::story::Story;
use crate::words::{count, process, seconds};
use crate::{Case, Checker};
use base::{Anomaly, Measure, Outcome, Run, Verdict};
use histories::holds::{AcquireAnswer, Claim};

mod culprit;
mod deaths;
mod permits;
mod standstill;
#[cfg(test)]
mod tests;
mod waiting;
mod writers;

use culprit::{Culprit, culprit, tell};
use standstill::{Standstill, standstills};
use waiting::{Slept, phantom_holders, slept};
use writers::shut_out;

/// The progress checker.
pub struct Progress;

impl Checker for Progress {
    fn name(&self) -> &'static str {
        "progress"
    }

    fn summary(&self) -> &'static str {
        "once all faults are healed, somebody who asks for the lock gets it"
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        let slowest = deaths::slowest(case);
        let mut verdict = judge(self.name(), case, slowest);
        verdict.measures.extend(deaths::measures(case, slowest));
        verdict
    }

    fn explain(&self, case: &Case<'_>, anomaly: &Anomaly, story: &mut Story<'_>) {
        let stuck = |phase: &QuietPhase| anomaly.witness.contains(&phase.stop.index);
        let Some(phase) = case.phase.ok().filter(stuck) else {
            return story.retell(case, &anomaly.witness);
        };
        if !story.pay(case.claims.claims.len() as u64 * 3) {
            return;
        }
        let asked = |claim: &Claim| anomaly.witness.contains(&claim.invoke);
        if let Some(first) = case.claims.claims.iter().position(asked) {
            tell(story, case, &phase, &Standstill::at_the_end(case, &phase, first));
        }
    }
}

/// The fate of one lock in the quiet phase.
#[derive(Clone, Copy, Debug)]
enum LockFate {
    /// It was never asked for.
    Idle,
    /// It was granted so many times.
    Granted(u64),
    /// This claim held it to the end.
    Held(usize),
    /// It was asked for over this time, in nanoseconds: too short to tell.
    TooShort(u64),
    /// Nobody got it; this claim asked first.
    Stuck(usize),
    /// Readers got it, and no writer did; this claim asked first.
    ShutOut(usize),
    /// Some of its permits were granted, and never all; this claim waited first.
    PermitsGone(usize),
}

impl LockFate {
    /// The claim that asked first, of those that asked in vain.
    const fn first_in_vain(&self) -> Option<usize> {
        match self {
            Self::Stuck(first) | Self::ShutOut(first) | Self::PermitsGone(first) => Some(*first),
            Self::Idle | Self::Granted(_) | Self::Held(_) | Self::TooShort(_) => None,
        }
    }
}

fn judge(name: &str, case: &Case<'_>, slowest_after_death: Option<u64>) -> Verdict {
    let findings = match case.phase {
        Ok(phase) => examine(case, &phase),
        Err(_) => Vec::new(),
    };
    let (asleep, deadlocks) = stuck(case, &findings);
    let asleep = lost_wake_ups(case, asleep);
    let anomalies: Vec<Anomaly> =
        asleep.into_iter().chain(deadlocks).chain(phantom_holders(case)).collect();
    if anomalies.is_empty() {
        return match case.phase {
            Ok(phase) => without_anomaly(name, case, &phase, &findings, slowest_after_death),
            Err(why) => unclear(name, why),
        };
    }
    let nobody = findings.iter().any(|finding| finding.first_in_vain().is_some());
    let summary = match case.phase.ok().filter(|_| nobody) {
        Some(phase) => nobody_since(case, &phase, &findings),
        None => {
            let named: Vec<String> = anomalies.iter().map(|a| count(a.count, &a.name)).collect();
            named.join(", ")
        }
    };
    Verdict { anomalies, ..Verdict::new(name, Outcome::Violated, summary) }
}

/// Tells for how long nobody was granted the stuck locks in the quiet phase: since their last grant
/// there, if there was one.
fn nobody_since(case: &Case<'_>, phase: &QuietPhase, findings: &[LockFate]) -> String {
    let lasts = seconds(phase.lasts());
    let is_stuck = |finding: &LockFate| matches!(finding, LockFate::Stuck(_));
    let gone = |finding: &LockFate| matches!(finding, LockFate::PermitsGone(_));
    if let Some(key) = findings.iter().position(gone).filter(|_| !findings.iter().any(is_stuck)) {
        let held = permits::most_held(case, phase, key);
        return format!("{held} were held at once in the {lasts} after all faults were healed");
    }
    if !findings.iter().any(is_stuck) {
        return format!(
            "no writer was granted the lock in the {lasts} after all faults were healed"
        );
    }
    let of_stuck = |claim: &&Claim| is_stuck(&findings[claim.key]);
    let granted = case.granted_in(phase.quiet.index..phase.stop.index).filter(of_stuck).last();
    match granted.and_then(Claim::granted) {
        Some(ok) => format!(
            "nobody was granted the lock in the last {} of the quiet phase",
            seconds(phase.stop.time.saturating_sub(case.time(ok)))
        ),
        None => format!("nobody was granted the lock in the {lasts} after all faults were healed"),
    }
}

fn unclear(name: &str, why: impl Into<String>) -> Verdict {
    Verdict::new(name, Outcome::Inconclusive, why)
}

/// The locks that nobody got, by what is known of them: those with a waiter that was not woken, and
/// the anomalies of the others. A lock that a phantom holds is reported with the phantoms.
fn stuck(case: &Case<'_>, findings: &[LockFate]) -> (Vec<Slept>, Vec<Anomaly>) {
    let (mut asleep, mut left) = (Vec::new(), Vec::new());
    for stuck @ Standstill { key, first, until, .. } in all_standstills(case, findings) {
        let invoke = case.claims.claims[first].invoke;
        let at = match culprit(case, &stuck) {
            Culprit::Phantom => continue,
            Culprit::Sleeper { claim, freed } => {
                let witness = [Some(claim.invoke), freed, Some(until)];
                let witness = witness.into_iter().flatten().collect();
                let cause = causes::of_sleeper(case, claim, until);
                asleep.push(Slept { key, cause, witness, reason: String::new() });
                continue;
            }
            Culprit::Gone(at, _) => Some(at),
            Culprit::Unknown => None,
        };
        let cause = causes::of_stuck(case, key, stuck.kept_ns(case));
        let witness: Vec<u64> = at.into_iter().chain([invoke, until]).collect();
        left.push(Occurrence::new(cause, witness));
    }
    (asleep, by_cause(case, "deadlock", "", left))
}

/// The locks that are stuck at the end, and of the others the intervals in which they were.
fn all_standstills(case: &Case<'_>, findings: &[LockFate]) -> Vec<Standstill> {
    let at_the_end = |key: usize| {
        let first = findings.get(key)?.first_in_vain()?;
        Some(Standstill::at_the_end(case, &case.phase.ok()?, first))
    };
    let of_key = |key| match at_the_end(key) {
        Some(last) => vec![last],
        None => standstills(case, key),
    };
    (0..case.claims.keys.len()).flat_map(of_key).collect()
}

/// The acquires that slept on: those that keep a lock from everybody, and on other locks those that
/// others overtook.
fn lost_wake_ups(case: &Case<'_>, stuck: Vec<Slept>) -> Vec<Anomaly> {
    let known: Vec<usize> = stuck.iter().map(|slept| slept.key).collect();
    let others = slept(case).into_iter().filter(|slept| !known.contains(&slept.key));
    let all: Vec<Slept> = stuck.into_iter().chain(others).collect();
    let occurrence = |slept: &Slept| Occurrence::new(slept.cause, slept.witness.clone());
    let mut anomalies = by_cause(case, "lost wake-up", "", all.iter().map(occurrence));
    for anomaly in &mut anomalies {
        let first = all.iter().find(|slept| slept.cause == anomaly.cause);
        anomaly.explanation = first.map_or(String::new(), |slept| slept.reason.clone());
    }
    anomalies
}

/// Returns the fate of each lock.
fn examine(case: &Case<'_>, phase: &QuietPhase) -> Vec<LockFate> {
    let mut grants = vec![0; case.claims.keys.len()];
    let granted = case.granted_in(phase.quiet.index..phase.stop.index);
    granted.for_each(|claim| grants[claim.key] += 1);
    let finding = |(key, grants): (usize, u64)| match grants {
        0 => examine_end(case, phase, key),
        // It may have been left taken by those who were granted it in the phase itself.
        _ => match examine_end(case, phase, key) {
            stuck @ LockFate::Stuck(_) => stuck,
            _ => {
                let shut_out = shut_out(case, phase, key).map(LockFate::ShutOut);
                let gone = || permits::gone(case, phase, key).map(LockFate::PermitsGone);
                shut_out.or_else(gone).unwrap_or(LockFate::Granted(grants))
            }
        },
    };
    grants.into_iter().enumerate().map(finding).collect()
}

/// The part of a phase in which progress is due: from the last moment on at which somebody may have
/// left the lock taken, if that ends by itself.
fn due_from(case: &Case<'_>, phase: &QuietPhase, key: usize) -> QuietPhase {
    let recovers = case.run.info.lock.promises.recovers.is_some();
    let gone = case.asked(key).filter_map(|(_, claim)| claim.gone_at());
    let gone = gone.filter(|at| recovers && *at < phase.stop.index).max();
    phase.from(case.run.history.get(gone.unwrap_or(0)))
}

fn examine_end(case: &Case<'_>, phase: &QuietPhase, key: usize) -> LockFate {
    let run = case.run;
    let ours = || case.asked(key);
    let mut asked = ours().filter(|(_, claim)| phase.meets(&claim.asking())).peekable();
    if asked.peek().is_none() {
        return LockFate::Idle;
    }
    let to_the_end =
        |claim: &Claim| claim.definite().is_some_and(|hold| hold.contains(&phase.stop.index));
    if let Some((holder, _)) = ours().find(|(_, claim)| to_the_end(claim)) {
        return LockFate::Held(holder);
    }
    let recovers = run.info.lock.promises.recovers.is_some();
    let excuses = ours().filter_map(|(_, claim)| excused_until(claim, recovers, phase.stop.index));
    let phase = phase.from(run.history.get(excuses.max().unwrap_or(0)));
    persistent(run, &phase, ours())
}

/// Decides whether the lock was asked for long enough after its last excuse.
fn persistent<'a>(
    run: &Run,
    phase: &QuietPhase,
    claims: impl Iterator<Item = (usize, &'a Claim)>,
) -> LockFate {
    let time = |at: u64| run.history.get(at).map_or(phase.stop.time, |event| event.time_ns);
    // Asking again and again is asking, unless nobody did for as long as the lock may stay taken.
    let pause = run.info.recovery_ns();
    let (mut interval, mut longest) = (None, 0);
    for (id, claim) in claims.filter(|(_, claim)| phase.meets(&claim.asking())) {
        let begin = time(claim.invoke).max(phase.quiet.time);
        let end = time(claim.asking().end).min(phase.stop.time);
        let asked_before = interval.is_some_and(|(_, _, until)| begin <= until);
        // Who is granted it as soon as it asks proves nothing of the time before.
        if claim.granted().is_some() && !asked_before && end - begin <= run.info.pick_up_ns() {
            continue;
        }
        let (first, since, until) = match interval {
            Some((first, since, until)) if begin <= until + pause => (first, since, end.max(until)),
            _ => (id, begin, end),
        };
        longest = longest.max(until.saturating_sub(since));
        if longest >= run.info.settled_ns() {
            return LockFate::Stuck(first);
        }
        interval = Some((first, since, until));
    }
    LockFate::TooShort(longest)
}

/// Returns the event up to which a claim excuses its lock. One that never promises to recover is
/// excused by definite holds alone.
fn excused_until(claim: &Claim, recovers: bool, stop: u64) -> Option<u64> {
    match recovers {
        true => claim.left_at(stop),
        false => claim.end.map(|end| end.at).filter(|at| *at < stop),
    }
}

fn without_anomaly(
    name: &str,
    case: &Case<'_>,
    phase: &QuietPhase,
    findings: &[LockFate],
    slowest_after_death: Option<u64>,
) -> Verdict {
    let Evidence { run, claims, .. } = &**case;
    let firsts = first_grants(case, phase);
    let mut slowest = None;
    let mut total = 0;
    for (key, (finding, ok)) in findings.iter().zip(firsts).enumerate() {
        match finding {
            LockFate::Granted(grants) => {
                let first = phase.first_grant(&run.history, ok.into_iter());
                slowest = slowest.max(first);
                total += grants;
            }
            LockFate::Held(holder) => {
                let who = process(&claims.claims[*holder]);
                return unclear(name, format!("{who} held the lock until the end"));
            }
            LockFate::TooShort(lasted) => {
                let doubts = doubts(case, phase, key);
                return unclear(name, too_short(run, *lasted, doubts));
            }
            LockFate::Idle
            | LockFate::Stuck(_)
            | LockFate::ShutOut(_)
            | LockFate::PermitsGone(_) => {}
        }
    }
    let Some((after, first)) = slowest else {
        let why = format!("nobody asked for the lock in the {} of quiet", seconds(phase.lasts()));
        return unclear(name, why);
    };
    let mut summary = format!("{first}, {} in the quiet phase", count(total, "grant"));
    if let Some(slowest) = slowest_after_death {
        let bound = seconds(run.info.due_ns());
        let after = seconds(slowest);
        summary += &format!("; granted again within {after} of a holder's death (bound {bound})");
    }
    let measures = vec![Measure::new("first grant in the quiet phase, after", "ns", after)];
    Verdict { measures, ..Verdict::new(name, Outcome::Held, summary) }
}

/// The first grant of each lock after the last heal.
fn first_grants(case: &Case<'_>, phase: &QuietPhase) -> Vec<Option<u64>> {
    let mut firsts = vec![None; case.claims.keys.len()];
    let mut missing = firsts.len();
    for claim in case.granted_in(phase.healed.unwrap_or(phase.quiet).index + 1..phase.stop.index) {
        let first: &mut Option<u64> = &mut firsts[claim.key];
        missing -= usize::from(first.is_none());
        *first = first.or(claim.granted());
        if missing == 0 {
            break;
        }
    }
    firsts
}

/// Returns the number of requests for a lock in the quiet phase that ended in doubt.
fn doubts(case: &Case<'_>, phase: &QuietPhase, key: usize) -> u64 {
    let answers = case.asked(key).map(|(_, claim)| claim.answer);
    let in_phase = |at: u64| (phase.quiet.index..phase.stop.index).contains(&at);
    let of = |answer: AcquireAnswer| matches!(answer, AcquireAnswer::Unknown(at) if in_phase(at));
    answers.filter(|answer| of(*answer)).count() as u64
}

fn too_short(run: &Run, lasted: u64, doubts: u64) -> String {
    if doubts > 1 {
        return format!(
            "nobody was granted the lock, and {} of the quiet phase ended in doubt, each of which \
             may have taken it: see that its servers are there to the end",
            count(doubts, "acquire")
        );
    }
    format!(
        "nobody was granted the lock, but it was asked for over {} only and may take {} to be \
         granted again: a longer quiet phase would tell",
        seconds(lasted),
        seconds(run.info.settled_ns())
    )
}
