//! The ledger: what became of everything that clients put into the store.
//!
//! A recipe learns what a store did from its replies, and replies get lost. The simulator knows
//! better: each time that a key, a node or a token is written or removed, it notes who did it or
//! why, beside the history and off the wire. Real servers of our own are observed for the same.

use crate::WrongVersion;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The version of the stored form that this build writes and reads.
pub const LEDGER_VERSION: u32 = 1;

/// A change of something in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Nanoseconds since the run began.
    pub time_ns: u64,
    /// The server that stores it; 0 for an ensemble, whose members all store the same.
    pub server: u32,
    /// The thing, as an index into the ledger's names.
    pub object: u32,
    /// The change to the thing.
    pub change: Change,
}

/// A kind of change of a thing in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// This process made it, or overwrote it.
    Written(u32),
    /// A request of this process removed it.
    Deleted(u32),
    /// A request of this process removed it because its time was over, by the score that it had.
    Overdue(u32),
    /// The thing's time to live was over.
    Expired,
    /// The server needed its room for something else.
    Evicted,
    /// The session of this process ended.
    SessionEnded(u32),
    /// The server lost its data.
    Wiped,
    /// The server lost what came later, and this stands again as it was before.
    Restored,
}

/// An error in a text that should be a ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The first line is not a header.
    #[error("line 1: not a ledger of picklock")]
    NoHeader,
    /// The text was written by another version.
    #[error(transparent)]
    Version(#[from] WrongVersion),
    /// A line is not a change.
    #[error("line {line}: not a change of the store: {error}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// The error of the JSON reader.
        error: serde_json::Error,
    },
}

/// A list of all changes, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    names: Vec<String>,
    known: BTreeMap<String, u32>,
    /// The things that several share.
    shared: BTreeSet<u32>,
    entries: Vec<LedgerEntry>,
}

impl Ledger {
    /// Appends a change of the thing with this name.
    pub fn note(&mut self, time_ns: u64, server: u32, name: &str, change: Change) {
        let object = self.object(name);
        self.entries.push(LedgerEntry { time_ns, server, object, change });
    }

    /// Notes that several share the thing with this name, each with a part of its own, as the
    /// elements of a list are.
    pub fn share(&mut self, name: &str) {
        let object = self.object(name);
        self.shared.insert(object);
    }

    /// Returns true if several share a thing, by its index.
    pub fn is_shared(&self, object: u32) -> bool {
        self.shared.contains(&object)
    }

    fn object(&mut self, name: &str) -> u32 {
        if let Some(object) = self.known.get(name) {
            return *object;
        }
        let object = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.known.insert(name.to_owned(), object);
        object
    }

    /// Puts the changes into the order of their times; those of one time stay in theirs.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.time_ns);
    }

    /// The changes, in order.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The name of a thing, by its index.
    pub fn name(&self, object: u32) -> &str {
        self.names.get(object as usize).map_or("", String::as_str)
    }

    /// The stored form: JSON Lines behind a versioned header.
    pub fn to_lines(&self) -> String {
        let mut text = format!("{{\"picklock_ledger\":{LEDGER_VERSION}}}\n");
        for entry in &self.entries {
            let LedgerEntry { time_ns, server, change, .. } = *entry;
            let object = self.name(entry.object).into();
            let shared = self.is_shared(entry.object);
            let line = LedgerLine { time_ns, server, object, shared, change };
            text.push_str(&serde_json::to_string(&line).expect("numbers and names"));
            text.push('\n');
        }
        text
    }

    /// Reads the stored form. A last line that was cut off is passed over.
    ///
    /// # Errors
    /// One line that names the place of the mistake.
    pub fn from_lines(text: &str) -> Result<Self, LedgerError> {
        let header = text.lines().next().unwrap_or("");
        let header: Header = serde_json::from_str(header).map_err(|_| LedgerError::NoHeader)?;
        WrongVersion::check(header.picklock_ledger.into(), LEDGER_VERSION)?;
        let mut ledger = Self::default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for (number, line) in (1..).zip(whole.lines()).skip(1) {
            let line: LedgerLine = serde_json::from_str(line)
                .map_err(|error| LedgerError::Line { line: number, error })?;
            ledger.note(line.time_ns, line.server, &line.object, line.change);
            if line.shared {
                ledger.share(&line.object);
            }
        }
        Ok(ledger)
    }
}

#[derive(Deserialize)]
struct Header {
    picklock_ledger: u32,
}

#[derive(Serialize, Deserialize)]
struct LedgerLine {
    time_ns: u64,
    server: u32,
    object: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
    change: Change,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_read_as_it_was_written_but_for_a_torn_line() {
        let mut ledger = Ledger::default();
        ledger.note(5, 0, "lock:k\"0", Change::Written(3));
        ledger.note(9, 2, "/a", Change::SessionEnded(3));
        ledger.note(10, 0, "lock:k\"0", Change::Expired);
        ledger.share("/a");
        let text = ledger.to_lines();
        assert_eq!(Ledger::from_lines(&text).expect("readable"), ledger);
        let torn = Ledger::from_lines(&text[..text.len() - 4]).expect("readable");
        assert_eq!(torn.entries(), &ledger.entries()[..2]);
        let says = |text: &str| Ledger::from_lines(text).expect_err("refused").to_string();
        assert_eq!(says("{}\n"), "line 1: not a ledger of picklock");
        assert!(says("{\"picklock_ledger\":9}\n").starts_with("has version 9, of a newer"));
        assert!(says(&(text + "{}\n")).starts_with("line 5: not a change of the store"));
    }
}
