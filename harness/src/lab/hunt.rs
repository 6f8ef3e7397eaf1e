//! The search of a lab in the simulator for a schedule that breaks a promise.

use base::{Cause, Outcome, RunSpec, nanos};
use checkers::Judgement;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use workloads::TestedLock;

use super::findings::{self, PLAIN};
use super::role::Role;
use super::{Counterexample, Lab, LabError, LabOutcome, SCHEDULES_VARIABLE, kept};
use crate::explore::{Search, SearchPart, search};
use crate::named_anomaly::NamedAnomaly;
use crate::schedule::{Schedule, Shows};
use crate::setup::Setup;
use crate::shrink::{Shrunk, render_story, shrink};
use crate::simulate;
use crate::threads::cores;

/// The most schedules that are run to shrink one.
const MOST_SHRINKING: u64 = 4_000;

/// The time of a schedule in which there are faults, in ttls. For the same cost, more mistakes are
/// found in many short schedules than in few long ones; in shorter ones than these, a cut often
/// meets nobody.
const TTLS: u32 = 8;
/// The shortest time of faults, whatever the ttl.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The same in holds, where these are long.
const HOLDS: u32 = 8;

/// Runs schedules until one shows what is wanted: an anomaly, or any breach.
pub fn in_simulator(
    lab: Lab,
    wanted: Option<&NamedAnomaly>,
    role: Role,
) -> Result<LabOutcome, LabError> {
    if role == Role::Client {
        return Err(LabError::OtherLab);
    }
    let lock = lab.tested(Arc::new(lab.opening.clone().simulated()))?;
    let Lab { nemeses, schedules, clients, hold, kept, .. } = lab;
    let so_far = LabOutcome::begun(lock.name().into());
    let mut hunt = Hunt { lock, wanted, kept, so_far };
    let (first, is_only) = kept::first(&hunt.lock, &hunt.kept)?;
    // A fault that is asked for no more, or of another lab of this test, says nothing of this one.
    let is_of_lab = |it: &Schedule| nemeses.iter().any(|nemesis| nemesis.name() == it.run.nemesis);
    for (file, schedule) in first.into_iter().filter(|(_, it)| is_only || is_of_lab(it)) {
        if let Some(found) = hunt.replay(&file, &schedule)? {
            return Ok(hunt.so_far.broken_by(found));
        }
    }
    if is_only {
        return Ok(hunt.so_far);
    }
    let each = each_of(asked(schedules)?, nemeses.len())?;
    for nemesis in &nemeses {
        let usual = hunt.lock.info.run(nemesis.name(), 0);
        let clients = clients.unwrap_or(usual.clients);
        let long = hold.map_or(Duration::ZERO, |hold| hold.time.saturating_mul(HOLDS));
        let time_limit_ns = nanos(long.max(usual.ttl() * TTLS).clamp(SHORTEST, LONGEST));
        // A swarm would draw holds of its own.
        let (swarm, hold) = (hold.is_none(), hold.unwrap_or(usual.hold));
        match hunt.search(&RunSpec { clients, swarm, hold, time_limit_ns, ..usual }, each)? {
            Ok(of_nemesis) => hunt.so_far.outcome = hunt.so_far.outcome.max(of_nemesis),
            Err(found) => return Ok(hunt.so_far.broken_by(found)),
        }
    }
    Ok(hunt.so_far)
}

/// Returns the number of schedules, which the environment may overrule.
fn asked(schedules: u64) -> Result<u64, LabError> {
    match std::env::var(SCHEDULES_VARIABLE) {
        Ok(value) => value.parse().map_err(|_| LabError::Schedules(value)),
        Err(_) => Ok(schedules),
    }
}

/// Returns the number of schedules for each of the faults.
pub fn each_of(schedules: u64, nemeses: usize) -> Result<u64, LabError> {
    let nemeses = u64::try_from(nemeses).ok().filter(|it| *it > 0).ok_or(LabError::NoNemesis)?;
    Ok(schedules.div_ceil(nemeses).max(1))
}

/// A search under way.
struct Hunt<'a> {
    lock: TestedLock,
    wanted: Option<&'a NamedAnomaly>,
    kept: PathBuf,
    so_far: LabOutcome,
}

impl Hunt<'_> {
    /// Runs so many schedules of a run, or until one shows what is wanted.
    fn search(
        &mut self,
        run: &RunSpec,
        schedules: u64,
    ) -> Result<Result<Outcome, Counterexample>, LabError> {
        // What a lock takes from the real world, its time or its randomness, no replay gives back.
        simulate::run_twice(&Setup::new(&self.lock, run.clone())?)?;
        let (stop, mut next) = (AtomicBool::new(false), 0);
        let mut outcome = Outcome::Inconclusive;
        while next < schedules {
            let part = SearchPart { whole: next..schedules, of: 1, shard: 1 };
            let lock = &self.lock;
            let until_found = true;
            let what = Search { lock, run, part, jobs: cores(), until_found, stop: &stop };
            let tally = search(&what, &|_| ())?;
            self.so_far.schedules += tally.held + tally.violated + tally.inconclusive;
            self.so_far.inconclusive += tally.inconclusive;
            let Some(seed) = tally.first_violation else {
                // What came before showed something else than what is wanted.
                outcome = if next == 0 { tally.outcome() } else { outcome };
                break;
            };
            if let Some(found) = self.look(RunSpec { seed, ..run.clone() })? {
                return Ok(Err(found));
            }
            next = seed + 1;
        }
        Ok(Ok(outcome))
    }

    /// Looks in the run of a seed for what is wanted, and shrinks its schedule.
    fn look(&mut self, run: RunSpec) -> Result<Option<Counterexample>, LabError> {
        let nemesis = run.nemesis.clone();
        let (run, schedule) = simulate::record(&Setup::new(&self.lock, run)?)?;
        let Some(shows) = findings::shown(&Judgement::of(&run), self.wanted) else {
            self.so_far.others.extend(findings::anomalies(&Judgement::of(&run)));
            return Ok(None);
        };
        let shrunk = shrink(&self.lock, &schedule, &shows, &mut |tried| tried < MOST_SHRINKING);
        let schedule = match shrunk {
            Ok(Shrunk { schedule, .. }) => schedule,
            Err(_) => Schedule { shows: Some(shows.clone()), ..schedule },
        };
        let cause = shows.cause.map_or("unknown", Cause::name);
        let file = format!("{nemesis}+{}+{cause}", shows.anomaly.replace(' ', "-"));
        let (file, schedule) = kept::keep(&self.lock, &self.kept, &file, &schedule)?;
        self.tell(&shows, nemesis, &file, &schedule).map(Some)
    }

    /// Runs a schedule that was kept.
    fn replay(
        &mut self,
        file: &Path,
        schedule: &Schedule,
    ) -> Result<Option<Counterexample>, LabError> {
        self.so_far.schedules += 1;
        let run = simulate::replay(&self.lock, schedule)?;
        let Some(shows) = findings::shown(&Judgement::of(&run), self.wanted) else {
            return Ok(None);
        };
        self.tell(&shows, schedule.run.nemesis.clone(), file, schedule).map(Some)
    }

    fn tell(
        &self,
        shows: &Shows,
        nemesis: String,
        file: &Path,
        schedule: &Schedule,
    ) -> Result<Counterexample, LabError> {
        let schedule = Schedule { shows: Some(shows.clone()), ..schedule.clone() };
        let story =
            render_story(&self.lock, &schedule, true, PLAIN).unwrap_or_else(|why| why.to_string());
        let anomaly = NamedAnomaly { name: shows.anomaly.clone(), cause: shows.cause };
        let variable = kept::REPLAY_VARIABLE;
        Ok(Counterexample {
            anomaly: anomaly.to_string(),
            nemesis,
            story,
            schedule: Some(file.into()),
            report: self.draw(&schedule),
            replay: format!("{variable}={} cargo test {}", file.display(), findings::test()),
        })
    }

    /// Draws a schedule. A test says what it found without it.
    fn draw(&self, schedule: &Schedule) -> Option<PathBuf> {
        let run = simulate::replay(&self.lock, schedule).ok()?;
        findings::draw(&run, &Judgement::of(&run))
    }
}
