//! The name of the thing that a lock guards.
//!
//! Every event names one and a run has a few, so a name is kept once, for as long as the program
//! runs, and what is handed on is a reference: it needs no counter that a copy has to raise, and
//! two names are equal when they stand in the same place.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// The name of the thing that a lock guards.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Serialize)]
pub struct Key(&'static str);

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Self(known);
        }
        let known: &'static str = Box::leak(name.into());
        names.insert(known);
        Self(known)
    }
}

impl From<String> for Key {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl Deref for Key {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

/// Hashes the name and not its address, which differs in every process.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_is_the_same_key() {
        let [one, same] = ["k0", &format!("k{}", 0)].map(Key::from);
        assert_eq!(one, same);
        assert!(std::ptr::eq(&*one, &*same));
        assert_ne!(one, Key::from("k1"));
        assert_ne!(Key::from(""), one);
    }

    #[test]
    fn keys_are_in_the_order_of_their_names() {
        // The later name comes first.
        let (late, early) = (Key::from("order b"), Key::from("order a"));
        assert!(early < late);
    }

    #[test]
    fn a_key_is_stored_as_its_name() {
        let key = Key::from("with \"quotes\"");
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(text, r#""with \"quotes\"""#);
        assert_eq!(serde_json::from_str::<Key>(&text).unwrap(), key);
        let said = serde_json::from_str::<Key>("7").unwrap_err().to_string();
        assert!(said.starts_with("invalid type: integer `7`, expected a string"), "{said}");
    }
}
