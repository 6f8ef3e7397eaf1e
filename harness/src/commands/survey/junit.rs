//! The card as JUnit XML: a test case for each nemesis.

use anyhow::Result;
use base::Outcome;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use reports::card::{Card, CardRow};
use std::time::Duration;

/// Returns the card. A promise that broke in a way that is not known of the lock is a failure, and
/// a row that could not be judged is an error; so is a survey that was interrupted.
pub fn of(card: &Card, interrupted: bool) -> Result<String> {
    let mut suite = TestSuite::new(card.lock.as_str());
    for row in &card.rows {
        let mut case = TestCase::new(row.nemesis.as_str(), status(row));
        case.set_classname(format!("picklock.{}", card.lock));
        suite.add_test_case(case);
    }
    if interrupted {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message("interrupted: there are nemeses of which nothing is known");
        suite.add_test_case(TestCase::new("all nemeses", status));
    }
    let mut report = Report::new("picklock");
    report.set_time(Duration::from_nanos(card.took_ns));
    report.add_test_suite(suite);
    Ok(report.to_string()?)
}

fn status(row: &CardRow) -> TestCaseStatus {
    let failed = |kind, why: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(why);
        status.set_description(row.command.as_str());
        status
    };
    match row.outcome() {
        Outcome::Violated if !row.is_known() => failed(NonSuccessKind::Failure, &row.broken()),
        Outcome::Violated | Outcome::Held => TestCaseStatus::success(),
        _ => failed(NonSuccessKind::Error, row.unclear.as_deref().unwrap_or("nothing was told")),
    }
}
