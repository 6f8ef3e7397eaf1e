//! Expectations: the verdicts that a run must have, property by property.

use base::{Outcome, RunInfo, Verdict};
use checkers::{CHECKERS, Judgement};
use reports::interpretation::breaches;
use serde::de::{Deserialize, Deserializer, Error};
use std::collections::BTreeMap;
use std::fmt;

use crate::named_anomaly::NamedAnomaly;
use crate::nearest;

/// The verdicts that are expected of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Every property holds.
    Held,
    /// Each of these properties holds or breaks as given here. Others may break in ways that are
    /// known of the lock.
    Properties(BTreeMap<String, ExpectedVerdict>),
}

/// The verdict that is expected of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedVerdict {
    /// It holds, in every run.
    Held,
    /// It is broken in this way, in one run at least.
    Broken(NamedAnomaly),
}

/// The relation of one run to what is expected of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It is as expected, as far as one run can be.
    Fits,
    /// It is not, with the reason.
    Misfit(String),
    /// It cannot tell, with the reason.
    Unclear(String),
}

impl Expectation {
    /// The anomalies that must be seen.
    pub fn anomalies(&self) -> impl Iterator<Item = (&str, &NamedAnomaly)> {
        let properties = match self {
            Self::Held => None,
            Self::Properties(properties) => Some(properties),
        };
        properties.into_iter().flatten().filter_map(|(property, expected)| match expected {
            ExpectedVerdict::Broken(anomaly) => Some((property.as_str(), anomaly)),
            ExpectedVerdict::Held => None,
        })
    }

    /// Returns true if something must be seen to break.
    pub fn is_violation(&self) -> bool {
        self.anomalies().next().is_some()
    }

    /// Judges one run, without asking for what other runs may show.
    pub fn fit(&self, info: &RunInfo, judgement: &Judgement) -> Fit {
        match self {
            Self::Held => held(judgement.outcome, &judgement.verdicts),
            Self::Properties(properties) => {
                if let Some(breach) =
                    breaches(info, &judgement.verdicts).iter().find(|breach| breach.known.is_none())
                {
                    let cause = breach.anomaly.cause.names();
                    let name = &breach.anomaly.name;
                    return Fit::Misfit(format!(
                        "{name} by {cause}, which nobody knows of this lock"
                    ));
                }
                let fits = properties.iter().filter(|(_, it)| **it == ExpectedVerdict::Held);
                let fits = fits.map(|(property, _)| {
                    let of = |verdict: &&Verdict| verdict.property == *property;
                    let verdict = judgement.verdicts.iter().find(of);
                    verdict.map_or(Fit::Fits, |it| held(it.outcome, std::slice::from_ref(it)))
                });
                fits.fold(Fit::Fits, Fit::and)
            }
        }
    }
}

/// Judges a verdict that is to be held.
fn held(outcome: Outcome, verdicts: &[Verdict]) -> Fit {
    let summary = || {
        let all = verdicts.iter().filter(|verdict| verdict.outcome == outcome);
        // Of those that cannot tell, the one that keeps the run from telling anything.
        let first = all.min_by_key(|verdict| !verdict.decisive);
        first.map_or(String::new(), |it| format!("{}: {}", it.property, it.summary))
    };
    match outcome {
        Outcome::Held => Fit::Fits,
        Outcome::Violated => Fit::Misfit(summary()),
        _ => Fit::Unclear(summary()),
    }
}

impl Fit {
    /// The worse of two.
    fn and(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Misfit(_), _) | (_, Self::Fits) => self,
            (_, Self::Misfit(_)) | (Self::Fits, _) => other,
            (Self::Unclear(_), Self::Unclear(_)) => self,
        }
    }
}

const HELD: &str = "held";

const FORM: &str = "write expect = \"held\", or what each property shows: \
                    expect = { exclusion = \"double hold by holder-paused\", vault = \"held\" }";

impl<'de> Deserialize<'de> for Expectation {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let known: Vec<&str> = CHECKERS.iter().map(|checker| checker.name()).collect();
        match toml::Value::deserialize(from)? {
            toml::Value::String(text) if text == HELD => Ok(Self::Held),
            toml::Value::Table(table) if !table.is_empty() => {
                let properties = table.into_iter().map(|(property, value)| {
                    if !known.contains(&property.as_str()) {
                        return Err(nearest::unknown("property", &property, &known));
                    }
                    match value.as_str() {
                        Some(HELD) => Ok((property, ExpectedVerdict::Held)),
                        Some(text) => {
                            Ok((property, ExpectedVerdict::Broken(NamedAnomaly::parse(text)?)))
                        }
                        None => Err(FORM.to_owned()),
                    }
                });
                let properties = properties.collect::<Result<_, _>>();
                properties.map(Self::Properties).map_err(D::Error::custom)
            }
            _ => Err(D::Error::custom(FORM)),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Properties(properties) = self else { return f.write_str(HELD) };
        let each = properties.iter().map(|(property, expected)| match expected {
            ExpectedVerdict::Held => format!("{property} {HELD}"),
            ExpectedVerdict::Broken(anomaly) => anomaly.to_string(),
        });
        f.write_str(&each.collect::<Vec<_>>().join(", "))
    }
}
