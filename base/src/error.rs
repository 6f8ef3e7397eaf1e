//! What can be wrong with a stored history.

use crate::HEADER_VERSION;
use crate::reading::LONGEST_LINE;
use std::fmt::Display;
use std::io;

/// Why a text is not a history. Each names the line, where there is one, and says all of it: what
/// a reader below it said is part of the text and no `source` that would be told a second time.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// There is nothing in it.
    #[error("the history is empty")]
    Empty,
    /// Its first line is no header.
    #[error("line 1: not a picklock history (its first line is {{\"picklock_history\":1}})")]
    NoHeader,
    /// It was written by another version.
    #[error("line 1: history version {found}; this picklock reads up to version {HEADER_VERSION}")]
    Version {
        /// The version that it names.
        found: u32,
    },
    /// The file cannot be read on.
    #[error("line {line}: cannot be read: {said}")]
    Read {
        /// The line, from 1.
        line: u64,
        /// What the system says.
        said: io::Error,
    },
    /// A line is longer than any event.
    #[error("line {line}: longer than {LONGEST_LINE} bytes: this is not a history")]
    TooLong {
        /// The line, from 1.
        line: u64,
    },
    /// A line is no text.
    #[error("line {line}: not UTF-8 text")]
    NotUtf8 {
        /// The line, from 1.
        line: u64,
    },
    /// A line is no event.
    #[error("line {line}: not an event: {}", column(said))]
    Line {
        /// The line, from 1.
        line: u64,
        /// What the JSON reader says.
        said: serde_json::Error,
    },
    /// A line is missing, stands twice or in the wrong place.
    #[error("line {line}: event {found} stands where event {expected} should")]
    Index {
        /// The line, from 1.
        line: u64,
        /// The index that it has.
        found: u64,
        /// The index that it should have.
        expected: u64,
    },
    /// The text, or what it says, makes no sense at this line.
    #[error("line {line}: {why}")]
    Wrong {
        /// The line, from 1.
        line: u64,
        /// What is wrong, in words.
        why: String,
    },
}

impl HistoryError {
    /// Something is wrong with a line, in words.
    pub fn wrong(line: u64, why: impl Into<String>) -> Self {
        Self::Wrong { line, why: why.into() }
    }

    /// A process begins an operation while another of its own is under way.
    pub fn busy(
        line: u64,
        process: &dyn Display,
        f: &dyn Display,
        open: &dyn Display,
        since: u64,
    ) -> Self {
        let why =
            format!("process {process} begins its {f} while its {open} of line {since} is open");
        Self::Wrong { line, why }
    }

    /// A process ends an operation that it has not begun.
    pub fn not_begun(line: u64, process: &dyn Display, f: &dyn Display) -> Self {
        Self::wrong(line, format!("process {process} ends its {f}, which it did not begin"))
    }
}

/// What the JSON reader says of its only line, without the number that it gives to it.
fn column(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}
