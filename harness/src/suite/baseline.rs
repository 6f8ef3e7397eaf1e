//! Baselines: the figures of a suite as they were, and what has got worse since.

use base::units::{digits, span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

use super::outcome::{EntryOutcome, EntryStatus};

/// The version of the stored form.
const VERSION: u32 = 1;

/// The figures of a suite as they were, by entry and backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    picklock_baseline: u32,
    /// By how much figures may get worse.
    #[serde(default)]
    pub tolerances: Tolerances,
    entries: BTreeMap<String, EntryFigures>,
}

/// The part, in percent, by which figures may get worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tolerances {
    /// Of grants a second.
    pub grants_percent: u64,
    /// Of the times that acquires take.
    pub acquire_percent: u64,
    /// Of the time to the first grant after everything was healed.
    pub first_grant_percent: u64,
    /// Of the schedules to the first find.
    pub schedules_percent: u64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Self {
            grants_percent: 20,
            acquire_percent: 25,
            first_grant_percent: 50,
            schedules_percent: 100,
        }
    }
}

/// The figures of an entry; those that its run does not have are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryFigures {
    /// Grants in a thousand seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grants_mhz: Option<u64>,
    /// The median of the times that acquires took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acquire_median_ns: Option<u64>,
    /// The 99th percentile of these times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acquire_99_ns: Option<u64>,
    /// The time to the first grant after everything was healed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_grant_ns: Option<u64>,
    /// The schedules until what must break was seen to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub schedules: Option<u64>,
}

/// The reason why a baseline cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It is no JSON of this form.
    #[error("`{file}` is no baseline: {why}; --update-baseline writes one")]
    Form {
        /// The file.
        file: String,
        /// The mistake, with its place.
        why: String,
    },
    /// It was written by another version.
    #[error("`{0}` is a baseline of another version: --update-baseline writes it anew")]
    Version(String),
}

impl Baseline {
    /// A baseline without entries.
    pub fn empty() -> Self {
        Self {
            picklock_baseline: VERSION,
            tolerances: Tolerances::default(),
            entries: BTreeMap::new(),
        }
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// Fails when the text is none of this version.
    pub fn read(file: &Path, text: &str) -> Result<Self, BaselineError> {
        let file = file.display().to_string();
        let baseline: Self = serde_json::from_str(text)
            .map_err(|error| BaselineError::Form { file: file.clone(), why: error.to_string() })?;
        match baseline.picklock_baseline {
            VERSION => Ok(baseline),
            _ => Err(BaselineError::Version(file)),
        }
    }

    /// Notes the figures of an entry that is as expected.
    pub fn note(&mut self, outcome: &EntryOutcome) {
        if outcome.status == EntryStatus::AsExpected {
            self.entries.insert(key(outcome), EntryFigures::of(outcome));
        }
    }

    /// Returns what has got worse than is tolerated, in words. An entry that is new has nothing to
    /// be compared with.
    pub fn worse(&self, outcome: &EntryOutcome) -> Vec<String> {
        let Some(then) = self.entries.get(&key(outcome)) else { return Vec::new() };
        let now = EntryFigures::of(outcome);
        let Tolerances { grants_percent, acquire_percent, first_grant_percent, schedules_percent } =
            self.tolerances;
        let rate = |mhz: u64| format!("{} a second", digits(mhz as f64 / 1_000.0));
        let number = |n: u64| n.to_string();
        let figures = [
            least("grants", then.grants_mhz, now.grants_mhz, grants_percent, &rate),
            most(
                "acquire, median",
                then.acquire_median_ns,
                now.acquire_median_ns,
                acquire_percent,
                &span,
            ),
            most("acquire, 99 %", then.acquire_99_ns, now.acquire_99_ns, acquire_percent, &span),
            most(
                "first grant after the heal",
                then.first_grant_ns,
                now.first_grant_ns,
                first_grant_percent,
                &span,
            ),
            most(
                "schedules to the first find",
                then.schedules,
                now.schedules,
                schedules_percent,
                &number,
            ),
        ];
        figures.into_iter().flatten().collect()
    }
}

/// Tells a figure that is smaller than it may be, or missing.
fn least(
    name: &str,
    then: Option<u64>,
    now: Option<u64>,
    percent: u64,
    words: &dyn Fn(u64) -> String,
) -> Option<String> {
    let (then, now) = (then?, now.unwrap_or(0));
    let fine = u128::from(now) * 100 >= u128::from(then) * u128::from(100 - percent.min(100));
    (!fine).then(|| beyond(name, then, now, percent, words))
}

/// Tells a figure that is greater than it may be. One that is missing has nothing to say.
fn most(
    name: &str,
    then: Option<u64>,
    now: Option<u64>,
    percent: u64,
    words: &dyn Fn(u64) -> String,
) -> Option<String> {
    let (then, now) = (then?, now?);
    let fine = u128::from(now) * 100 <= u128::from(then) * (100 + u128::from(percent));
    (!fine).then(|| beyond(name, then, now, percent, words))
}

fn beyond(name: &str, then: u64, now: u64, percent: u64, words: &dyn Fn(u64) -> String) -> String {
    let (then, now) = (words(then), words(now));
    format!("{name}: {now}, and {then} in the baseline ({percent} % is tolerated)")
}

fn key(outcome: &EntryOutcome) -> String {
    format!("{} ({})", outcome.name, outcome.backend)
}

impl EntryFigures {
    /// The figures of an entry that was run.
    pub fn of(outcome: &EntryOutcome) -> Self {
        let measure = |name: &str| {
            let found = outcome.measures.iter().find(|measure| measure.name == name);
            found.map(|measure| measure.value)
        };
        Self {
            grants_mhz: measure("grant rate"),
            acquire_median_ns: measure("acquire, median"),
            acquire_99_ns: measure("acquire, 99 %"),
            first_grant_ns: measure("first grant in the quiet phase, after"),
            // An entry that must hold takes all of its schedules.
            schedules: outcome.seed.map(|_| outcome.schedules),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Measure;
    use expect_test::expect;

    fn outcome(grants: u64, acquire: u64, schedules: u64) -> EntryOutcome {
        EntryOutcome {
            name: "a lock".into(),
            hazards: Vec::new(),
            lock: "zk-rw".into(),
            nemesis: "none".into(),
            expected: "held".into(),
            status: EntryStatus::AsExpected,
            schedules,
            seed: Some(schedules - 1),
            measures: vec![
                Measure::new("grant rate", "mHz", grants),
                Measure::new("acquire, median", "ns", acquire),
            ],
            backend: "sim".into(),
            command: String::new(),
            folder: None,
            took_ns: 0,
        }
    }

    fn baseline() -> Baseline {
        let mut baseline = Baseline::empty();
        baseline.note(&outcome(10_000, 1_000_000, 2));
        baseline
    }

    #[test]
    fn what_is_within_its_tolerance_or_better_is_no_news() {
        for now in [outcome(10_000, 1_000_000, 2), outcome(8_000, 1_250_000, 4)] {
            assert_eq!(baseline().worse(&now), [""; 0]);
        }
        assert_eq!(baseline().worse(&outcome(90_000, 1, 1)), [""; 0], "better");
        let other = EntryOutcome { backend: "local".into(), ..outcome(1, 1, 1) };
        assert_eq!(baseline().worse(&other), [""; 0], "an entry of its own");
    }

    #[test]
    fn what_is_worse_is_described_with_both_figures() {
        let worse = baseline().worse(&outcome(7_900, 1_260_000, 5));
        let expected = [
            "grants: 7.9 a second, and 10 a second in the baseline (20 % is tolerated)",
            "acquire, median: 1.26 ms, and 1 ms in the baseline (25 % is tolerated)",
            "schedules to the first find: 5, and 2 in the baseline (100 % is tolerated)",
        ];
        assert_eq!(worse, expected);
        let silent = EntryOutcome { measures: Vec::new(), ..outcome(1, 1, 2) };
        assert_eq!(baseline().worse(&silent).len(), 1, "nothing was granted");
    }

    #[test]
    fn it_is_read_as_it_was_written_and_refused_otherwise() {
        let text = serde_json::to_string(&baseline()).expect("JSON");
        let read = |text: &str| Baseline::read(Path::new("b.json"), text);
        assert_eq!(read(&text).expect("a baseline"), baseline());
        let other = text.replace("\"picklock_baseline\":1", "\"picklock_baseline\":9");
        let errors =
            [other.as_str(), "{}"].map(|text| read(text).expect_err("refused").to_string());
        expect![[r#"
            `b.json` is a baseline of another version: --update-baseline writes it anew
            `b.json` is no baseline: missing field `picklock_baseline` at line 1 column 2; --update-baseline writes one"#]].assert_eq(&errors.join("\n"));
    }
}
