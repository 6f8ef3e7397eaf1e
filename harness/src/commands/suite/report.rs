//! The results of a suite as people and machines read them.

use anyhow::Result;
use base::units::{counted, span};
use base::{visible, visible_json};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use reports::card::escaped;
use reports::hazards::{self, Hazard};
use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;

use crate::Exit;
use crate::output_style::{render, style};
use crate::suite::{EntryOutcome, EntryStatus};

/// The version of the stored form.
const VERSION: u32 = 1;

/// The most rows of a summary: GitHub takes one megabyte of it.
const ROWS: usize = 1_000;

/// The results of a suite, in the order of its entries.
#[derive(Serialize)]
pub struct SuiteResults {
    picklock_suite: u32,
    picklock: &'static str,
    took_ns: u64,
    /// The number of entries that an early end has left out.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: usize,
    entries: Vec<EntryOutcome>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The line of an entry that is done.
pub fn line(outcome: &EntryOutcome) -> String {
    let (word, code) = match outcome.status {
        EntryStatus::AsExpected => ("OK", "32"),
        EntryStatus::NotAsExpected(_) => ("NOT OK", "1;31"),
        EntryStatus::Inconclusive(_) => ("UNCLEAR", "33"),
    };
    let colour = style().colour;
    let word = if colour { format!("\x1b[{code}m{word:>8}\x1b[0m") } else { format!("{word:>8}") };
    let EntryOutcome { name, expected, backend, schedules, .. } = outcome;
    let took = span(outcome.took_ns);
    let schedules = counted(*schedules, "schedule", "schedules");
    let name = visible(name);
    let mut line = format!("{word} [{took:>8}] {name} ({backend}): {expected}, {schedules}\n");
    if let EntryStatus::NotAsExpected(why) | EntryStatus::Inconclusive(why) = &outcome.status {
        let _ = writeln!(line, "{:>8} {}", "", visible(why));
        for hazard in outcome.hazards.iter().filter_map(|name| hazards::find(name)) {
            let _ = writeln!(line, "{:>8} {}", "", hazard.summary());
        }
        if !outcome.command.is_empty() {
            let _ = writeln!(line, "{:>8} {}", "", visible(&outcome.command));
        }
        if let Some(folder) = &outcome.folder {
            let _ = writeln!(line, "{:>8} {}/report.html", "", visible(folder));
        }
    }
    let annotate = std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true");
    if let (true, EntryStatus::NotAsExpected(why)) = (annotate, &outcome.status) {
        let (name, why) = (for_github(&name), for_github(&visible(why)));
        let _ = writeln!(line, "::error title=picklock%3A {name}::{why}");
    }
    line
}

/// Returns a text as it can stand in an annotation of GitHub's log, which ends at a colon.
fn for_github(text: &str) -> String {
    text.replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

impl SuiteResults {
    /// Collects the outcomes of entries; `left_out` counts those that there are none of.
    pub fn of(entries: Vec<EntryOutcome>, left_out: usize, took: Duration) -> Self {
        let (picklock, took_ns) = (env!("CARGO_PKG_VERSION"), took.as_nanos() as u64);
        Self { picklock_suite: VERSION, picklock, took_ns, left_out, entries }
    }

    pub fn entries(&self) -> &[EntryOutcome] {
        &self.entries
    }

    fn count(&self, of: impl Fn(&EntryStatus) -> bool) -> u64 {
        self.entries.iter().filter(|entry| of(&entry.status)).count() as u64
    }

    /// The numbers of entries that are as expected, that are not, and that cannot tell.
    fn counts(&self) -> [u64; 3] {
        [
            self.count(|status| matches!(status, EntryStatus::AsExpected)),
            self.count(|status| matches!(status, EntryStatus::NotAsExpected(_))),
            self.count(|status| matches!(status, EntryStatus::Inconclusive(_))),
        ]
    }

    /// Returns the exit code: the worst of all entries.
    pub fn exit(&self) -> Exit {
        match self.counts() {
            [_, 0, 0] => Exit::Held,
            [_, 0, _] => Exit::Inconclusive,
            _ => Exit::Violated,
        }
    }

    fn last_line(&self) -> String {
        let [right, wrong, unclear] = self.counts();
        let word = match self.exit() {
            _ if self.left_out > 0 => "INTERRUPTED",
            Exit::Held => "AS EXPECTED",
            Exit::Inconclusive => "INCONCLUSIVE",
            _ => "NOT AS EXPECTED",
        };
        let entries = counted(self.entries.len() as u64, "entry", "entries");
        let took = span(self.took_ns);
        let left_out = match self.left_out {
            0 => String::new(),
            some => format!(", {some} not run"),
        };
        format!(
            "{word}: {entries} in {took}, {right} as expected, {wrong} not, {unclear} unclear{left_out}"
        )
    }

    pub fn human(&self) -> String {
        render(&format!("\n{}\n", self.last_line()))
    }

    pub fn json(&self) -> Result<String> {
        Ok(visible_json(&serde_json::to_string_pretty(self)?).into_owned() + "\n")
    }

    /// A summary in Markdown: first what is not as expected.
    pub fn markdown(&self) -> Result<String> {
        let mut text = format!("### picklock: {}\n\n", self.last_line());
        text.push_str("| | entry | expected | seen | hazards |\n| --- | --- | --- | --- | --- |\n");
        let mut entries: Vec<&EntryOutcome> = self.entries.iter().collect();
        entries.sort_by_key(|entry| matches!(entry.status, EntryStatus::AsExpected));
        for entry in entries.iter().take(ROWS) {
            let (mark, why) = match &entry.status {
                EntryStatus::AsExpected => ("✓", "as expected"),
                EntryStatus::NotAsExpected(why) => ("✗", why.as_str()),
                EntryStatus::Inconclusive(why) => ("?", why.as_str()),
            };
            let (name, expected, why) =
                (escaped(&entry.name), escaped(&entry.expected), escaped(why));
            let hazards = entry.hazards.iter().filter_map(|name| hazards::find(name));
            let hazards: Vec<String> = hazards.map(Hazard::summary).collect();
            let hazards = escaped(&hazards.join("; "));
            let backend = &entry.backend;
            writeln!(text, "| {mark} | {name} ({backend}) | {expected} | {why} | {hazards} |")?;
        }
        if entries.len() > ROWS {
            writeln!(text, "\n{} more are as expected.", entries.len() - ROWS)?;
        }
        Ok(text)
    }

    /// The results as JUnit XML: what cannot tell is an error, as it is no failure and no success.
    pub fn junit(&self) -> Result<String> {
        let mut suite = TestSuite::new("picklock");
        for entry in &self.entries {
            let failed = |kind, why: &str| {
                let mut status = TestCaseStatus::non_success(kind);
                status.set_message(visible(why).as_ref());
                status.set_description(visible(&entry.command).as_ref());
                status
            };
            let status = match &entry.status {
                EntryStatus::AsExpected => TestCaseStatus::success(),
                EntryStatus::NotAsExpected(why) => failed(NonSuccessKind::Failure, why),
                EntryStatus::Inconclusive(why) => failed(NonSuccessKind::Error, why),
            };
            let mut case = TestCase::new(visible(&entry.name).as_ref(), status);
            case.set_classname(format!("picklock.{}", entry.backend));
            case.set_time(Duration::from_nanos(entry.took_ns));
            suite.add_test_case(case);
        }
        if self.left_out > 0 {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            let left_out = counted(self.left_out as u64, "entry", "entries");
            status.set_message(format!("interrupted: {left_out} not run"));
            suite.add_test_case(TestCase::new("all entries", status));
        }
        let mut report = Report::new("picklock");
        report.set_time(Duration::from_nanos(self.took_ns));
        report.add_test_suite(suite);
        Ok(report.to_string()?)
    }
}
