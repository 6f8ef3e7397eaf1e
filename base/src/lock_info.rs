//! The description of a lock as owned data, which travels with a run; how a client opens the lock
//! stands apart.

use crate::{Known, Promises, RunSpec};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

/// A lock under test, as data. What is not stored of it has a default that nothing is judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockInfo {
    /// The name, as `--algo` takes it.
    #[serde(rename = "algo")]
    pub name: LockName,
    /// One line about it.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub summary: String,
    /// The properties that it promises.
    pub promises: Promises,
    /// The causes that are known to break it.
    pub known: Vec<Known>,
    /// The longest hold that its clients draw, in thousandths of a ttl.
    #[serde(default)]
    pub longest_hold_permille: u32,
    /// The name of the store that it is built on.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub store: String,
    /// The shape in which it sees the servers.
    #[serde(default)]
    pub shape: Shape,
    /// The name of the topology on which it usually runs.
    #[serde(rename = "usual_topology", skip_serializing_if = "String::is_empty", default)]
    pub topology: String,
    /// The time to live, or session time-out, that a run of it has unless another is asked for.
    #[serde(default)]
    pub usual_ttl_ns: u64,
    /// The time for which its grants live, whatever ttl the run has; `None` if they live for that
    /// ttl.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub own_ttl_ns: Option<u64>,
    /// The arguments by which commands name it; empty for a lock of the catalogue, which goes by
    /// its name.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub arguments: String,
}

/// The shape in which a lock sees the servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One store, whichever server answers for it.
    #[default]
    One,
    /// Servers that know nothing of each other, which the lock itself combines.
    Several,
}

impl LockInfo {
    /// Describes a lock by what it is judged by.
    pub fn judged(name: LockName, promises: Promises, known: Vec<Known>) -> Self {
        Self {
            name,
            summary: String::new(),
            promises,
            known,
            longest_hold_permille: 0,
            store: String::new(),
            shape: Shape::One,
            topology: String::new(),
            usual_ttl_ns: 0,
            own_ttl_ns: None,
            arguments: String::new(),
        }
    }

    /// Returns the arguments by which a command names it.
    pub fn named(&self) -> String {
        match self.arguments.as_str() {
            "" => format!("--algo {}", self.name),
            arguments => arguments.to_owned(),
        }
    }

    /// Returns a run of it with the defaults.
    pub fn run(&self, nemesis: &str, seed: u64) -> RunSpec {
        RunSpec::new(nemesis, Duration::from_nanos(self.usual_ttl_ns), seed)
    }

    /// Returns the longest hold that its clients draw, with this ttl.
    pub fn longest_hold(&self, ttl: Duration) -> Duration {
        ttl.mul_f64(f64::from(self.longest_hold_permille) / 1_000.0)
    }

    /// Returns true if its clients may hold it for longer than a ttl.
    pub const fn outlives_ttl(&self) -> bool {
        self.longest_hold_permille >= 1_000
    }

    /// Returns the slowest message that its acquire can bear, with this ttl: a server must answer
    /// in time, and the round trips of one try must leave enough of a lock that runs out for its
    /// longest hold.
    pub fn slowest_message(&self, ttl: Duration) -> Duration {
        let pace = &self.promises.pace;
        let answered = ttl * pace.answer_permille / 1_000 / 2;
        if self.outlives_ttl() {
            return answered;
        }
        let rounded = Duration::from_nanos(pace.rounded_ns(ttl.as_nanos() as u64));
        let left = rounded.saturating_sub(self.longest_hold(ttl));
        answered.min(left / pace.round_trips.max(1) / 2)
    }
}

/// The name of a lock: a part of file names and commands, and so neither a path nor a shell word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct LockName(String);

/// A text that is no name of a lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no name of a lock: it has letters, digits, dots, dashes and underscores, begins with a \
     letter or a digit, and has at most 100 of them"
)]
pub struct NoLockName(String);

impl LockName {
    /// The most characters of a name.
    pub const LONGEST: usize = 100;

    /// Returns true for a character that a name may have.
    pub fn takes(c: char) -> bool {
        c.is_ascii_alphanumeric() || "._-".contains(c)
    }
}

impl TryFrom<String> for LockName {
    type Error = NoLockName;

    fn try_from(name: String) -> Result<Self, NoLockName> {
        let begins = name.starts_with(|it: char| it.is_ascii_alphanumeric());
        match begins && name.len() <= Self::LONGEST && name.chars().all(Self::takes) {
            true => Ok(Self(name)),
            false => Err(NoLockName(crate::visible(&name).into_owned())),
        }
    }
}

impl TryFrom<&str> for LockName {
    type Error = NoLockName;

    fn try_from(name: &str) -> Result<Self, NoLockName> {
        name.to_owned().try_into()
    }
}

impl Deref for LockName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_name_is_neither_a_path_nor_a_shell_word() {
        for name in ["zk-rw", "redis-py", "my_lock.v2", "9lives"] {
            assert_eq!(LockName::try_from(name).map(|it| it.to_string()), Ok(name.into()));
        }
        let long = "a".repeat(101);
        for name in ["", ".", "..", "-rf", "a/b", "a b", "$(x)", "a\nb", "é", "a;b", "~", &long] {
            assert!(LockName::try_from(name).is_err(), "{name}");
        }
        let read = serde_json::from_str::<LockName>("\"../x\"").expect_err("refused").to_string();
        expect!["`../x` is no name of a lock: it has letters, digits, dots, dashes and underscores, begins with a letter or a digit, and has at most 100 of them"].assert_eq(&read);
    }
}
