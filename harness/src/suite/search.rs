//! Runs an entry until what is expected of it is seen, or its seeds are used up.

use base::{BackendError, Outcome, Run};
use checkers::Judgement;
use std::collections::BTreeSet;

use super::outcome::{EntryOutcome, EntryStatus};
use super::{Fit, SuiteEntry};
use crate::named_anomaly::NamedAnomaly;
use crate::setup::{Setup, SetupError};

/// The result of an entry that was run.
pub struct EntryFinding {
    /// The result, as it is displayed and stored.
    pub outcome: EntryOutcome,
    /// The run that shows it: the first that is not as expected, or the one in which the last
    /// expected anomaly was seen.
    pub shown: Option<(Run, Judgement)>,
}

impl EntryFinding {
    /// The result of an entry that could not be run.
    pub fn inconclusive(entry: &SuiteEntry, reason: String) -> Self {
        finding(entry, EntryStatus::Inconclusive(reason), 0, None, None)
    }
}

/// The share of schedules that may be unclear, of an entry that must hold: one in twenty.
const UNCLEAR: u64 = 20;

/// The reason why an entry could not be run.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// It asks for something impossible.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The world broke.
    #[error(transparent)]
    World(#[from] BackendError),
}

/// Runs the seeds of an entry in a world, in order. What must break is done with as soon as it has
/// been seen; what must hold takes all seeds.
///
/// # Errors
/// Fails when a run cannot be made.
pub fn search(
    entry: &SuiteEntry,
    seeds: u64,
    setup: impl Fn(u64) -> Result<Setup, SetupError>,
    mut run: impl FnMut(&Setup) -> Result<Run, BackendError>,
) -> Result<EntryFinding, EntryError> {
    let mut missing: BTreeSet<(&str, &NamedAnomaly)> = entry.expect.anomalies().collect();
    let violation = !missing.is_empty();
    let (mut unclear, mut done, mut conclusive, mut why) = (0, 0, 0, String::new());
    let mut last = None;
    for seed in 0..seeds {
        let run = run(&setup(seed)?)?;
        let judgement = Judgement::of(&run);
        done += 1;
        conclusive += u64::from(judgement.outcome != Outcome::Inconclusive);
        match entry.expect.fit(&run.info, &judgement) {
            Fit::Misfit(reason) => {
                let status = EntryStatus::NotAsExpected(format!("seed {seed}: {reason}"));
                return Ok(finding(entry, status, done, Some(seed), Some((run, judgement))));
            }
            Fit::Unclear(reason) => {
                unclear += 1;
                why = reason;
            }
            Fit::Fits => {}
        }
        let before = missing.len();
        missing.retain(|(property, anomaly)| !anomaly.is_in(property, &judgement));
        if violation && missing.is_empty() {
            let shown = Some((run, judgement));
            return Ok(finding(entry, EntryStatus::AsExpected, done, Some(seed), shown));
        }
        if missing.len() < before || last.is_none() {
            last = Some((run, judgement));
        }
    }
    let status = match missing.first() {
        // Runs that could not have shown anything do not say that there is nothing to be seen.
        Some((_, anomaly)) if conclusive == 0 => {
            EntryStatus::Inconclusive(format!("no run could have shown {anomaly}"))
        }
        Some((_, anomaly)) => EntryStatus::NotAsExpected(format!("{anomaly} was not seen")),
        None if unclear * UNCLEAR > seeds => {
            EntryStatus::Inconclusive(format!("{unclear} of {seeds} could not tell: {why}"))
        }
        None => EntryStatus::AsExpected,
    };
    Ok(finding(entry, status, done, None, last))
}

fn finding(
    entry: &SuiteEntry,
    status: EntryStatus,
    schedules: u64,
    seed: Option<u64>,
    shown: Option<(Run, Judgement)>,
) -> EntryFinding {
    let measures = shown.iter().flat_map(|(_, judgement)| &judgement.verdicts);
    let measures = measures.flat_map(|verdict| verdict.measures.clone()).collect();
    let outcome = EntryOutcome {
        name: entry.name.clone(),
        hazards: entry.hazards.clone(),
        lock: entry.lock.name().into(),
        nemesis: entry.run.nemesis.clone(),
        expected: entry.expect.to_string(),
        status,
        schedules,
        seed,
        measures,
        backend: String::new(),
        command: String::new(),
        folder: None,
        took_ns: 0,
    };
    EntryFinding { outcome, shown }
}
