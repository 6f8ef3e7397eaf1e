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
