//! The reader of suites.

use base::{RunSpec, ScriptFile, nanos};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;
use workloads::TestedLock;

use super::SuiteEntry;
use super::field::EntryFields;
use crate::excerpt::Excerpt;
use crate::input::{self, JudgingBudget};
use crate::lock_file;
use crate::nearest;
use crate::options::flags;

/// The version of the format that this build reads.
const VERSION: u32 = 1;

/// The longest name of an entry, in bytes: it stands in a line of the terminal.
const LONGEST_NAME: usize = 500;
/// The seeds of an entry that names no number.
const SEEDS: u64 = 200;

/// The length of a run on real servers of an entry that names none.
const REAL_TIME_LIMIT: Duration = Duration::from_secs(20);

/// A suite: entries in the order of its file.
pub struct Suite {
    /// The entries, each with a name of its own.
    pub entries: Vec<SuiteEntry>,
}

/// A mistake in a suite, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{file}`, line {}, column {}: {mistake}", .at.line, .at.column)]
pub struct SuiteError {
    file: String,
    at: Excerpt,
    mistake: String,
}

impl SuiteError {
    /// The line of the suite, with marks below what is wrong.
    pub fn excerpt(&self) -> &[String] {
        &self.at.lines
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFields {
    version: Spanned<u32>,
    #[serde(default)]
    entry: Vec<Spanned<EntryFields>>,
}

type SuiteMistake = (Range<usize>, String);

impl Suite {
    /// Reads a suite. Fault scripts are looked for from `folder`.
    ///
    /// # Errors
    /// Fails at the first mistake, with its place.
    pub fn read(file: &str, text: &str, folder: &Path) -> Result<Self, SuiteError> {
        let entries = entries(text, folder);
        let entries = entries.map_err(|(at, mistake)| SuiteError {
            file: file.into(),
            at: Excerpt::of(text, at),
            mistake,
        })?;
        Ok(Self { entries })
    }
}

fn entries(text: &str, folder: &Path) -> Result<Vec<SuiteEntry>, SuiteMistake> {
    let fields: SuiteFields = toml::from_str(text)
        .map_err(|error| (error.span().unwrap_or(0..0), error.message().replace('\n', "; ")))?;
    if *fields.version.get_ref() != VERSION {
        let mistake = format!("this picklock reads version = {VERSION}");
        return Err((fields.version.span(), mistake));
    }
    if fields.entry.is_empty() {
        return Err((
            0..0,
            "there is no entry in it: each begins with [[entry]] (docs/ci.md)".into(),
        ));
    }
    let mut names = BTreeSet::new();
    let read = fields.entry.into_iter().map(|fields| {
        let at = header(text, &fields.span());
        let entry = entry(fields.into_inner(), folder, at.clone())?;
        if entry.name.len() > LONGEST_NAME {
            let mistake = format!("the name of an entry has {LONGEST_NAME} bytes at most");
            return Err((at, mistake));
        }
        if !names.insert(entry.name.clone()) {
            let mistake =
                format!("two entries are `{}`: give one of them a name of its own", entry.name);
            return Err((at, mistake));
        }
        Ok(entry)
    });
    read.collect()
}

/// The place of the header of a table, of which nothing but its first line is shown.
fn header(text: &str, at: &Range<usize>) -> Range<usize> {
    let line = text[at.clone()].lines().next().unwrap_or_default();
    at.start..at.start + line.len()
}

fn entry(fields: EntryFields, folder: &Path, at: Range<usize>) -> Result<SuiteEntry, SuiteMistake> {
    let script = fields.script.map(|script| read_script(&script, folder)).transpose()?;
    if script.is_some() && fields.nemesis.is_some() {
        return Err((at, "a script takes the place of nemeses: give one of the two".into()));
    }
    let nemesis = match &script {
        Some(script) => script.name(),
        None => fields.nemesis.unwrap_or_else(|| "none".into()),
    };
    let seeds = fields.seeds.map_or(Ok(SEEDS), |seeds| match *seeds.get_ref() {
        0 => Err((seeds.span(), "an entry has one seed at least".to_owned())),
        many => Ok(many),
    })?;
    let (lock, real_time_limit) =
        (lock(&fields.lock, folder)?, fields.real_time_limit.unwrap_or(REAL_TIME_LIMIT));
    let run = fields.options.apply(lock.info.run(&nemesis, 0));
    // Its length is no part of its name.
    let usual = lock.info.run(&nemesis, 0).time_limit_ns;
    let name = fields.name.unwrap_or_else(|| {
        let run = RunSpec { time_limit_ns: usual, script: None, ..run.clone() };
        format!("{} under {nemesis}{}", lock.name(), flags(&run, &lock.info))
    });
    let time_limit_ns = match fields.options.has("time-limit") {
        true => run.time_limit_ns,
        false => nanos(real_time_limit),
    };
    let entry = SuiteEntry {
        name,
        hazards: fields.hazards,
        lock,
        run: RunSpec { script, time_limit_ns, ..run },
        seeds,
        rare: fields.rare,
        real: fields.real,
        real_time_limit,
        expect: fields.expect.get_ref().clone(),
    };
    check(&entry, &at, fields.expect.span())?;
    Ok(entry)
}

/// Refuses what cannot be run, and what its lock can never show.
fn check(entry: &SuiteEntry, at: &Range<usize>, expect: Range<usize>) -> Result<(), SuiteMistake> {
    entry.simulated(0).map_err(|error| (at.clone(), error.to_string()))?;
    if entry.real > 0 {
        entry.on_servers(0).map_err(|error| (at.clone(), format!("on real servers: {error}")))?;
    }
    let known = &entry.lock.info.known;
    for (_, anomaly) in entry.expect.anomalies() {
        let is_known = known.iter().any(|known| {
            known.anomaly == anomaly.name && anomaly.cause.is_none_or(|it| it == known.cause)
        });
        if !is_known {
            let lock = entry.lock.name();
            let mut may: Vec<String> =
                known.iter().map(|it| format!("{} by {}", it.anomaly, it.cause.name())).collect();
            may.dedup();
            let mistake = match may.is_empty() {
                true => format!("{lock} is not known to break at all: expect = \"held\""),
                false => format!("{lock} is not known to show `{anomaly}`, but {}", may.join(", ")),
            };
            return Err((expect, mistake));
        }
    }
    Ok(())
}

/// Finds a lock of the catalogue, or reads a definition file.
fn lock(named: &Spanned<String>, folder: &Path) -> Result<TestedLock, SuiteMistake> {
    let name = named.get_ref();
    let mistake = |why: String| (named.span(), why);
    if Path::new(name).extension().is_some_and(|it| it == "toml") {
        let path = folder.join(name);
        let text = input::text(&path, JudgingBudget::default());
        let text = text.map_err(|error| mistake(format!("{error:#}")))?;
        return lock_file::read(&path, &text).map_err(|error| mistake(error.to_string()));
    }
    let names = || workloads::LOCKS.iter().map(|lock| lock.name).collect::<Vec<_>>();
    workloads::lock(name).ok_or_else(|| mistake(nearest::unknown("lock", name, &names())))
}

fn read_script(script: &Spanned<PathBuf>, folder: &Path) -> Result<Arc<ScriptFile>, SuiteMistake> {
    let path = folder.join(script.get_ref());
    let text = input::text(&path, JudgingBudget::default());
    let text = text.map_err(|error| (script.span(), format!("{error:#}")))?;
    Ok(Arc::new(ScriptFile { path, text }))
}
