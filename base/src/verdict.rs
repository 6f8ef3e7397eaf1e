//! Verdicts: the answers of checkers, with their evidence.

use crate::{Causes, FaultId, Mode};
use serde::{Deserialize, Serialize};

/// An answer of a checker. Answers are ordered as they merge: the greatest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The lock makes no such promise.
    NotApplicable,
    /// Facts that no lock promises: there is nothing to keep, and nothing to break.
    Measured,
    /// The promise was kept, in a run that could have broken it.
    Held,
    /// This run cannot decide it.
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
    /// The name of the breach: "double hold", "stale write accepted".
    pub name: String,
    /// The cause, as far as it is known; an anomaly of one name has an entry for each.
    #[serde(skip_serializing_if = "Causes::is_unknown", default)]
    pub cause: Causes,
    /// The number of times that it was seen in this run.
    pub count: u64,
    /// The events that show its first occurrence, by index, in order.
    pub witness: Vec<u64>,
    /// The events of the witness in words, with times.
    pub explanation: String,
    /// The holds that clients believed in during these events.
    #[serde(default)]
    pub beliefs: Vec<Belief>,
    /// The faults that the explanation names, by number, in order.
    #[serde(default)]
    pub faults: Vec<FaultId>,
    /// True if the budget of the explanation was used up: there is more to say.
    #[serde(default)]
    pub cut_short: bool,
}

/// A hold as its client believed in it. Times count from the start of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Belief {
    /// The process that believes.
    pub process: u32,
    /// The mode of the hold.
    pub mode: Mode,
    /// The time at which the belief begins.
    pub from_ns: u64,
    /// The time at which it ends; `None`: it lasts to the end of the history.
    pub until_ns: Option<u64>,
    /// The time at which the lock itself had run out, where the recipe knows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires_ns: Option<u64>,
}

/// A number worth knowing, whatever the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// The name of the quantity.
    pub name: String,
    /// The unit: "ns", "‰", "mHz" (so many in a thousand seconds), or empty for a count.
    pub unit: String,
    /// The value, in that unit.
    pub value: u64,
}

impl Measure {
    /// A measure of this value.
    pub fn new(name: impl Into<String>, unit: &str, value: u64) -> Self {
        Self { name: name.into(), unit: unit.into(), value }
    }
}

/// The answer of one checker about one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The checker's name.
    pub property: String,
    /// The answer itself.
    pub outcome: Outcome,
    /// True if the run proves nothing as long as this answer is inconclusive. A property that most
    /// runs give no chance to be tested can break a run, but does not hold it up.
    #[serde(default = "yes")]
    pub decisive: bool,
    /// One line: the finding, or the reason why there is none.
    pub summary: String,
    /// The breaches; empty unless violated. Facts worth saying that break no promise (a stale write
    /// that the vault fenced off) stand in the summary.
    pub anomalies: Vec<Anomaly>,
    /// Numbers worth knowing, also where nothing is promised.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub measures: Vec<Measure>,
    /// The changes to a run that would let it decide, as flags of `test` name them; mostly empty.
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

    /// Returns true if an anomaly of this name was seen.
    pub fn shows(&self, anomaly: &str) -> bool {
        self.anomalies.iter().any(|a| a.name == anomaly)
    }
}
