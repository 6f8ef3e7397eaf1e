//! The culprit that keeps a stuck lock from everybody, as far as the history tells, and its story.

use super::permits::most_held;
use super::standstill::Standstill;
use super::waiting::is_phantom;
use crate::Case;
use crate::causes;
use crate::phase::QuietPhase;
use crate::story::Story;
use crate::words::{process, seconds};
use base::{Cause, F, Kind, Mode, Removed, phrases};
use histories::holds::{AcquireAnswer, Claim, Ending};
use std::ops::Range;

/// The culprit that keeps a stuck lock from everybody.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Culprit<'a> {
    /// It was refused the lock, and the store counts it as the holder.
    Phantom,
    /// It sleeps, though the lock was freed: by a release that was answered there, if by one.
    Sleeper { claim: &'a Claim, freed: Option<u64> },
    /// It may have left the lock taken here: it died, was in doubt, or believed it lost.
    Gone(u64, &'a Claim),
    /// Nobody that the history knows.
    Unknown,
}

/// Finds whoever kept a stuck lock from everybody. What the history proves comes before what it
/// leaves open.
pub(super) fn culprit<'a>(case: &'a Case<'_>, stuck: &Standstill) -> Culprit<'a> {
    let (key, stop) = (stuck.key, stuck.until);
    let ours: Vec<&Claim> = case.asked(key).map(|(_, claim)| claim).collect();
    // A permit may be gone since long before the last grant of another.
    let last = last_grant(&ours, stop).filter(|_| case.run.info.lock.promises.permits == 1);
    let after = last.and_then(Claim::granted).unwrap_or(0);
    if ours.iter().filter_map(|claim| is_phantom(case, claim)).any(|at| at > after && at < stop) {
        return Culprit::Phantom;
    }
    if let Some(sleeper) = sleeper(case, &ours, stuck) {
        return sleeper;
    }
    if let Some(ownership) = case.ownership()
        && let Some(claim) = causes::culprit_of(case, ownership, key, stuck.kept_ns(case))
    {
        let gone = claim.gone_at().filter(|at| *at <= stop);
        return gone.map_or(Culprit::Unknown, |at| Culprit::Gone(at, claim));
    }
    let suspects = ours.iter().filter_map(|claim| Some((claim.gone_at()?, *claim)));
    let suspects = suspects.filter(|(at, _)| *at > after && *at <= stop);
    // What was to be over by then is the last to be suspected.
    let kept_ns = stuck.kept_ns(case);
    let is_over = |claim: &Claim| {
        let expires = claim.granted().and_then(|ok| case.facts(ok)?.expires_ns);
        expires.is_some_and(|expires_ns| expires_ns <= kept_ns)
    };
    let first = suspects.min_by_key(|(at, claim)| (is_over(claim), *at));
    first.map_or(Culprit::Unknown, |(at, claim)| Culprit::Gone(at, claim))
}

/// The latest grant before the run ended.
fn last_grant<'a>(ours: &[&'a Claim], stop: u64) -> Option<&'a Claim> {
    let granted = ours.iter().filter(|claim| claim.granted().is_some_and(|ok| ok < stop));
    granted.max_by_key(|claim| claim.granted()).copied()
}

/// An acquire that slept while the lock was freed, and on for the whole of its bound.
fn sleeper<'a>(case: &Case<'_>, ours: &[&'a Claim], stuck: &Standstill) -> Option<Culprit<'a>> {
    let stop = stuck.until;
    case.run.info.lock.promises.wakes?;
    if let Some(ownership) = case.ownership() {
        let nothing_left =
            causes::of_stuck(case, stuck.key, stuck.kept_ns(case)) == Cause::Recipe.into();
        return nothing_left.then(|| asleep(case, ownership, ours, stuck)).flatten();
    }
    if let Some(deaf) = deaf(case, ours, stuck) {
        return Some(deaf);
    }
    let (release, freed) = last_release(case, ours).filter(|(_, freed)| *freed < stop)?;
    let due = case.time(freed).saturating_add(case.run.info.due_ns());
    let slept = |claim: &&&Claim| {
        let asking = claim.asking();
        asking.start < release && case.time(asking.end) >= due && !woken(case, claim, release..stop)
    };
    let claim = ours.iter().filter(slept).min_by_key(|claim| claim.invoke)?;
    // Whatever lost its owner since the first request of those that were granted last is there
    // still.
    let granted = ours.iter().filter(|claim| claim.granted().is_some_and(|ok| ok < freed));
    let since = granted.map(|claim| claim.invoke).max()?.min(claim.invoke);
    let until = due.min(case.run.history.end());
    let calm = case.calm().spans_times(case.time(since), until);
    calm.then_some(Culprit::Sleeper { claim, freed: Some(freed) })
}

/// Returns the first, of those that slept for the whole of the bound, that could not hear that it
/// slept in vain. What keeps others out of a lock that recovers is over by then.
fn deaf<'a>(case: &Case<'_>, ours: &[&'a Claim], stuck: &Standstill) -> Option<Culprit<'a>> {
    case.run.info.lock.promises.recovers?;
    let heard_nothing = |claim: &&Claim| causes::hears_nothing(case, claim, stuck.until);
    let deaf = slept_through(case, ours, stuck).filter(heard_nothing);
    let claim = deaf.min_by_key(|claim| claim.invoke)?;
    Some(Culprit::Sleeper { claim, freed: None })
}

/// Returns the first, of those that slept for the whole of the bound. Whoever has a place in the
/// store may keep others out, and comes before those without one.
fn asleep<'a>(
    case: &Case<'_>,
    ownership: &causes::Ownership,
    ours: &[&'a Claim],
    stuck: &Standstill,
) -> Option<Culprit<'a>> {
    let left = case.left(ownership, stuck.kept_ns(case));
    let first = |claim: &&Claim| (!left.has(stuck.key, claim.process), claim.invoke);
    let claim = slept_through(case, ours, stuck).min_by_key(first)?;
    let freed = last_release(case, ours).map(|(_, freed)| freed);
    Some(Culprit::Sleeper { claim, freed: freed.filter(|freed| *freed > claim.invoke) })
}

/// Returns the acquires that asked for the whole of the bound, and were not woken in it.
fn slept_through<'a>(
    case: &Case<'_>,
    ours: &[&'a Claim],
    stuck: &Standstill,
) -> impl Iterator<Item = &'a Claim> {
    let events = case.run.history.events();
    let place = |ns: u64| events.partition_point(|event| event.time_ns < ns) as u64;
    let until = stuck.until.min(place(stuck.proven_ns));
    let since = place(stuck.proven_ns.saturating_sub(case.run.info.due_ns()));
    ours.iter().copied().filter(move |claim| {
        let asking = claim.asking();
        asking.start < since && asking.end >= until && !woken(case, claim, since..until)
    })
}

/// The begin of the last release and its answer, if all releases freed what they were to free.
fn last_release(case: &Case<'_>, ours: &[&Claim]) -> Option<(u64, u64)> {
    let nothing =
        |at: u64| case.facts(at).and_then(|facts| facts.removed) == Some(Removed::Nothing);
    let mut last = None;
    for claim in ours.iter().filter(|claim| claim.granted().is_some()) {
        let (end, (freed, kind)) = (claim.end?, claim.freed?);
        if end.how != Ending::Released || kind != Kind::Ok || nothing(freed) {
            return None;
        }
        last = last.max(Some((freed, end.at)));
    }
    last.map(|(freed, release)| (release, freed))
}

/// Returns true if the store woke a claim's client between two events, while it asked.
fn woken(case: &Case<'_>, claim: &Claim, during: Range<u64>) -> bool {
    case.woken(claim.process, during.start..during.end.min(claim.asking().end))
}

/// Tells of a stuck lock: the last hold, what came after it, who asked, and the end.
pub(super) fn tell(story: &mut Story<'_>, case: &Case<'_>, phase: &QuietPhase, stuck: &Standstill) {
    let run = case.run;
    let first = &case.claims.claims[stuck.first];
    let stop = phase.stop.index;
    let ours = || case.asked(first.key).map(|(_, claim)| claim);
    let reads = |claim: &Claim| claim.mode == Mode::Shared;
    let is_granted = |claim: &Claim| claim.granted().is_some_and(|ok| phase.has(ok));
    let permits = run.info.lock.promises.permits;
    let some_left = permits > 1 && ours().any(is_granted);
    let shuts_out = !reads(first) && ours().any(|claim| reads(claim) && is_granted(claim));
    let nobody = if shuts_out { "no writer" } else { "nobody" };
    let ours: Vec<&Claim> = ours().filter(|claim| !shuts_out || !reads(claim)).collect();
    let last = last_grant(&ours, stop).filter(|_| !some_left);
    if let Some((claim, end)) = last.and_then(|claim| Some((claim, claim.end?))) {
        story.end(claim, end);
    }
    let culprit = culprit(case, stuck);
    match culprit {
        Culprit::Gone(at, claim) => tell_gone(story, at, claim),
        Culprit::Unknown => {
            let after = last.and_then(Claim::granted).unwrap_or(0);
            story.server_faults(after..phase.quiet.index, phase.quiet.index);
        }
        Culprit::Sleeper { .. } | Culprit::Phantom => {}
    }
    story.tell(first.invoke, process(first), phrases::clause(F::Acquire, Kind::Invoke), "");
    let silence = match some_left {
        true => format!("{} had been held at once", most_held(case, phase, first.key)),
        false => format!("{nobody} had been granted the lock"),
    };
    story.say(stop, "the run", format!("was over at {} and {silence}", story.time(stop)));
    let since = last.and_then(Claim::granted).filter(|ok| phase.has(*ok));
    let unheard = match since {
        Some(ok) => format!("{nobody} had been granted it since {}", story.time(ok)),
        None => format!("all faults had been healed for {}", seconds(phase.lasts())),
    };
    let within = seconds(run.info.settled_ns());
    story.remark(match (culprit, run.info.lock.promises.recovers) {
        (Culprit::Sleeper { claim, .. }, _) => format!(
            "{} slept on when the lock was freed: nothing woke it, and it keeps everybody out",
            process(claim)
        ),
        (_, Some(_)) => {
            format!("{unheard}, and the lock promises to be granted again within {within}")
        }
        (_, None) => format!("{unheard}, and the lock never promised to recover"),
    });
}

fn tell_gone(story: &mut Story<'_>, at: u64, claim: &Claim) {
    match claim.answer {
        AcquireAnswer::Unknown(_) if story.is_death(at) => {
            story.tell(at, process(claim), story.death(claim, at), " while it asked");
        }
        AcquireAnswer::Unknown(_) => {
            story.tell(at, format!("{}'s acquire", process(claim)), "ended unknown", "");
        }
        _ => match claim.end.filter(|end| end.at == at) {
            Some(end) => story.end(claim, end),
            None => story.tell(at, format!("{}'s release", process(claim)), "ended unknown", ""),
        },
    }
}
