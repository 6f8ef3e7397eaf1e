//! The mistakes in a fault script, each with its place and an excerpt.

use std::ops::Range;

use crate::excerpt::Excerpt;
use base::ScriptFile;

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
    /// A line has several faults, which could not be distinguished.
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
        let Excerpt { line, column, lines } = Excerpt::of(&file.text, at);
        Self { file: file.path.display().to_string(), line, column, excerpt: lines, mistake }
    }

    /// The line of the script, with marks below what is wrong.
    pub fn excerpt(&self) -> &[String] {
        &self.excerpt
    }
}
