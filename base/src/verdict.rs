//! What a checker says.

use serde::{Deserialize, Serialize};

/// The four answers. They are ordered as they merge: the greatest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The lock makes no such promise.
    NotApplicable,
    /// The promise was kept, in a run that could have broken it.
    Held,
    /// This run cannot tell.
    Inconclusive,
    /// The promise was broken; a witness shows it.
    Violated,
}

/// One kind of breach, with the few events that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// Its name: "double hold", "stale write accepted".
    pub name: String,
    /// How often it was seen in this run.
    pub count: u64,
    /// The events that show its first occurrence, by index, in order.
    pub witness: Vec<u64>,
    /// The same in words, with times.
    pub explanation: String,
}

/// What one checker says about one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The checker's name.
    pub property: String,
    /// Its answer.
    pub outcome: Outcome,
    /// One line: what was seen, or why nothing can be said.
    pub summary: String,
    /// What was broken; empty unless violated. Facts worth saying that break no promise (a stale
    /// write that the vault fenced off) stand in the summary.
    pub anomalies: Vec<Anomaly>,
}

impl Verdict {
    /// An answer without anomalies.
    pub fn new(property: &str, outcome: Outcome, summary: impl Into<String>) -> Self {
        Self { property: property.into(), outcome, summary: summary.into(), anomalies: Vec::new() }
    }

    /// Whether an anomaly of this name was seen.
    pub fn shows(&self, anomaly: &str) -> bool {
        self.anomalies.iter().any(|a| a.name == anomaly)
    }
}
