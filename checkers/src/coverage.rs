//! `coverage`: could this run have failed at all?
//!
//! **Decides** nothing about the lock, only whether the other verdicts are worth something. The
//! run must have had
//!
//! * contention: an acquire began while another process held or asked for the same lock in a mode
//!   that excludes its own (two readers do not contend, nor do two for whom there are permits);
//! * at least 10 grants, to at least two processes;
//! * for a lock that promises `shared`: readers who contended with an exclusive claim;
//!
//! and, unless the nemesis is `none`,
//!
//! * a fault that was *measured* to have done something, was in force while a client that it hits
//!   asked for the lock, held it or freed it (any client, for a fault that hits only servers), and
//!   went far enough to matter: a pause or cut of a client outlasted its grant, one of a server a
//!   call's time-out, a clock was wrong by more than what the longest hold leaves of a grant, and
//!   somebody held the lock from before the only server lost its data until after it was back,
//!   while another asked (where no tokens can go back, too);
//! * a grant in the quiet phase after the last heal.
//!
//! A run by a fault script must have had each fault of it, with a measured effect.
//!
//! Under every nemesis, nobody else may have done something to a server or a client.
//!
//! A condition that is not met makes the run inconclusive, by name; it is never violated.
//!
//! **Limits.** Any effect of a crash or a disturbed link counts, and any drift of a clock.
//!
//! **Source.** stateright's `sometimes` properties; "a green run must be able to be red".

mod reach;

use crate::evidence::Evidence;
use crate::faults::FaultSpan;
use crate::words::{count, seconds};
use crate::{Case, Checker};
use base::{Event, Mode, Outcome, Run, RunSpec, ScriptedFault, Verdict};
use histories::holds::{AcquireAnswer, Claim, Claims};
use reach::{FaultReach, Wanted};

#[cfg(test)]
mod tests;

/// The least number of grants that shows anything.
const MIN_GRANTS: u64 = 10;

const LONGER: &str = "a longer --time-limit";
const LONGER_OR_SHORTER: &str = "a longer --time-limit or a shorter --ttl";
const MORE_CLIENTS: &str = "more --clients";
const RIVALS: &str = "more --clients, a longer --hold or fewer --keys";

/// The coverage checker.
pub struct Coverage;

impl Checker for Coverage {
    fn name(&self) -> &'static str {
        "coverage"
    }

    fn summary(&self) -> &'static str {
        "the run could have failed: contention, grants, and faults that hit while it mattered"
    }

    fn check(&self, case: &Case<'_>) -> Verdict {
        let Evidence { run, claims, .. } = &**case;
        let mut facts = CoverageFacts::default();
        contention(run, claims, &mut facts);
        if run.info.run.nemesis != "none" {
            faults(case, &mut facts);
            recovery(case, &mut facts);
        }
        script(case, &mut facts);
        // Beside this, it does not matter what else is missing.
        if let Some(interference) = case.interference() {
            facts.missed = vec![describe(interference)];
            facts.advice.clear();
        }
        facts.verdict(self.name())
    }
}

/// The parts of a run that were seen, and those that were missed.
#[derive(Debug, Default)]
struct CoverageFacts {
    seen: Vec<String>,
    missed: Vec<String>,
    /// The changes to a run after which nothing would be missed.
    advice: Vec<&'static str>,
}

impl CoverageFacts {
    fn verdict(self, name: &str) -> Verdict {
        let seen = self.seen.join("; ");
        if self.missed.is_empty() {
            return Verdict::new(name, Outcome::Held, seen);
        }
        let why = format!("{} ({seen})", self.missed.join("; "));
        // One of these says what the other does.
        let both = self.advice.contains(&LONGER_OR_SHORTER);
        let advice = self.advice.into_iter().filter(|advice| !both || *advice != LONGER);
        let advice = advice.map(str::to_owned).collect();
        Verdict { advice, ..Verdict::new(name, Outcome::Inconclusive, why) }
    }

    /// Says what is missing, and what a run needs so that it is not.
    fn miss(&mut self, what: impl Into<String>, advice: &'static str) {
        self.missed.push(what.into());
        if !self.advice.contains(&advice) {
            self.advice.push(advice);
        }
    }
}

/// Describes what somebody else did.
fn describe(interference: &Event) -> String {
    let what = interference.error.as_deref().unwrap_or("a server or a client was disturbed");
    let at = seconds(interference.time_ns);
    format!(
        "{what}, as was seen at {at}, and no fault of this run did that: run it again undisturbed"
    )
}

fn contention(run: &Run, claims: &Claims, facts: &mut CoverageFacts) {
    let holders = claims.holders.len();
    let grants = claims.granted();
    let permits = u64::from(run.info.lock.promises.permits);
    let (mut contended, mut granted, mut mixed) = (0u64, 0u64, false);
    for (claim, rivals) in claims.claims.iter().zip(rivals(claims)) {
        let is_contended = rivals.leave_too_few(claim, permits);
        contended += u64::from(is_contended);
        granted += u64::from(is_contended && claim.granted().is_some());
        mixed |= match claim.mode {
            Mode::Exclusive => rivals.shared > 0,
            Mode::Shared => rivals.exclusive > 0,
        };
    }
    let processes = if holders == 1 { "process" } else { "processes" };
    facts.seen.push(format!(
        "{} by {} {processes}, {} contended",
        count(grants, "grant"),
        holders,
        granted
    ));
    if grants < MIN_GRANTS {
        facts.miss(format!("fewer than {MIN_GRANTS} grants"), LONGER);
    }
    match (run.info.all_workers(), holders) {
        (0 | 1, _) if contended == 0 => facts.miss("one client alone has no rival", MORE_CLIENTS),
        (_, 0 | 1) => facts.miss("fewer than 2 processes got the lock", LONGER),
        (_, _) if contended == 0 => facts.miss("nobody had to wait for anybody", RIVALS),
        (_, _) => {}
    }
    if run.info.lock.promises.shared && !mixed {
        facts.miss("no reader contended with a writer", LONGER);
    }
}

/// The permits that others held or asked for when a claim began, as far as their modes exclude it.
#[derive(Clone, Copy, Debug, Default)]
struct Rivals {
    exclusive: u64,
    shared: u64,
}

impl Rivals {
    /// Returns true if they would leave too few of all permits for a claim.
    fn leave_too_few(self, claim: &Claim, permits: u64) -> bool {
        self.exclusive + self.shared + u64::from(claim.permits) > permits
    }

    fn of(&mut self, mode: Mode) -> &mut u64 {
        match mode {
            Mode::Exclusive => &mut self.exclusive,
            Mode::Shared => &mut self.shared,
        }
    }

    fn excluding(self, mode: Mode) -> Self {
        match mode {
            Mode::Exclusive => self,
            Mode::Shared => Self { shared: 0, ..self },
        }
    }
}

/// The rivals of every claim, counted in one pass. A process is taken not to ask for what it holds.
fn rivals(claims: &Claims) -> impl Iterator<Item = Rivals> {
    let mut now = vec![Rivals::default(); claims.keys.len()];
    let mut over = no_longer_wanted(claims).peekable();
    claims.claims.iter().map(move |claim| {
        while let Some((_, over)) = over.next_if(|(end, _)| *end < claim.invoke) {
            let over = &claims.claims[over as usize];
            *now[over.key].of(over.mode) -= u64::from(over.permits);
        }
        let now = &mut now[claim.key];
        let rivals = now.excluding(claim.mode);
        *now.of(claim.mode) += u64::from(claim.permits);
        rivals
    })
}

/// Returns the events at which claims are no longer wanted, in order: the end of a hold, or an
/// answer that was not a grant.
fn no_longer_wanted(claims: &Claims) -> impl Iterator<Item = (u64, u32)> {
    let ended = claims.changes.iter().filter(|change| change.to.is_none());
    let mut ended = ended.map(|change| (change.at, change.hold)).peekable();
    let refused =
        claims.answered.iter().filter_map(|id| match claims.claims[*id as usize].answer {
            AcquireAnswer::Failed(at) | AcquireAnswer::Unknown(at) => Some((at, *id)),
            AcquireAnswer::Granted(_) | AcquireAnswer::Open => None,
        });
    let mut refused = refused.peekable();
    std::iter::from_fn(move || match (ended.peek(), refused.peek()) {
        (Some(a), Some(b)) if a.0 <= b.0 => ended.next(),
        (_, Some(_)) => refused.next(),
        (_, None) => ended.next(),
    })
}

fn faults(evidence: &Evidence<'_>, facts: &mut CoverageFacts) {
    let Evidence { fault_spans, .. } = evidence;
    let wanted = Wanted::of(evidence);
    let hit = fault_spans.iter().filter(|fault_span| fault_span.had_effect());
    let hit: Vec<FaultReach<'_>> = hit.filter_map(|fault_span| wanted.reach(fault_span)).collect();
    let sufficient = hit.iter().filter(|reach| reach.suffices()).count();
    facts.seen.push(format!(
        "{sufficient} of {} could have done harm while the lock was held or wanted",
        count(fault_spans.len() as u64, "fault")
    ));
    if sufficient > 0 {
        return;
    }
    match hit.iter().max_by(|a, b| a.share().total_cmp(&b.share())) {
        _ if fault_spans.is_empty() => {
            let RunSpec { time_limit_ns, ttl_ns, .. } = &evidence.run.info.run;
            let (limit, ttl) = (seconds(*time_limit_ns), seconds(*ttl_ns));
            let none = format!("no fault came that could end within {limit}, with a ttl of {ttl}");
            facts.miss(none, LONGER_OR_SHORTER);
        }
        None => facts.miss("no fault had an effect while the lock was held or wanted", LONGER),
        Some(furthest) => {
            let reach = furthest.describe();
            facts.miss(format!("no fault went far enough to do harm: {reach}"), LONGER_OR_SHORTER);
        }
    }
}

/// Looks for each fault of the run's script among those that came.
fn script(Evidence { run, fault_spans, .. }: &Evidence<'_>, facts: &mut CoverageFacts) {
    for ScriptedFault { line, what } in &run.info.script {
        let named = format!("the fault in line {line} of the script, {what},");
        let mut came = fault_spans.iter().filter(|fault_span| fault_span.line == Some(*line));
        match came.clone().next() {
            None => facts.miss(format!("{named} never came"), LONGER),
            Some(_) if came.all(FaultSpan::had_effect) => {}
            Some(_) => facts.missed.push(format!("{named} had no effect")),
        }
    }
}

fn recovery(Evidence { run, claims, phase, .. }: &Evidence<'_>, facts: &mut CoverageFacts) {
    let phase = match *phase {
        Ok(phase) => phase,
        Err(why) => return facts.missed.push(why.into()),
    };
    let grants = claims.grants().filter_map(Claim::granted);
    if let Some((_, first)) = phase.first_grant(&run.history, grants.clone()) {
        facts.seen.push(first);
    }
    if !grants.clone().any(|ok| phase.has(ok)) {
        facts.missed.push("nothing was granted in the quiet phase".into());
    }
}
