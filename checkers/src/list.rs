//! The list of checkers.

use crate::{
    AcquireErrors, Availability, Checker, Coverage, Exclusion, Fairness, Fencing, ForeignRelease,
    Herd, Independence, Perf, Progress, Reentrancy, ReleaseErrors, SharedConcurrency, VaultChecker,
};

/// Every checker, in the order in which reports show them.
pub const CHECKERS: &[&dyn Checker] = &[
    &Exclusion,
    &VaultChecker,
    &Fencing,
    &ForeignRelease,
    &Progress,
    &Fairness,
    &Herd,
    &Reentrancy,
    &Independence,
    &SharedConcurrency,
    &ReleaseErrors,
    &AcquireErrors,
    &Availability,
    &Coverage,
    &Perf,
];

/// The names of all anomalies, as verdicts have them.
pub const ANOMALIES: &[&str] = &[
    "double hold",
    "reader-writer overlap",
    "deadlock",
    "lost wake-up",
    "phantom holder",
    "stale write accepted",
    "lost update",
    "unguarded write",
    "foreign release",
    "failed release",
    "release freed nothing",
    "denied release",
    "unexplained doubt",
    "token went back",
    "token given twice",
    "grant without token",
    "starvation",
    "fifo inversion",
    "herd",
    "waits for another key",
    "readers one by one",
    "self-deadlock",
    "inner release freed the lock",
    "unavailable",
];
