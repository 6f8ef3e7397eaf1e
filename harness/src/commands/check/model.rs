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
    /// It is larger than the memory budget, and was read up to this line only.
    too_large: Option<u64>,
    notes: Vec<String>,
}

pub fn run(args: &CheckArgs, name: &str) -> Result<Exit, Failure> {
    let model = named(name)?;
    let path = history_in(&args.run);
    let history = read(args, model, &path)?;
    let answer = answer(args, model, &path, &history)?;
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
            Failure::arguments(nearest::unknown("model", &name, &known))
        }
        NoModel::Bound(line) => Failure::arguments(line),
    })
}

fn read(args: &CheckArgs, model: NamedModel, path: &Path) -> Result<History, Failure> {
    let (reader, bar) = input::open(path)?;
    let read = entries(args, model, reader);
    bar.finish_and_clear();
    Ok(read.with_context(|| format!("`{}`", path.display()))?)
}

fn entries(args: &CheckArgs, model: NamedModel, reader: Input) -> Result<History> {
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
    let mut too_large = None;
    for entry in entries.by_ref() {
        let entry = entry?;
        let line = entry.line;
        pairing.push(entry)?;
        if pairing.memory() > args.memory_budget {
            too_large = Some(line);
            break;
        }
    }
    let paired = pairing.finish()?;
    let mut notes = Vec::new();
    if let Some(line) = entries.cut_off() {
        let note = "the file ends in the middle of line";
        notes.push(format!("{note} {line}; this is about what stands before it"));
    }
    if let Some(line) = entries.time_goes_back() {
        notes.push(format!("the time goes back at line {line}; order is that of the lines"));
    }
    if paired.independent && !args.independent {
        notes.push("values are read as [key value]: each key is judged by itself".into());
    }
    Ok(History { paired, written: entries.format(), cut_off: entries.cut_off(), too_large, notes })
}

fn answer(
    args: &CheckArgs,
    model: NamedModel,
    path: &Path,
    history: &History,
) -> Result<Answer, Failure> {
    let paired = &history.paired;
    let (outcome, why, witness) = decide(args, model, history)?;
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
) -> Result<(Outcome, Why, Option<Witness>), Failure> {
    let paired = &history.paired;
    if paired.operations.is_empty() {
        let why = "there is no operation of a client to judge".to_owned();
        return Ok((Outcome::Inconclusive, Some(why), None));
    }
    let begun = Instant::now();
    let mut expired = || begun.elapsed() >= args.time_budget;
    let memory = args.memory_budget;
    let decision =
        checkers::decide(model, &paired.operations, Budget { memory, expired: &mut expired });
    let decision = decision.map_err(|misfit| {
        let operation = paired.describe(&paired.operations[misfit.0]);
        Failure::could_not(format!("the model {model} has no {operation}"))
    })?;
    Ok(match (decision, history.too_large) {
        (Decision::Illegal(illegal), _) => {
            (Outcome::Violated, None, Some(witness(paired, &illegal)))
        }
        // What comes later can break it still.
        (_, Some(line)) => {
            let why = format!(
                "the history is larger than the memory budget, and up to line {line} nothing was \
                 found; give more with --memory-budget"
            );
            (Outcome::Inconclusive, Some(why), None)
        }
        (Decision::Inconclusive(why), None) => {
            let help = "give more with --time-budget or --memory-budget";
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
