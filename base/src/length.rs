//! The length of holds and of pauses between turns, as people write it.

use crate::Spread;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The length of holds or of pauses: a mean to draw around, or a time to keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The mean, or the exact time.
    pub time: Duration,
    /// True if every one takes exactly that time.
    pub exact: bool,
}

/// The word before a time that is to be kept.
const EXACT: &str = "exact:";

impl Length {
    /// Lengths around a mean.
    pub const fn about(mean: Duration) -> Self {
        Self { time: mean, exact: false }
    }

    /// Returns the distribution that is drawn from: `about` of the mean, if that is what it is.
    pub fn spread(self, about: impl FnOnce(Duration) -> Spread) -> Spread {
        if self.exact { Spread::Exactly(self.time) } else { about(self.time) }
    }

    /// Returns the same with another mean. An exact time stays.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Duration) -> Duration) -> Self {
        if self.exact { self } else { Self { time: change(self.time), ..self } }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = humantime::format_duration(self.time).to_string().replace(' ', "");
        write!(f, "{}{time}", if self.exact { EXACT } else { "" })
    }
}

/// A text that is no length.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}; write it as 500ms, 2s or exact:50ms")]
pub struct NoLength(humantime::DurationError);

impl FromStr for Length {
    type Err = NoLength;

    fn from_str(text: &str) -> Result<Self, NoLength> {
        let (time, exact) = match text.strip_prefix(EXACT) {
            Some(time) => (time, true),
            None => (text, false),
        };
        let time = humantime::parse_duration(time).map_err(NoLength)?;
        Ok(Self { time, exact })
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_length_is_read_as_it_is_written() {
        for text in ["50ms", "exact:6s", "exact:0s"] {
            assert_eq!(text.parse::<Length>().map(|it| it.to_string()), Ok(text.into()));
        }
        let error = "exactly:5s".parse::<Length>().expect_err("refused");
        expect!["expected number at 0; write it as 500ms, 2s or exact:50ms"]
            .assert_eq(&error.to_string());
    }
}
