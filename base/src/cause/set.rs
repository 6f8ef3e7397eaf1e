//! The set of causes that an anomaly may have: one where its cause is known, several, or none.

use super::Cause;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The causes that an anomaly may have: exactly one where it is known, several of which one is it,
/// or none where nothing is known.
///
/// It is stored as the name of its cause, as a list of names, or as `null`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Causes(u32);

impl Causes {
    /// Nothing is known of the cause.
    pub const UNKNOWN: Self = Self(0);

    /// Returns true if nothing is known of the cause.
    pub const fn is_unknown(&self) -> bool {
        self.0 == 0
    }

    /// Returns the cause, if there is but one.
    pub fn only(self) -> Option<Cause> {
        self.iter().next().filter(|cause| self == Self::from(*cause))
    }

    /// Returns true if this may be the cause.
    pub const fn contains(self, cause: Cause) -> bool {
        self.0 & (1 << cause as u32) != 0
    }

    /// Returns the causes in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Cause> {
        Cause::ALL.into_iter().filter(move |cause| self.contains(*cause))
    }

    /// Returns the names, as files and options spell them: "holder-paused", or "one of:
    /// holder-paused, holder-cut-off"; "unknown cause" where nothing is known.
    pub fn names(self) -> String {
        match self.is_unknown() {
            true => "unknown cause".into(),
            false => self.listed(", ", |cause| cause.name().into()),
        }
    }

    fn listed(self, between: &str, words: impl Fn(Cause) -> String) -> String {
        let each: Vec<String> = self.iter().map(words).collect();
        let several = if each.len() > 1 { "one of: " } else { "" };
        format!("{several}{}", each.join(between))
    }
}

impl From<Cause> for Causes {
    fn from(cause: Cause) -> Self {
        Self(1 << cause as u32)
    }
}

impl From<Option<Cause>> for Causes {
    fn from(cause: Option<Cause>) -> Self {
        cause.map_or(Self::UNKNOWN, Self::from)
    }
}

impl Extend<Cause> for Causes {
    fn extend<I: IntoIterator<Item = Cause>>(&mut self, causes: I) {
        causes.into_iter().for_each(|cause| self.0 |= 1 << cause as u32);
    }
}

impl FromIterator<Cause> for Causes {
    fn from_iter<I: IntoIterator<Item = Cause>>(causes: I) -> Self {
        let mut all = Self::UNKNOWN;
        all.extend(causes);
        all
    }
}

/// Displays the causes as clauses: "one of: the holder was paused for longer than its lock lives; a
/// release never reached the server", or that there is none to name.
impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unknown() {
            return f.write_str("its cause could not be found");
        }
        f.write_str(&self.listed("; ", |cause| cause.to_string()))
    }
}

impl fmt::Debug for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Unknown,
    One(Cause),
    OneOf(Vec<Cause>),
}

impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let stored = match (self.is_unknown(), self.only()) {
            (true, _) => Stored::Unknown,
            (_, Some(cause)) => Stored::One(cause),
            (_, None) => Stored::OneOf(self.iter().collect()),
        };
        stored.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Causes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Stored::deserialize(from)? {
            Stored::Unknown => Self::UNKNOWN,
            Stored::One(cause) => cause.into(),
            Stored::OneOf(causes) => causes.into_iter().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cause_is_stored_as_its_name_and_several_as_a_list() {
        let one = Causes::from(Cause::HolderPaused);
        let two: Causes = [Cause::Recipe, Cause::HolderPaused].into_iter().collect();
        for (causes, text) in [
            (Causes::UNKNOWN, "null"),
            (one, r#""holder-paused""#),
            (two, r#"["holder-paused","recipe"]"#),
        ] {
            assert_eq!(serde_json::to_string(&causes).expect("names"), text);
            assert_eq!(serde_json::from_str::<Causes>(text).expect("names"), causes);
        }
        assert_eq!((one.only(), two.only()), (Some(Cause::HolderPaused), None));
        assert_eq!(
            (one.names(), two.names()),
            ("holder-paused".into(), "one of: holder-paused, recipe".into())
        );
    }

    #[test]
    fn the_last_cause_has_its_place() {
        let all: Causes = Cause::ALL.into_iter().collect();
        assert_eq!(all.iter().count(), Cause::ALL.len());
        assert!(!Causes::from(Cause::HolderPaused).contains(Cause::Recipe));
    }
}
