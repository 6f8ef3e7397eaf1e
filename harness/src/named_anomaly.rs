//! Anomalies as people name them: "double hold by holder-paused".

use base::Cause;
use checkers::{ANOMALIES, Judgement};
use std::fmt;

use crate::nearest;

/// An anomaly by its name and, if that is given, its cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedAnomaly {
    /// The name: "double hold".
    pub name: String,
    /// The cause. `None`: any that is known of the lock.
    pub cause: Option<Cause>,
}

impl fmt::Display for NamedAnomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.cause.map_or(Ok(()), |cause| write!(f, " by {}", cause.name()))
    }
}

impl NamedAnomaly {
    /// Returns true if a property of a run shows it.
    pub fn is_in(&self, property: &str, judgement: &Judgement) -> bool {
        let of_property = judgement.verdicts.iter().filter(|verdict| verdict.property == property);
        of_property.flat_map(|verdict| &verdict.anomalies).any(|anomaly| {
            anomaly.name == self.name && self.cause.is_none_or(|it| anomaly.cause.contains(it))
        })
    }

    /// Reads it as it is displayed.
    ///
    /// # Errors
    /// Fails when there is no such anomaly or cause, with the nearest ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, cause) = match text.rsplit_once(" by ") {
            Some((name, cause)) => (name, Some(cause)),
            None => (text, None),
        };
        if !ANOMALIES.contains(&name) {
            return Err(nearest::unknown("anomaly", name, ANOMALIES));
        }
        let Some(cause) = cause else {
            return Ok(Self { name: name.into(), cause: None });
        };
        let names: Vec<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
        let found = Cause::ALL.into_iter().find(|it| it.name() == cause);
        let cause = found.ok_or_else(|| nearest::unknown("cause", cause, &names))?;
        Ok(Self { name: name.into(), cause: Some(cause) })
    }
}
