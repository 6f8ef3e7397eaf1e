//! What a checker says.

use crate::{Cause, FaultId, Mode};
use serde::{Deserialize, Serialize};

/// The answers. They are ordered as they merge: the greatest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The lock makes no such promise.
    NotApplicable,
    /// Facts that no lock promises: there is nothing to keep, and nothing to break.
    Measured,
    /// The promise was kept, in a run that could have broken it.
    Held,
    /// This run cannot tell.
    Inconclusive,
    /// The promise was broken; a witness shows it.
    Violated,
}

/// One kind of breach, with the few events that show it.
///
/// A checker decides: the name, the count and the events that prove it. The explanation is added
/// after all verdicts stand, and changes none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// Its name: "double hold", "stale write accepted".
    pub name: String,
    /// Its cause; anomalies of one name and several causes are told apart. `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<Cause>,
    /// How often it was seen in this run.
    pub count: u64,
    /// The events that show its first occurrence, by index, in order.
    pub witness: Vec<u64>,
    /// The same in words, with times.
    pub explanation: String,
    /// Who believed during these events that he held the lock.
    #[serde(default)]
    pub beliefs: Vec<Belief>,
    /// The faults that the explanation names, by number, in order.
    #[serde(default)]
    pub faults: Vec<FaultId>,
    /// The budget of the explanation was used up: there is more to say.
    #[serde(default)]
    pub cut_short: bool,
}

/// A hold as its client believed in it. Times are nanoseconds since the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Belief {
    /// Who.
    pub process: u32,
    /// How.
    pub mode: Mode,
    /// Since when.
    pub from: u64,
    /// Until when; `None`: to the end of the history.
    pub until: Option<u64>,
    /// When the lock itself had run out, where the recipe knows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires: Option<u64>,
}

/// A number worth knowing, whatever the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// What was measured.
    pub name: String,
    /// In what: "ns", "‰", "mHz" (so many in a thousand seconds), or nothing for a count.
    pub unit: String,
    /// How much.
    pub value: u64,
}

impl Measure {
    /// A measure of this value.
    pub fn new(name: impl Into<String>, unit: &str, value: u64) -> Self {
        Self { name: name.into(), unit: unit.into(), value }
    }
}

/// What one checker says about one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The checker's name.
    pub property: String,
    /// Its answer.
    pub outcome: Outcome,
    /// Whether the run says nothing as long as this answer is inconclusive. A property that most
    /// runs give no chance to be tested can break a run, but does not hold it up.
    #[serde(default = "yes")]
    pub decisive: bool,
    /// One line: what was seen, or why nothing can be said.
    pub summary: String,
    /// What was broken; empty unless violated. Facts worth saying that break no promise (a stale
    /// write that the vault fenced off) stand in the summary.
    pub anomalies: Vec<Anomaly>,
    /// Numbers worth knowing, also where nothing is promised.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub measures: Vec<Measure>,
    /// What a run would need in order to tell, as the flags of `test` name it; mostly empty.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub advice: Vec<String>,
}

const fn yes() -> bool {
    true
}

impl Verdict {
    /// An answer without anomalies.
    pub fn new(property: &str, outcome: Outcome, summary: impl Into<String>) -> Self {
        Self {
            property: property.into(),
            outcome,
            decisive: true,
            summary: summary.into(),
            anomalies: Vec::new(),
            measures: Vec::new(),
            advice: Vec::new(),
        }
    }

    /// Whether an anomaly of this name was seen.
    pub fn shows(&self, anomaly: &str) -> bool {
        self.anomalies.iter().any(|a| a.name == anomaly)
    }
}
