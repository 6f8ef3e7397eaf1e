//! The mistakes in a fault script, each with its place and an excerpt.

use std::ops::Range;

use crate::plan::ScriptFile;

/// A mistake in a fault script, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{file}`, line {line}, column {column}: {mistake}")]
pub struct ScriptError {
    file: String,
    line: usize,
    column: usize,
    excerpt: Vec<String>,
    mistake: Mistake,
}

/// The reason why a script, or a fault of it, is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// It is not TOML.
    #[error("{0}")]
    Toml(String),
    /// It has no fault.
    #[error("there is no fault in it: a fault begins with [[fault]] (docs/scripts.md)")]
    Empty,
    /// A name is not in its list.
    #[error("{0}")]
    Unknown(String),
    /// A field is of another type.
    #[error("`{field}` is {wanted}")]
    Type {
        /// The name of the field.
        field: &'static str,
        /// The form that it has to have, with an example.
        wanted: &'static str,
    },
    /// A field is missing.
    #[error("a fault needs {0}")]
    Missing(&'static str),
    /// A field says nothing beside what else is given.
    #[error("{0}")]
    Contradiction(&'static str),
    /// A number or a time is none, or beyond its limits.
    #[error("{0}")]
    Number(String),
    /// The action does not fit the target.
    #[error("{0}")]
    Misfit(String),
    /// The run does not have what is named.
    #[error("{0}")]
    Absent(String),
    /// The backend lacks an ability.
    #[error("{0}")]
    Unable(String),
    /// A line has several faults, which could not be told apart.
    #[error("two faults begin in this line: begin each with [[fault]] in a line of its own")]
    SameLine,
}

/// A mistake, and the bytes of the script that it is about.
#[derive(Debug)]
pub(super) struct ScriptMistake {
    pub at: Range<usize>,
    pub mistake: Mistake,
}

impl Mistake {
    pub(super) const fn at(self, at: Range<usize>) -> ScriptMistake {
        ScriptMistake { at, mistake: self }
    }
}

impl ScriptError {
    pub(super) fn new(file: &ScriptFile, wrong: ScriptMistake) -> Self {
        let ScriptMistake { at, mistake } = wrong;
        let text = &file.text;
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
        let excerpt = if whole.is_empty() { Vec::new() } else { shown };
        Self { file: file.path.display().to_string(), line, column, excerpt, mistake }
    }

    /// The line of the script, with marks below what is wrong.
    pub fn excerpt(&self) -> &[String] {
        &self.excerpt
    }
}

/// The number of the line in which a byte stands, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..floor(text, at)].matches('\n').count() + 1
}

/// The nearest place at or before a byte at which the text can be divided.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
