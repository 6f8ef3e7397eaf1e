//! The output of a library: it prints its notes, and shows no progress.

use std::io::Read;

use crate::notes::note;

/// Tells people something beside the result that they can do without.
pub fn hint(line: &str) {
    note(line);
}

/// A progress bar that is not shown.
pub struct ProgressBar;

impl ProgressBar {
    /// Reads the same.
    pub fn wrap_read<R: Read>(&self, from: R) -> R {
        from
    }

    /// Does nothing.
    pub fn finish_and_clear(&self) {}
}

/// Returns the bar for the reading of a file.
pub fn reading_bar(_: Option<u64>) -> ProgressBar {
    ProgressBar
}
