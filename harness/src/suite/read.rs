//! The reader of suites.

use base::ExtraPromise;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

use super::entry::EntryNumbers;
use super::field::{
    HazardField, LengthField, LockField, ScriptField, TaskField, TimeField, TopologyField,
};
use super::{Expectation, SuiteEntry};
use crate::excerpt::Excerpt;
use crate::plan::ScriptFile;
use crate::setup::flags;

/// The version of the format that this build reads.
const VERSION: u32 = 1;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct EntryFields {
    name: Option<String>,
    #[serde(default)]
    hazards: Vec<HazardField>,
    lock: LockField,
    #[serde(default)]
    nemesis: Option<String>,
    script: Option<Spanned<ScriptField>>,
    on: Option<TopologyField>,
    task: Option<TaskField>,
    #[serde(default)]
    demand: Vec<ExtraPromise>,
    clients: Option<u32>,
    keys: Option<u32>,
    ttl: Option<TimeField>,
    hold: Option<LengthField>,
    think: Option<LengthField>,
    link_delay: Option<TimeField>,
    fault_scale: Option<TimeField>,
    tick: Option<TimeField>,
    sync_limit: Option<u32>,
    time_limit: Option<TimeField>,
    seeds: Option<Spanned<u64>>,
    #[serde(default)]
    rare: bool,
    #[serde(default)]
    real: u64,
    real_time_limit: Option<TimeField>,
    expect: Spanned<Expectation>,
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
    let time = |field: Option<TimeField>| field.map(|TimeField(time)| time);
    let length = |field: Option<LengthField>| field.map(|LengthField(length)| length);
    let mut entry = SuiteEntry {
        name: String::new(),
        hazards: fields.hazards.iter().map(|hazard| hazard.0.name()).collect(),
        lock: fields.lock.0,
        nemesis,
        script,
        on: fields.on.map(|TopologyField(on)| on),
        task: fields.task.map_or(&base::Task::CONTEND, |TaskField(task)| task),
        extra_promises: fields.demand,
        numbers: EntryNumbers {
            clients: fields.clients,
            keys: fields.keys,
            ttl: time(fields.ttl),
            hold: length(fields.hold),
            think: length(fields.think),
            link_delay: time(fields.link_delay),
            fault_scale: time(fields.fault_scale),
            tick: time(fields.tick),
            sync_limit: fields.sync_limit,
            time_limit: time(fields.time_limit),
        },
        seeds,
        rare: fields.rare,
        real: fields.real,
        real_time_limit: time(fields.real_time_limit).unwrap_or(REAL_TIME_LIMIT),
        expect: fields.expect.get_ref().clone(),
    };
    entry.name = fields.name.unwrap_or_else(|| name(&entry));
    check(&entry, &at, fields.expect.span())?;
    Ok(entry)
}

/// The name of an entry that has none of its own: its run, as flags say it.
fn name(entry: &SuiteEntry) -> String {
    let SuiteEntry { lock, nemesis, .. } = entry;
    format!("{} under {nemesis}{}", lock.name, flags(&entry.options(0)))
}

/// Refuses what cannot be run, and what its lock can never show.
fn check(entry: &SuiteEntry, at: &Range<usize>, expect: Range<usize>) -> Result<(), SuiteMistake> {
    entry.simulated(0).map_err(|error| (at.clone(), error.to_string()))?;
    if entry.real > 0 {
        entry.on_servers(0).map_err(|error| (at.clone(), format!("on real servers: {error}")))?;
    }
    let known = entry.lock.known();
    for (_, sight) in entry.expect.sights() {
        let is_known = known.iter().any(|known| {
            known.anomaly == sight.anomaly && sight.cause.is_none_or(|it| it == known.cause)
        });
        if !is_known {
            let lock = entry.lock.name;
            let mut may: Vec<String> =
                known.iter().map(|it| format!("{} by {}", it.anomaly, it.cause.name())).collect();
            may.dedup();
            let mistake = match may.is_empty() {
                true => format!("{lock} is not known to break at all: expect = \"held\""),
                false => format!("{lock} is not known to show `{sight}`, but {}", may.join(", ")),
            };
            return Err((expect, mistake));
        }
    }
    Ok(())
}

fn read_script(
    script: &Spanned<ScriptField>,
    folder: &Path,
) -> Result<Arc<ScriptFile>, SuiteMistake> {
    let path = folder.join(&script.get_ref().0);
    let wrong = |error| (script.span(), format!("cannot read `{}`: {error}", path.display()));
    let text = std::fs::read_to_string(&path).map_err(wrong)?;
    Ok(Arc::new(ScriptFile { path, text }))
}
