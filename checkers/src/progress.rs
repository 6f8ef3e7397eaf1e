//! `progress`: once all faults are healed, does somebody get the lock who asks for it?
//!
//! **Decides** between `quiet` (all faults are healed and stay so) and `stop`, a lock at a time.
//! A grant in this phase is progress. Without one, the lock is *excused* until the last moment at
//! which a client may have left it taken: the end of a definite hold and of its release, a death,
//! an acquire of unknown outcome. From there on it must be free within the time that it promises
//! (`recovers` times its ttl, at least once the ttl). If clients were asking for it over that
//! time, from one unanswered acquire to the last, and nobody was granted it until `stop`, the
//! anomaly is `deadlock`.
//!
//! A lock that never promises to recover is excused by definite holds alone: a dead client that
//! keeps it for ever is the very deadlock that is sought. It must be free within one ttl of them.
//!
//! It is an `orphan` as well if a process that is gone (it died, or its acquire or release ended in
//! doubt) may have left the lock taken after the last grant.
//!
//! Over the whole run it decides on those who wait:
//!
//! * `lost wake-up`: under a lock whose waiters sleep until the store wakes them (`wakes`), an
//!   acquire was overtaken again and again for as long as the lock may take to be free, and nothing
//!   woke it meanwhile. Judged in calm.
//! * `phantom holder`: an acquire was answered `fail`, and the store counts its client as the
//!   holder all the same (`held`).
//!
//! **Limits.** Inconclusive, with the reason: no `quiet` or no `stop` event; nobody asked;
//! somebody definitely held the lock until `stop`; the phase or the asking was too short to tell.
//! A lock that nobody asked for in the phase is passed over if another was asked for.
//!
//! **Source.** TigerBeetle's VOPR: a phase of faults, then one without, in which progress is due.

use crate::holds::{Answer, Claim, Claims, Ending};
use crate::phase::Phase;
use crate::words::{Story, count, decided, process, seconds};
use crate::{Case, Checker};
use base::{Anomaly, Kind, Measure, Outcome, Run, Verdict};

#[cfg(test)]
mod tests;
mod waiting;

/// The checker.
pub struct Progress;

impl Checker for Progress {
    fn name(&self) -> &'static str {
        "progress"
    }

    fn summary(&self) -> &'static str {
        "once all faults are healed, somebody who asks for the lock gets it"
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        judge(self.name(), case)
    }

    fn explain(&self, case: &Case<'_>, anomaly: &Anomaly, story: &mut Story<'_>) {
        let stuck = ["deadlock", "orphan"].contains(&anomaly.name.as_str());
        let Some(phase) = case.phase.ok().filter(|_| stuck) else {
            return story.retell(case, &anomaly.witness);
        };
        if !story.pay(case.claims.claims.len() as u64 * 3) {
            return;
        }
        let asked = |claim: &&Claim| anomaly.witness.contains(&claim.invoke);
        if let Some(first) = case.claims.claims.iter().find(asked) {
            tell_deadlock(story, case, &phase, first);
        }
    }
}

/// What became of one lock in the quiet phase.
#[derive(Clone, Copy, Debug)]
enum Finding {
    /// Nobody asked.
    Idle,
    /// It was granted so many times.
    Granted(u64),
    /// This claim held it to the end.
    Held(usize),
    /// It was asked for over this time, in nanoseconds: too short to tell.
    TooShort(u64),
    /// Nobody got it; this claim asked first.
    Deadlock(usize),
}

fn judge(name: &str, case: &Case<'_>) -> Verdict {
    let asleep = waiting::lost_wake_ups(case);
    let phantoms = waiting::phantom_holders(case);
    let phase = match case.phase {
        Ok(phase) => phase,
        Err(why) => {
            return verdict(name, asleep.into_iter().chain(phantoms), || unclear(name, why));
        }
    };
    let findings: Vec<Finding> = (0..case.claims.keys.len())
        .map(|key| examine(case.run, &case.claims, &phase, key))
        .collect();
    let stuck = stuck(case, &phase, &findings);
    let others = asleep.into_iter().chain(phantoms);
    if stuck.is_empty() {
        return verdict(name, others, || without_deadlock(name, case, &phase, &findings));
    }
    let summary = format!(
        "nobody was granted the lock in the {} after all faults were healed",
        seconds(phase.lasts())
    );
    let anomalies = stuck.into_iter().chain(others).collect();
    Verdict { anomalies, ..Verdict::new(name, Outcome::Violated, summary) }
}

fn unclear(name: &str, why: impl Into<String>) -> Verdict {
    Verdict::new(name, Outcome::Inconclusive, why)
}

fn verdict(
    name: &str,
    anomalies: impl Iterator<Item = Anomaly>,
    otherwise: impl Fn() -> Verdict,
) -> Verdict {
    let anomalies: Vec<Anomaly> = anomalies.collect();
    if anomalies.is_empty() {
        return otherwise();
    }
    let named: Vec<String> = anomalies.iter().map(|a| count(a.count, &a.name)).collect();
    Verdict { anomalies, ..Verdict::new(name, Outcome::Violated, named.join(", ")) }
}

/// The locks that nobody got, and those of them that were left taken by somebody who is gone.
fn stuck(case: &Case<'_>, phase: &Phase, findings: &[Finding]) -> Vec<Anomaly> {
    let stuck = findings.iter().filter_map(|finding| match finding {
        Finding::Deadlock(first) => Some(&case.claims.claims[*first]),
        _ => None,
    });
    let stop = phase.stop.index;
    let first = stuck.clone().next().map(|claim| [claim.invoke, stop]);
    let deadlock = first.map(|at| decided("deadlock", stuck.clone().count() as u64, at, ""));
    let orphans: Vec<[u64; 3]> = stuck
        .filter_map(|first| {
            let ours = of_key(case, first.key);
            let (at, culprit) = culprit(&ours, last_grant(&ours, stop))?;
            let gone = culprit.end.is_none_or(|end| end.how != Ending::Lost);
            gone.then_some([at, first.invoke, stop])
        })
        .collect();
    let orphan = orphans.first().map(|at| decided("orphan", orphans.len() as u64, *at, ""));
    deadlock.into_iter().chain(orphan).collect()
}

fn of_key<'a>(case: &'a Case<'_>, key: usize) -> Vec<&'a Claim> {
    case.claims.claims.iter().filter(|claim| claim.key == key).collect()
}

/// The latest grant before the run ended.
fn last_grant<'a>(ours: &[&'a Claim], stop: u64) -> Option<&'a Claim> {
    let granted = ours.iter().filter(|claim| claim.granted().is_some_and(|ok| ok < stop));
    granted.max_by_key(|claim| claim.granted()).copied()
}

/// How long after its last excuse a lock may stay taken.
fn due(run: &Run) -> u64 {
    u64::from(run.info.promises.recovers.unwrap_or(1).max(1)).saturating_mul(run.info.ttl)
}

fn examine(run: &Run, claims: &Claims, phase: &Phase, key: usize) -> Finding {
    let ours = || claims.claims.iter().enumerate().filter(move |(_, claim)| claim.key == key);
    let grants = ours().filter_map(|(_, claim)| claim.granted()).filter(|ok| phase.has(*ok));
    let grants = grants.count() as u64;
    if grants > 0 {
        return Finding::Granted(grants);
    }
    let mut asked = ours().filter(|(_, claim)| phase.meets(&claim.asking())).peekable();
    if asked.peek().is_none() {
        return Finding::Idle;
    }
    let to_the_end =
        |claim: &Claim| claim.definite().is_some_and(|hold| hold.contains(&phase.stop.index));
    if let Some((holder, _)) = ours().find(|(_, claim)| to_the_end(claim)) {
        return Finding::Held(holder);
    }
    let recovers = run.info.promises.recovers.is_some();
    let excuses = ours().filter_map(|(_, claim)| excused_until(claim, recovers, phase.stop.index));
    let phase = phase.from(run.history.get(excuses.max().unwrap_or(0)));
    persistent(run, &phase, ours())
}

/// Whether the lock was asked for long enough after its last excuse.
fn persistent<'a>(
    run: &Run,
    phase: &Phase,
    claims: impl Iterator<Item = (usize, &'a Claim)>,
) -> Finding {
    let time = |at: u64| run.history.get(at).map_or(phase.stop.time, |event| event.time);
    let asked: Vec<_> = claims.filter(|(_, claim)| phase.meets(&claim.asking())).collect();
    let from = asked.iter().map(|(_, claim)| time(claim.invoke).max(phase.quiet.time)).min();
    let to = asked.iter().map(|(_, claim)| time(claim.asking().end).min(phase.stop.time)).max();
    let lasted = to.unwrap_or(0).saturating_sub(from.unwrap_or(0));
    match asked.first() {
        Some((first, _)) if lasted >= due(run) => Finding::Deadlock(*first),
        _ => Finding::TooShort(lasted),
    }
}

/// The last event before `stop` at which a client may have left the lock taken.
fn excused_until(claim: &Claim, recovers: bool, stop: u64) -> Option<u64> {
    let held = claim.end.map(|end| end.at);
    if !recovers {
        return held.filter(|at| *at < stop);
    }
    let unknown = match claim.answer {
        Answer::Unknown(at) => Some(at),
        _ => None,
    };
    let freed = claim.freed.map(|(at, _)| at);
    [held, unknown, freed].into_iter().flatten().filter(|at| *at < stop).max()
}

fn without_deadlock(name: &str, case: &Case<'_>, phase: &Phase, findings: &[Finding]) -> Verdict {
    let Case { run, claims, .. } = case;
    let mut slowest = None;
    let mut total = 0;
    for (key, finding) in findings.iter().enumerate() {
        match finding {
            Finding::Granted(grants) => {
                let oks = claims.grants().filter(|claim| claim.key == key);
                let first = phase.first_grant(&run.history, oks.filter_map(Claim::granted));
                slowest = slowest.max(first);
                total += grants;
            }
            Finding::Held(holder) => {
                let who = process(&claims.claims[*holder]);
                return unclear(name, format!("{who} held the lock until the end"));
            }
            Finding::TooShort(lasted) => return unclear(name, too_short(run, *lasted)),
            Finding::Idle | Finding::Deadlock(_) => {}
        }
    }
    let Some((after, first)) = slowest else {
        let why = format!("nobody asked for the lock in the {} of quiet", seconds(phase.lasts()));
        return unclear(name, why);
    };
    let summary = format!("{first}, {} in the quiet phase", count(total, "grant"));
    let measures = vec![Measure::new("first grant in the quiet phase, after", "ns", after)];
    Verdict { measures, ..Verdict::new(name, Outcome::Held, summary) }
}

fn too_short(run: &Run, lasted: u64) -> String {
    format!(
        "nobody was granted the lock, but it was asked for over {} only and may take {} to be \
         free again: a longer quiet phase would tell",
        seconds(lasted),
        seconds(due(run))
    )
}

/// The last hold, what came after it, the first acquire that nobody answered, and the end.
fn tell_deadlock(story: &mut Story<'_>, case: &Case<'_>, phase: &Phase, first: &Claim) {
    let run = case.run;
    let ours = of_key(case, first.key);
    let last = last_grant(&ours, phase.stop.index);
    if let Some((claim, end)) = last.and_then(|claim| Some((claim, claim.end?))) {
        story.end(claim, end);
    }
    if !tell_culprit(story, &ours, last) {
        let after = last.and_then(Claim::granted).unwrap_or(0);
        story.server_faults(after..phase.quiet.index, phase.quiet.index);
    }
    story.tell(first.invoke, process(first), "asked", "");
    let promise = match run.info.promises.recovers {
        Some(_) => format!("the lock promises to be free again within {}", seconds(due(run))),
        None => "the lock never promised to recover".into(),
    };
    let silence = format!(
        "was over at {} and nobody had been granted the lock",
        story.time(phase.stop.index)
    );
    story.say(phase.stop.index, "the run", silence);
    let quiet = seconds(phase.lasts());
    story.remark(format!("all faults had been healed for {quiet}, and {promise}"));
}

/// The first claim after the last grant that may have left the lock taken, and where it ended.
fn culprit<'a>(ours: &[&'a Claim], last: Option<&Claim>) -> Option<(u64, &'a Claim)> {
    let after = last.and_then(Claim::granted).unwrap_or(0);
    let suspects = ours.iter().filter_map(|claim| Some((suspect(claim)?, *claim)));
    suspects.filter(|(at, _)| *at > after).min_by_key(|(at, _)| *at)
}

fn tell_culprit(story: &mut Story<'_>, ours: &[&Claim], last: Option<&Claim>) -> bool {
    let Some((at, claim)) = culprit(ours, last) else { return false };
    match claim.answer {
        Answer::Unknown(_) if story.is_death(at) => {
            story.tell(at, process(claim), story.death(claim, at), " while it asked");
        }
        Answer::Unknown(_) => {
            story.tell(at, format!("{}'s acquire", process(claim)), "ended unknown", "");
        }
        _ => match claim.end.filter(|end| end.at == at) {
            Some(end) => story.end(claim, end),
            None => story.tell(at, format!("{}'s release", process(claim)), "ended unknown", ""),
        },
    }
    true
}

/// Where a claim ended such that the lock may still count its client as the holder.
fn suspect(claim: &Claim) -> Option<u64> {
    let unfreed = claim.freed.filter(|(_, kind)| *kind == Kind::Info).map(|(at, _)| at);
    let silent = claim.end.filter(|end| end.how != Ending::Released).map(|end| end.at);
    match claim.answer {
        Answer::Unknown(at) => Some(at),
        _ => silent.or(unfreed),
    }
}
