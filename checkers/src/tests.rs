//! The list of checkers: what each is called, what it says of itself, and what a run hangs on.

use super::{CHECKERS, check_all};
use crate::picture::picture;
use std::collections::BTreeSet;

#[test]
fn every_checker_has_its_name_and_says_something_of_its_own() {
    let names: Vec<&str> = CHECKERS.iter().map(|checker| checker.name()).collect();
    let expected = [
        "exclusion",
        "vault",
        "fencing",
        "foreign-release",
        "progress",
        "fairness",
        "herd",
        "reentrancy",
        "independence",
        "shared-concurrency",
        "release-errors",
        "acquire-errors",
        "availability",
        "coverage",
        "perf",
    ];
    assert_eq!(names, expected);
    let summaries: BTreeSet<&str> = CHECKERS.iter().map(|checker| checker.summary()).collect();
    assert_eq!(summaries.len(), CHECKERS.len());
    assert!(summaries.iter().all(|summary| summary.contains(' ')), "{summaries:?}");
}

#[test]
fn a_run_says_nothing_without_these_properties_and_may_do_without_the_others() {
    let decisive = CHECKERS.iter().filter(|checker| checker.decisive());
    let names: Vec<&str> = decisive.map(|checker| checker.name()).collect();
    assert_eq!(names, ["exclusion", "vault", "progress", "coverage"]);
    let verdicts = check_all(&picture("p0 | A=R"));
    assert_eq!(verdicts.len(), CHECKERS.len());
    for verdict in verdicts {
        let decisive = names.contains(&verdict.property.as_str());
        assert_eq!(verdict.decisive, decisive, "{verdict:?}");
    }
}
