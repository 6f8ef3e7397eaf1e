//! `picklock check FILE --model M`: holds any history against a model, by Jepsen's rule: what failed
//! is left out, what is of unknown outcome may have happened at any time after its begin, or not.
#![expect(clippy::disallowed_methods, reason = "a budget of time is one of the wall clock")]

use anyhow::{Context, Result};
use base::Outcome;
use base::reading::{Entries, Format as Written, Value};
use checkers::{Budget, Decision, Illegal, MODELS, NamedModel, NoModel, Paired, Pairing, Reading};
use reports::terminal::{Decided, decision};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

use super::history_in;
use crate::cli::{CheckArgs, Format, InputFormat};
use crate::commands::Failure;
use crate::commands::judge::{say, style};
use crate::input::{self, Input};
use crate::{Exit, nearest};

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct Answer {
    file: String,
    input_format: &'static str,
    model: String,
    outcome: Outcome,
    summary: String,
    operations: usize,
    events: usize,
    processes: usize,
    keys: usize,
    /// The line in the middle of which the file ends; the answer is about what stands before it.
    cut_off: Option<u64>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<Witness>,
}

/// Why a history is none of the model.
#[derive(Serialize)]
struct Witness {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The first operation that can be put nowhere.
    operation: Part,
    /// Those that stand in its way, or were under way beside it.
    beside: Vec<Part>,
    /// What the model may have looked like just before.
    states: Vec<String>,
}

/// An operation of a witness.
#[derive(Serialize)]
struct Part {
    text: String,
    invoke_line: Option<u64>,
    answer_line: Option<u64>,
}

/// A history, read.
struct History {
    paired: Paired,
    written: Written,
    cut_off: Option<u64>,
    /// Why it was read in part only, if it was.
    unread: Option<String>,
    notes: Vec<String>,
}

pub fn run(args: &CheckArgs, name: &str) -> Result<Exit, Failure> {
    let model = named(name)?;
    let path = history_in(&args.run);
    let (begun, budget) = (Instant::now(), args.time_budget);
    let expired = move || begun.elapsed() >= budget;
    let history = read(args, model, &path, expired)?;
    let answer = answer(args, model, &path, &history, expired)?;
    match args.format {
        Format::Json => {
            say(&format!("{}\n", serde_json::to_string_pretty(&answer).context("JSON")?))
        }
        Format::Human => say(&decision(&decided(&answer), style())),
    }
    Ok(answer.outcome.into())
}

fn named(name: &str) -> Result<NamedModel, Failure> {
    name.parse().map_err(|why| match why {
        NoModel::Unknown(name) => {
            let known: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
            Failure::arguments(nearest::unlisted("model", &name, &known))
        }
        NoModel::Bound(line) => Failure::arguments(line),
    })
}

fn read(
    args: &CheckArgs,
    model: NamedModel,
    path: &Path,
    expired: impl Fn() -> bool + Copy + 'static,
) -> Result<History, Failure> {
    let (reader, bar) = input::open_until(path, expired)?;
    let read = entries(args, model, reader, expired);
    bar.finish_and_clear();
    Ok(read.with_context(|| format!("`{}`", path.display()))?)
}

fn entries(
    args: &CheckArgs,
    model: NamedModel,
    reader: Input,
    expired: impl Fn() -> bool,
) -> Result<History> {
    let mut entries = Entries::open(reader, args.input_format.map(Written::from))?;
    let ours = entries.ours();
    let initial = match &args.initial {
        Some(value) => value.clone(),
        // The vault of a run of ours holds 0 at first.
        None if ours => Value::Int(0),
        None => Value::Nil,
    };
    let independent = (args.independent || ours).then_some(args.independent);
    let misses = entries.format() == Written::Log;
    let mut pairing = Pairing::new(model, Reading { independent, initial, misses, mixed: ours });
    let unread = pair(&mut pairing, &mut entries, args.memory_budget, expired)?;
    let paired = pairing.finish()?;
    let mut notes = Vec::new();
    let cut_off = entries.cut_off().filter(|_| unread.is_none());
    if let Some(line) = cut_off {
        let note = "the file ends in the middle of line";
        notes.push(format!("{note} {line}; this is about what stands before it"));
    }
    if let Some(line) = entries.time_goes_back() {
        notes.push(format!("the time goes back at line {line}; order is that of the lines"));
    }
    if paired.independent && !args.independent {
        notes.push("values are read as [key value]: each key is judged by itself".into());
    }
    Ok(History { paired, written: entries.format(), cut_off, unread, notes })
}

/// The operations may take this part of the memory: to decide about them takes up to twice as much.
const SHARE: usize = 3;

/// Takes all entries, as far as the budgets go; says so where that is not to the end.
fn pair(
    pairing: &mut Pairing,
    entries: &mut Entries<Input>,
    memory: usize,
    expired: impl Fn() -> bool,
) -> Result<Option<String>> {
    let mut line = 0;
    for entry in entries {
        let entry = entry?;
        line = entry.line;
        pairing.push(entry)?;
        if pairing.memory() > memory / SHARE {
            let why = "the history is larger than the memory budget, and up to line";
            return Ok(Some(format!("{why} {line}")));
        }
    }
    Ok(expired().then(|| format!("the time budget was spent in reading, and up to line {line}")))
}

fn answer(
    args: &CheckArgs,
    model: NamedModel,
    path: &Path,
    history: &History,
    expired: impl FnMut() -> bool,
) -> Result<Answer, Failure> {
    let paired = &history.paired;
    let (outcome, why, witness) = decide(args, model, history, expired)?;
    let mut summary = summary(paired);
    if let Some(why) = why {
        summary = format!("{summary}: {why}");
    }
    Ok(Answer {
        file: path.display().to_string(),
        input_format: InputFormat::from(history.written).name(),
        model: model.to_string(),
        outcome,
        summary,
        operations: paired.operations.len(),
        events: paired.events(),
        processes: paired.processes(),
        keys: paired.keys(),
        cut_off: history.cut_off,
        notes: history.notes.clone(),
        witness,
    })
}

type Why = Option<String>;

fn decide(
    args: &CheckArgs,
    model: NamedModel,
    history: &History,
    mut expired: impl FnMut() -> bool,
) -> Result<(Outcome, Why, Option<Witness>), Failure> {
    let paired = &history.paired;
    if paired.operations.is_empty() && history.unread.is_none() {
        let why = "there is no operation of a client to judge".to_owned();
        return Ok((Outcome::Inconclusive, Some(why), None));
    }
    let memory = args.memory_budget.saturating_sub(paired.memory());
    let decision =
        checkers::decide(model, &paired.operations, Budget { memory, expired: &mut expired });
    let decision = decision.map_err(|misfit| {
        let operation = paired.describe(&paired.operations[misfit.0]);
        Failure::could_not(format!("the model {model} has no {operation}"))
    })?;
    let help = "give more with --time-budget or --memory-budget";
    Ok(match (decision, &history.unread) {
        (Decision::Illegal(illegal), _) => {
            (Outcome::Violated, None, Some(witness(paired, &illegal)))
        }
        // What comes later can break it still.
        (_, Some(unread)) => {
            (Outcome::Inconclusive, Some(format!("{unread} nothing was found; {help}")), None)
        }
        (Decision::Inconclusive(why), None) => {
            (Outcome::Inconclusive, Some(format!("{why}; {help}")), None)
        }
        (Decision::Legal, None) => (Outcome::Held, None, None),
    })
}

fn summary(paired: &Paired) -> String {
    let keys = match paired.keys() {
        0 | 1 => String::new(),
        keys => format!(" on {keys} keys"),
    };
    let operations = count(paired.operations.len(), "operation", "operations");
    format!("{operations} by {}{keys}", count(paired.processes(), "process", "processes"))
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn witness(paired: &Paired, illegal: &Illegal) -> Witness {
    let part = |index: usize| {
        let operation = &paired.operations[index];
        Part {
            text: paired.describe(operation),
            invoke_line: paired.line(operation.invoke),
            answer_line: operation.answer.and_then(|place| paired.line(place)),
        }
    };
    Witness {
        key: paired.key(illegal.key),
        operation: part(illegal.stuck),
        beside: illegal.concurrent.iter().map(|index| part(*index)).collect(),
        states: illegal.states.clone(),
    }
}

/// How many operations are told beside the one that is stuck; JSON has all.
const TOLD: usize = 8;

/// The answer for people.
fn decided(answer: &Answer) -> Decided {
    let mut why = Vec::new();
    if let Some(witness) = &answer.witness {
        let key = witness.key.as_ref().map_or(String::new(), |key| format!("On key {key}, "));
        let stuck = &witness.operation.text;
        why.push(format!("{key}{stuck} can be put nowhere, whatever is done with the rest."));
        if !witness.beside.is_empty() {
            let told: Vec<&str> = witness.beside.iter().take(TOLD).map(|p| &p.text[..]).collect();
            let more = match witness.beside.len().saturating_sub(TOLD) {
                0 => String::new(),
                more => format!("; and {more} more (--format json has all)"),
            };
            why.push(format!("Beside it stand {}{more}.", told.join("; ")));
        }
        if !witness.states.is_empty() {
            why.push(format!("Just before, it was {}.", witness.states.join(", or ")));
        }
    }
    Decided {
        model: answer.model.clone(),
        outcome: answer.outcome,
        summary: answer.summary.clone(),
        why,
        notes: answer.notes.clone(),
    }
}
