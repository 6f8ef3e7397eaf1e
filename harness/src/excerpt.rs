//! The place of a mistake in a text, and the line in which it stands, with marks below it.

use std::ops::Range;

/// The place of a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of the column, from 1.
    pub column: usize,
    /// The line, with marks below what is wrong; empty where the line is.
    pub lines: Vec<String>,
}

impl Excerpt {
    /// The place of these bytes in a text.
    pub fn of(text: &str, at: Range<usize>) -> Self {
        let start = floor(text, at.start);
        let before = &text[..start];
        let line = line_of(text, start);
        let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        let whole = text[begin..].lines().next().unwrap_or_default();
        let marked = &text[start..floor(text, at.end.max(start))];
        let marked = marked.lines().next().unwrap_or_default().chars().count().max(1);
        let column = text[begin..start].chars().count() + 1;
        let margin = " ".repeat(line.to_string().len());
        let blank = " ".repeat(column - 1);
        let shown = vec![
            format!("{margin} |"),
            format!("{line} | {}", whole.replace('\t', " ")),
            format!("{margin} | {blank}{}", "^".repeat(marked)),
        ];
        Self { line, column, lines: if whole.is_empty() { Vec::new() } else { shown } }
    }
}

/// The number of the line in which a byte stands, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..floor(text, at)].matches('\n').count() + 1
}

/// The nearest place at or before a byte at which the text can be divided.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
