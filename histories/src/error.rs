//! Errors in a stored history.

use crate::reading::LONGEST_LINE;
use base::{HEADER_VERSION, WrongVersion};
use std::fmt::Display;
use std::io;

/// An error in a text that should be a history. Each names the line, where there is one, and
/// carries the whole message: the text of the reader below is part of it, and is not repeated as
/// `source`.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file is empty.
    #[error("the history is empty")]
    Empty,
    /// The first line is not a header.
    #[error(
        "line 1: not a picklock history (its first line is {{\"picklock_history\":{HEADER_VERSION}}})"
    )]
    NoHeader,
    /// The file was written by another version.
    #[error("line 1: the history {0}")]
    Version(WrongVersion),
    /// The rest of the file cannot be read.
    #[error("line {line}: cannot be read: {error}")]
    Read {
        /// The line, from 1.
        line: u64,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A line is longer than any event.
    #[error("line {line}: longer than {LONGEST_LINE} bytes: this is not a history")]
    TooLong {
        /// The line, from 1.
        line: u64,
    },
    /// A line is not text.
    #[error("line {line}: not UTF-8 text")]
    NotUtf8 {
        /// The line, from 1.
        line: u64,
    },
    /// A line is not an event.
    #[error("line {line}: not an event: {}", column(error))]
    Line {
        /// The line, from 1.
        line: u64,
        /// The error of the JSON reader.
        error: serde_json::Error,
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
    /// The text, or its meaning, is wrong at this line.
    #[error("line {line}: {why}")]
    Wrong {
        /// The line, from 1.
        line: u64,
        /// The mistake, in words.
        why: String,
    },
}

impl HistoryError {
    /// A mistake in a line, in words.
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

/// The error of the JSON reader, which sees one line at a time, without its line number.
fn column(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}
