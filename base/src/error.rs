//! What can be wrong with a stored history.

use crate::HEADER_VERSION;

/// Why a text is not a history. Each names the line, where there is one.
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
    /// A line is no event.
    #[error("line {line}: not an event: {source}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What the JSON reader says.
        source: serde_json::Error,
    },
    /// A line is missing, stands twice or in the wrong place.
    #[error("line {line}: event {found} stands where event {expected} should")]
    Index {
        /// The line, from 1.
        line: usize,
        /// The index that it has.
        found: u64,
        /// The index that it should have.
        expected: u64,
    },
}
