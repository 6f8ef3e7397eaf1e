//! The definition file of a lock: everything about it that a run has to know, written once.

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use workloads::TestedLock;

use crate::excerpt::Excerpt;
use crate::foreign::{ForeignError, ForeignLock, Promises, promised};
use crate::named_anomaly::NamedAnomaly;
use crate::options::parse_duration;

/// The fields of a definition file (docs/own-lock.md).
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LockFields {
    name: Option<String>,
    #[serde(default)]
    summary: String,
    command: String,
    #[serde(default)]
    server: String,
    on: String,
    ttl: Option<TimeText>,
    permits: Option<NonZeroU32>,
    #[serde(default)]
    promises: Vec<String>,
    back_off: Option<TimeText>,
    recovers_within: Option<TimeText>,
    start_up: Option<TimeText>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    known: Vec<AnomalyText>,
}

impl LockFields {
    fn promises(&self) -> Result<Promises, ForeignError> {
        let mut promises = Promises::mutex();
        if let Some(TimeText(longest)) = self.back_off {
            promises = promises.back_off(longest);
        }
        if let Some(TimeText(longest)) = self.recovers_within {
            promises = promises.recovers_within(longest);
        }
        if let Some(permits) = self.permits {
            promises = promises.permits(permits.get());
        }
        promised(promises, &self.promises)
    }
}

/// Reads the lock of a definition file. Its program runs in the folder of the file, and its name is
/// that of the file unless it says another.
///
/// # Errors
/// Fails at the first mistake, with its place.
pub fn read(path: &Path, text: &str) -> Result<TestedLock, ForeignError> {
    let wrong = |at: Range<usize>, mistake: String| ForeignError::File {
        file: path.into(),
        at: Excerpt::of(text, at),
        mistake,
    };
    let fields: LockFields = toml::from_str(text).map_err(|error| {
        wrong(error.span().unwrap_or(0..0), error.message().replace('\n', "; "))
    })?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let shown = path.display().to_string();
    let quoted = shlex::try_quote(&shown).unwrap_or_else(|_| shown.as_str().into());
    let mistaken = |error: ForeignError| wrong(line_of(text, error.field()), error.to_string());
    let promises = fields.promises().map_err(mistaken)?;
    let lock = ForeignLock {
        name: Some(fields.name.unwrap_or_else(|| stem.into_owned())),
        summary: fields.summary,
        command: fields.command,
        server: fields.server,
        start_up: fields.start_up.map(|it| it.0),
        folder: folder.map(Into::into),
        environment: fields.environment.into_iter().collect(),
        on: fields.on,
        ttl: fields.ttl.map(|it| it.0),
        promises,
        known: fields.known.into_iter().map(|it| it.0).collect(),
        arguments: format!("--lock {quoted}"),
    };
    lock.tested().map_err(mistaken)
}

/// Returns the place of the line that begins with a field, or a table of its name; the start of the
/// file if none does.
fn line_of(text: &str, field: &str) -> Range<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().trim_start_matches('[').starts_with(field) {
            return at..at + line.trim_end().len();
        }
        at += line.len();
    }
    0..0
}

/// A length of time, such as "500ms".
struct TimeText(Duration);

impl<'de> Deserialize<'de> for TimeText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        parse_duration(&String::deserialize(from)?).map(Self).map_err(D::Error::custom)
    }
}

/// An anomaly with its cause, such as "double hold by holder-paused".
struct AnomalyText(NamedAnomaly);

impl<'de> Deserialize<'de> for AnomalyText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        NamedAnomaly::parse(&String::deserialize(from)?).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
