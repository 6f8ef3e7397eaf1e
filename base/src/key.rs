//! The name of the thing that a lock guards.
//!
//! Every event names one and most are short: such a name is kept in place, and a longer one is
//! shared by its copies.

use ecow::EcoString;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// The name of the thing that a lock guards.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(EcoString);

impl Key {
    /// The key of this number, of those that a run asks for.
    pub fn numbered(number: u32) -> Self {
        format!("k{number}").into()
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for Key {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl Deref for Key {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_stored_as_its_name() {
        for name in ["", "k0", "with \"quotes\" and too long to be kept in place"] {
            let key = Key::from(name);
            let text = serde_json::to_string(&key).unwrap();
            assert_eq!(text, serde_json::to_string(name).unwrap());
            assert_eq!(serde_json::from_str::<Key>(&text).unwrap(), key);
        }
        let message = serde_json::from_str::<Key>("7").unwrap_err().to_string();
        let expected = "invalid type: integer `7`, expected a string";
        assert!(message.starts_with(expected), "{message}");
    }
}
