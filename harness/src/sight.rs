//! Sights: anomalies as people name them, "double hold by holder-paused".

use base::Cause;
use checkers::{ANOMALIES, Judgement};
use std::fmt;

use crate::nearest;

/// An anomaly by its name and, if it is given, its cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedSight {
    /// The name: "double hold".
    pub anomaly: String,
    /// The cause. `None`: any that is known of the lock.
    pub cause: Option<Cause>,
}

impl fmt::Display for ExpectedSight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.anomaly)?;
        self.cause.map_or(Ok(()), |cause| write!(f, " by {}", cause.name()))
    }
}

impl ExpectedSight {
    /// Returns true if a property of a run shows it.
    pub fn is_in(&self, property: &str, judgement: &Judgement) -> bool {
        let of_property = judgement.verdicts.iter().filter(|verdict| verdict.property == property);
        of_property.flat_map(|verdict| &verdict.anomalies).any(|anomaly| {
            anomaly.name == self.anomaly && self.cause.is_none_or(|it| anomaly.cause.contains(it))
        })
    }

    /// Reads it as it is displayed.
    ///
    /// # Errors
    /// Fails when there is no such anomaly or cause, with the nearest ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (anomaly, cause) = match text.rsplit_once(" by ") {
            Some((anomaly, cause)) => (anomaly, Some(cause)),
            None => (text, None),
        };
        if !ANOMALIES.contains(&anomaly) {
            return Err(nearest::unknown("anomaly", anomaly, ANOMALIES));
        }
        let Some(cause) = cause else {
            return Ok(Self { anomaly: anomaly.into(), cause: None });
        };
        let names: Vec<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
        let found = Cause::ALL.into_iter().find(|it| it.name() == cause);
        let cause = found.ok_or_else(|| nearest::unknown("cause", cause, &names))?;
        Ok(Self { anomaly: anomaly.into(), cause: Some(cause) })
    }
}
