//! The result of a lab.

use base::Outcome;
use base::units::{count, counted};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// The result of a lab. It is displayed as a test tells it.
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::Lab;
///
/// let outcome = Lab::redis().lock(MyLock::new).named("my-lock").schedules(20).check()?;
/// assert_eq!(outcome.to_string(), "my-lock held in 20 schedules");
/// # Ok::<(), picklock::LabError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LabOutcome {
    /// The name of the lock.
    pub lock: String,
    /// The verdict. A lab in which too few schedules could have shown a breach is inconclusive.
    pub outcome: Outcome,
    /// The number of schedules that were run, without those of the shrinking.
    pub schedules: u64,
    /// The number of these that could not tell.
    pub inconclusive: u64,
    /// The anomalies that schedules showed in place of the one that was asked for.
    pub others: BTreeSet<String>,
    /// The schedule that breaks a promise, as small as it could be made.
    pub counterexample: Option<Counterexample>,
}

impl LabOutcome {
    /// The result of a lab that has run nothing: it is begun, or a client has only passed by.
    pub(super) const fn begun(lock: String) -> Self {
        Self {
            lock,
            outcome: Outcome::Held,
            schedules: 0,
            inconclusive: 0,
            others: BTreeSet::new(),
            counterexample: None,
        }
    }

    /// The same result with a counterexample.
    pub(super) fn broken_by(self, found: Counterexample) -> Self {
        Self { outcome: Outcome::Violated, counterexample: Some(found), ..self }
    }
}

/// A schedule in which the lock breaks a promise.
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::{Lab, Nemesis};
///
/// # let folder = tempfile::tempdir().expect("a folder");
/// let lab = Lab::redis().lock(MyLock::careless).under([Nemesis::PauseClient]).schedules(20);
/// # let lab = lab.keeping_in(folder.path());
/// let found = lab.check()?.counterexample.expect("a mistake");
/// println!("{}\n{}", found.story, found.replay);
/// assert!(found.anomaly.starts_with("double hold by "));
/// # Ok::<(), picklock::LabError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The anomaly: "double hold".
    pub anomaly: String,
    /// The faults under which it was found.
    pub nemesis: String,
    /// The story, step by step.
    pub story: String,
    /// The file with the schedule, which is run first next time. `None`: it was found on real
    /// servers, where no schedule comes twice.
    pub schedule: Option<PathBuf>,
    /// The page with the picture of it. `None`: nothing could be written.
    pub report: Option<PathBuf>,
    /// The command that replays exactly this schedule; on real servers, one that tries again.
    pub replay: String,
}

impl fmt::Display for LabOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lock, outcome, schedules, inconclusive, others, counterexample } = self;
        let run = counted(*schedules, "schedule", "schedules");
        let Some(found) = counterexample else {
            return match outcome {
                Outcome::Held => write!(f, "{lock} held in {run}"),
                _ if !others.is_empty() => {
                    let others: Vec<&str> = others.iter().map(String::as_str).collect();
                    write!(f, "{lock}: after {run}, which showed {}", others.join(", "))
                }
                _ => write!(
                    f,
                    "{lock}: nothing can be said after {run}: {} could not have shown a breach; \
                     try more of them, or other faults",
                    count(*inconclusive)
                ),
            };
        };
        let Counterexample { anomaly, nemesis, story, schedule, report, replay } = found;
        writeln!(f, "{lock} breaks a promise: {anomaly} under {nemesis}, after {run}\n\n{story}")?;
        if let Some(report) = report {
            writeln!(f, "picture   {}", report.display())?;
        }
        if let Some(schedule) = schedule {
            writeln!(f, "schedule  {}", schedule.display())?;
        }
        write!(f, "replay    {replay}")
    }
}
