//! The reader of fault scripts.

use base::{Ability, Action};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Mistake, ScriptError, ScriptMistake};
use super::fields::Fields;
use super::{Aim, FaultScript, Moment, ScriptFault, ScriptedRun, Whom, action, aim, moment};
use crate::excerpt::LineEnds;
use base::ScriptFile;

/// The fields of a fault, beside those that give an action its extent.
const FIELDS: &[&str] = &[
    "action", "target", "links", "at", "when", "command", "after", "nth", "who", "lasts",
    "optional",
];

const FAULTS: &str = "a list of tables: each begins with [[fault]]";

impl FaultScript {
    /// Reads a script for a run.
    ///
    /// # Errors
    /// Fails at the first mistake, with its place.
    pub fn read(file: &ScriptFile, run: &ScriptedRun<'_>) -> Result<Self, ScriptError> {
        let entries = entries(&file.text, run);
        Ok(Self { entries: entries.map_err(|wrong| ScriptError::new(file, wrong))? })
    }
}

fn entries(text: &str, run: &ScriptedRun<'_>) -> Result<Vec<ScriptFault>, ScriptMistake> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        Mistake::Toml(error.message().replace('\n', "; ")).at(at)
    })?;
    let fields = Fields::of(table.get_ref(), 0..0, &["fault"])?;
    let faults = fields.list("fault", FAULTS)?;
    let faults = faults.ok_or_else(|| Mistake::Empty.at(0..0))?.0;
    let mut entries: Vec<ScriptFault> = Vec::new();
    let lines = LineEnds::of(text);
    for fault in faults.iter() {
        let entry = entry(text, &lines, fault, entries.is_empty(), run)?;
        if entries.last().is_some_and(|last| last.line == entry.line) {
            return Err(Mistake::SameLine.at(fault.span()));
        }
        entries.push(entry);
    }
    match entries.is_empty() {
        true => Err(Mistake::Empty.at(0..0)),
        false => Ok(entries),
    }
}

fn entry(
    text: &str,
    lines: &LineEnds,
    fault: &Spanned<DeValue<'_>>,
    is_first: bool,
    run: &ScriptedRun<'_>,
) -> Result<ScriptFault, ScriptMistake> {
    let at = header(text, fault.span());
    let wrong = || Mistake::Type { field: "fault", wanted: FAULTS }.at(fault.span());
    let table = fault.get_ref().as_table().ok_or_else(wrong)?;
    let known = [FIELDS, &action::extents()].concat();
    let fields = Fields::of(table, at.clone(), &known)?;
    let action = action::read(&fields, run.ttl)?;
    let aim = Aim::read(&fields, action, run)?;
    check_eviction(&fields, action, run)?;
    if is_first && aim.mentions().any(|whom| *whom == Whom::SameClient) {
        let none = "no fault goes before this one: `same-client` needs one that hits a client";
        return Err(Mistake::Contradiction(none).at(aim::place(&fields)));
    }
    let moment = Moment::read(&fields, &aim, is_first, run)?;
    let lasts = moment::read_lasts(&fields, moment, run)?;
    let optional = fields.flag("optional", "true or false: optional = true")?;
    let (line, what) = (lines.line_of(at.start) as u32, what(&fields, text));
    let at = fields.place("action").unwrap_or(at);
    Ok(ScriptFault { line, at, action, aim, moment, lasts, optional, what })
}

/// The place of the header of a table, of which nothing but its first line is shown.
fn header(text: &str, at: Range<usize>) -> Range<usize> {
    let line = text[at.clone()].lines().next().unwrap_or_default();
    at.start..at.start + line.len()
}

fn check_eviction(
    fields: &Fields<'_>,
    action: Action,
    run: &ScriptedRun<'_>,
) -> Result<(), ScriptMistake> {
    match (action.spec().ability, run.junk) {
        (Ability::Evict, Err(why)) => {
            let misfit = format!("`evict` does nothing to these servers: {why}");
            Err(Mistake::Misfit(misfit).at(aim::place(fields)))
        }
        _ => Ok(()),
    }
}

/// The fault in the words of the script.
fn what(fields: &Fields<'_>, text: &str) -> String {
    let word = |field| {
        let place = fields.place(field)?;
        let words = text[place].replace('"', "");
        Some(words.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let prefixed = |field| Some(format!("{field} {}", word(field)?));
    let parts = [
        word("action"),
        word("target"),
        word("links"),
        prefixed("at"),
        prefixed("when"),
        word("command"),
        prefixed("who"),
        prefixed("nth"),
        prefixed("after"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
