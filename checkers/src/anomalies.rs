//! The list of anomalies.

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
