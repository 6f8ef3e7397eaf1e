//! The words that all checkers share: numbers, times and processes, and an anomaly without its
//! story.

use base::{Anomaly, units};
use histories::holds::Claim;

/// A duration: "1.4 s".
pub(crate) use base::units::span as seconds;

/// A number and its noun: "1 grant", "2 grants".
pub(crate) fn count(n: u64, noun: &str) -> String {
    units::counted(n, noun, &format!("{noun}s"))
}

/// An anomaly as a checker decides it: the events that prove it, and a reason where one is needed.
pub(crate) fn decided(
    name: &str,
    count: u64,
    witness: impl IntoIterator<Item = u64>,
    reason: impl Into<String>,
) -> Anomaly {
    debug_assert!(crate::ANOMALIES.contains(&name), "`{name}` is not in the list of anomalies");
    let mut witness: Vec<u64> = witness.into_iter().collect();
    witness.sort_unstable();
    witness.dedup();
    Anomaly { name: name.into(), count, witness, explanation: reason.into(), ..Anomaly::default() }
}

/// A time of the history: seconds, to the millisecond.
pub(crate) fn moment(nanos: u64) -> String {
    units::moment(nanos, units::Precision::Millis)
}

/// A process by its number: "process 3".
pub(crate) fn process(claim: &Claim) -> String {
    format!("process {}", claim.process)
}
