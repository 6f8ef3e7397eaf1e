//! `picklock check FILE --model M`: holds any history against a model, by Jepsen's rule: what
//! failed is left out, what is of unknown outcome may have happened at any time after its begin, or
//! not.

use anyhow::{Context, Result, bail};
use base::Outcome;
use base::units::{count, counted};
use histories::operation::{Operation, OperationKind};
use histories::reading::{Entries, Notation as Written, Value};
use histories::{
    Decision, HistoryError, Illegal, MODELS, NamedModel, NoModel, Paired, Pairing, Reading,
    Unserved,
};
use reports::terminal::{Decided, decision};
use serde::Serialize;
use std::path::Path;

use super::history_in;
use super::report::{PageSubject, PageWords, page};
use crate::Exit;
use crate::cli::{CheckArgs, Format, InputFormat};
use crate::commands::Failure;
use crate::commands::judge::json;
use crate::input::{self, Input, JudgingBudget, WrongKind};
use crate::nearest::Unlisted;
use crate::output::{OutputLosses, say, write_whole};
use crate::output_style::{quiet, render, style};

/// The answer, as `--format json` prints it.
#[derive(Serialize)]
struct AnswerJson {
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
    /// The locks that nobody was given any more, though they were free.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deadlocks: Vec<Deadlock>,
    /// The page with a picture of it, if one was wanted and could be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<String>,
}

/// The reason why a history is not one of the model.
#[derive(Serialize)]
struct Witness {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The first operation that can be put nowhere.
    operation: WitnessPart,
    /// The operations that stand in its way, or were under way beside it.
    beside: Vec<WitnessPart>,
    /// The states in which the model may have been just before.
    states: Vec<String>,
}

/// A lock that nobody was given any more, though it was free.
#[derive(Serialize)]
struct Deadlock {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The line from which on it was free and asked for.
    since_line: Option<u64>,
    /// The time from then to the end of the history, if its events have times.
    #[serde(skip_serializing_if = "Option::is_none")]
    waited_ns: Option<i64>,
    /// The line on which the release of its last hold failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_line: Option<u64>,
    /// The acquires that were never answered.
    waiting: Vec<WitnessPart>,
}

/// An operation of a witness.
#[derive(Serialize)]
struct WitnessPart {
    text: String,
    invoke_line: Option<u64>,
    answer_line: Option<u64>,
}

/// A history, read.
struct ReadHistory {
    paired: Paired,
    written: Written,
    cut_off: Option<u64>,
    /// True if it is of a run that did not come to its end, as far as it says.
    lacks_end: bool,
    /// The reason why it was read in part only, if it was.
    unread: Option<String>,
    notes: Vec<String>,
}

pub fn run(args: &CheckArgs, name: &str) -> Result<Exit, Failure> {
    let model = named(name)?;
    let path = history_in(&args.run);
    if args.report.as_ref().is_some_and(|report| is_same(report, &path)) {
        let why = format!("--report would write over the history `{}`", path.display());
        return Err(Failure::arguments(why));
    }
    let budget = args.budget.begin();
    let history = read(args, model, &path, budget)?;
    let judged = decide(model, &history, budget)?;
    let mut answer = answer(model, &path, &history, &judged, budget);
    let mut losses = OutputLosses::default();
    if let Some(report) = &args.report {
        let JudgedHistory { decision, .. } = &judged;
        let subject = PageSubject { model, paired: &history.paired, decision, budget };
        let words = PageWords {
            decided: decided(&answer),
            file: answer.file.clone(),
            command: command(args, name),
        };
        match write_whole(report, &page(&subject, words)) {
            Ok(()) => answer.report = Some(report.display().to_string()),
            lost => losses.note(lost),
        }
    }
    let text = match args.format {
        Format::Json => json(&answer)?,
        Format::Human if quiet() => render(&decision(&decided(&answer), style())),
        Format::Human => decision(&decided(&answer), style()),
    };
    losses.note(say(&text));
    Ok(losses.end(answer.outcome))
}

/// Returns true if two paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some_and(|one| one.is_file() && real(other) == Some(one))
}

/// The command that writes the page again.
fn command(args: &CheckArgs, model: &str) -> String {
    let mut words = vec!["picklock".into(), "check".into(), args.run.display().to_string()];
    words.extend(["--model".into(), model.into()]);
    if let Some(format) = args.input_format {
        words.extend(["--input-format".into(), format.name().into()]);
    }
    if args.independent {
        words.push("--independent".into());
    }
    if let Some(initial) = &args.initial {
        words.extend(["--initial".into(), initial.to_string()]);
    }
    let report = args.report.iter().flat_map(|it| ["--report".into(), it.display().to_string()]);
    words.extend(report);
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

fn named(name: &str) -> Result<NamedModel, Failure> {
    name.parse().map_err(|why| match why {
        NoModel::Unknown(name) => {
            let known = MODELS.iter().map(|model| model.name);
            Failure::arguments(Unlisted::new("model", &name, known))
        }
        NoModel::Bound(line) => Failure::arguments(line),
    })
}

fn read(
    args: &CheckArgs,
    model: NamedModel,
    path: &Path,
    budget: JudgingBudget,
) -> Result<ReadHistory, Failure> {
    let (reader, bar) = input::open(path, budget)?;
    let read = entries(args, model, reader, budget);
    bar.finish_and_clear();
    Ok(read.with_context(|| format!("`{}`", path.display()))?)
}

fn entries(
    args: &CheckArgs,
    model: NamedModel,
    reader: Input,
    budget: JudgingBudget,
) -> Result<ReadHistory> {
    let format = args.input_format.map(Written::from);
    let mut entries = match Entries::open(reader, format) {
        Err(HistoryError::Empty) if budget.is_over() => return nothing(model, format),
        entries => entries?,
    };
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
    let unread = pair(&mut pairing, &mut entries, budget)?;
    let paired = pairing.finish()?;
    if misses && unread.is_none() && paired.events() == 0 {
        let what = "there is no operation in it: it is neither JSON Lines nor EDN, and no log";
        bail!(WrongKind(format!("{what} with lines such as `0 :invoke :acquire nil`")));
    }
    let mut notes = Vec::new();
    let cut_off = entries.cut_off().filter(|_| unread.is_none());
    let lacks_end = unread.is_none() && cut_off.is_none() && entries.lacks_end();
    if let Some(line) = entries.time_goes_back() {
        notes.push(format!("the time goes back at line {line}; order is that of the lines"));
    }
    if paired.independent && !args.independent {
        notes.push("values are read as [key value]: each key is judged by itself".into());
    }
    if paired.several {
        notes.push("a key that is a list is several locks, taken and freed together".into());
    }
    notes.extend(paired.passed_over(model));
    Ok(ReadHistory { paired, written: entries.format(), cut_off, lacks_end, unread, notes })
}

/// Returns an empty history, where nobody wrote anything in time.
fn nothing(model: NamedModel, format: Option<Written>) -> Result<ReadHistory> {
    Ok(ReadHistory {
        paired: Pairing::new(model, Reading::default()).finish()?,
        written: format.unwrap_or(Written::Jsonl),
        cut_off: None,
        lacks_end: false,
        unread: Some("the time budget was spent before anything could be read, and so".into()),
        notes: Vec::new(),
    })
}

/// Tells where the file ends, if that is not the end of a history.
fn ends_early(history: &ReadHistory) -> Option<String> {
    match history.cut_off {
        Some(line) => Some(format!("the file ends in the middle of line {line}")),
        None if history.lacks_end => Some("the file ends before the `stop` of its run".into()),
        None => None,
    }
}

/// The operations may take this part of the memory: to decide about them takes up to twice as much.
const SHARE: usize = 3;

/// Takes all entries, as far as the budgets go; says so where that is not to the end.
fn pair(
    pairing: &mut Pairing,
    entries: &mut Entries<Input>,
    budget: JudgingBudget,
) -> Result<Option<String>> {
    let mut line = 0;
    for entry in entries {
        let entry = entry?;
        line = entry.line;
        pairing.push(entry)?;
        if pairing.memory() > budget.memory / SHARE {
            let why = "the history is larger than the memory budget, and up to line";
            return Ok(Some(format!("{why} {line}")));
        }
    }
    Ok(budget
        .is_over()
        .then(|| format!("the time budget was spent in reading, and up to line {line}")))
}

fn answer(
    model: NamedModel,
    path: &Path,
    history: &ReadHistory,
    judged: &JudgedHistory,
    budget: JudgingBudget,
) -> AnswerJson {
    let paired = &history.paired;
    let JudgedHistory { outcome, why, decision } = judged;
    let outcome = *outcome;
    let witness = match decision {
        Decision::Illegal(keys) => Some(witness(paired, &keys[0])),
        _ => None,
    };
    let mut notes = history.notes.clone();
    if let Some(end) = ends_early(history).filter(|_| outcome == Outcome::Violated) {
        notes.push(format!("{end}; this is about what stands before it"));
    }
    notes.extend(left_out(model, paired));
    notes.extend(other_reading(model, paired, decision, budget));
    let deadlocks = deadlocks(history);
    if deadlocks.is_empty() {
        notes.extend(unanswered(paired));
    }
    let mut summary = summary(paired);
    if let Some(why) = why {
        summary = format!("{summary}: {why}");
    }
    AnswerJson {
        file: path.display().to_string(),
        input_format: InputFormat::from(history.written).name(),
        model: model.to_string(),
        outcome,
        summary,
        operations: paired.asked(),
        events: paired.events(),
        processes: paired.processes(),
        keys: paired.keys(),
        cut_off: history.cut_off,
        notes,
        witness,
        deadlocks,
        report: None,
    }
}

/// The decision on a history, and why it is no more than that.
struct JudgedHistory {
    outcome: Outcome,
    why: Option<String>,
    decision: Decision,
}

fn decide(
    model: NamedModel,
    history: &ReadHistory,
    budget: JudgingBudget,
) -> Result<JudgedHistory, Failure> {
    let paired = &history.paired;
    if paired.operations.is_empty() && history.unread.is_none() {
        let why = "there is no operation of a client to judge".to_owned();
        let decision = Decision::Legal;
        return Ok(JudgedHistory { outcome: Outcome::Inconclusive, why: Some(why), decision });
    }
    let memory = budget.memory.saturating_sub(paired.memory());
    let limits = histories::Budget { memory, expired: &mut || budget.is_over() };
    let decision = histories::decide(model, &paired.operations, limits);
    let decision = decision.map_err(|misfit| {
        let operation = paired.describe(&paired.operations[misfit.0]);
        Failure::arguments(format!("the model {model} has no {operation}"))
    })?;
    let help = "give more with --time-budget or --memory-budget";
    let (outcome, why) = match (&decision, &history.unread) {
        (Decision::Illegal(_), _) => (Outcome::Violated, None),
        // What comes later can break it still.
        (_, Some(unread)) => {
            (Outcome::Inconclusive, Some(format!("{unread} nothing was found; {help}")))
        }
        (Decision::Inconclusive(why), None) => {
            (Outcome::Inconclusive, Some(format!("{why}; {help}")))
        }
        // What is missing may be their answers.
        (Decision::Legal, None) if !unserved(history).is_empty() => (Outcome::Violated, None),
        (Decision::Legal, None) => match no_proof(model, history) {
            Some(why) => (Outcome::Inconclusive, Some(why)),
            None => (Outcome::Held, None),
        },
    };
    Ok(JudgedHistory { outcome, why, decision })
}

/// Returns the reason why a history that is legal as far as it goes need not be, if there is one.
fn no_proof(model: NamedModel, history: &ReadHistory) -> Option<String> {
    let cut_off = ends_early(history).map(|end| format!("{end}, and what is missing may break it"));
    cut_off.or_else(|| history.paired.proves_nothing(model))
}

fn summary(paired: &Paired) -> String {
    let keys = match paired.keys() {
        0 | 1 => String::new(),
        keys => format!(" on {} keys", count(keys as u64)),
    };
    let operations = counted(paired.asked() as u64, "operation", "operations");
    format!("{operations} by {}{keys}", counted(paired.processes() as u64, "process", "processes"))
}

/// Says how many operations were left out, since the model is of another object.
fn left_out(model: NamedModel, paired: &Paired) -> Option<String> {
    let left_out = Some(paired.left_out).filter(|left_out| *left_out > 0)?;
    let operations = counted(left_out, "operation", "operations");
    Some(format!("left out {operations} that the model {model} does not have"))
}

/// The locks that nobody was given any more; none of a history that ends early, for what is missing
/// may be the grant.
fn unserved(history: &ReadHistory) -> &[Unserved] {
    let whole = history.unread.is_none() && ends_early(history).is_none();
    if whole { &history.paired.unserved } else { &[] }
}

/// Says under what other reading an illegal history would be legal, where there is a likely one.
fn other_reading(
    model: NamedModel,
    paired: &Paired,
    decision: &Decision,
    budget: JudgingBudget,
) -> Option<String> {
    let Decision::Illegal(illegal) = decision else { return None };
    let is_legal = |model: NamedModel, operations: &[Operation]| {
        let memory = budget.memory.saturating_sub(paired.memory());
        let limits = histories::Budget { memory, expired: &mut || budget.is_over() };
        histories::decide(model, operations, limits) == Ok(Decision::Legal)
    };
    let stuck = &paired.operations[illegal[0].stuck];
    let by_same = |beside: &usize| paired.operations[*beside].process == stuck.process;
    if let Some(name) = model.spec.reentrant.filter(|_| illegal[0].concurrent.iter().any(by_same)) {
        let reentrant = name.parse().expect("a listed model");
        return is_legal(reentrant, &paired.operations)
            .then(|| format!("legal for a lock that its holder may take again: --model {name}"));
    }
    let nil = OperationKind::Read { value: Some(None) };
    if paired.operations.iter().all(|operation| operation.action != nil) {
        return None;
    }
    let mut unknown = paired.operations.clone();
    for operation in unknown.iter_mut().filter(|operation| operation.action == nil) {
        operation.action = OperationKind::Read { value: None };
    }
    is_legal(model, &unknown).then(|| {
        "only reads of nil break it: it would be legal if nil meant that the value is unknown"
            .into()
    })
}

fn deadlocks(history: &ReadHistory) -> Vec<Deadlock> {
    let paired = &history.paired;
    let deadlock = |lock: &Unserved| Deadlock {
        key: paired.key(paired.operations[lock.waiting[0]].key),
        since_line: paired.line(lock.since),
        waited_ns: lock.waited_ns,
        refused_line: lock.refused.and_then(|place| paired.line(place)),
        waiting: lock.waiting.iter().map(|index| part(paired, *index)).collect(),
    };
    unserved(history).iter().map(deadlock).collect()
}

/// Says how many requests for the lock were never answered: no model tells whether they were due.
fn unanswered(paired: &Paired) -> Option<String> {
    let acquires = Some(paired.unanswered_acquires()).filter(|acquires| *acquires > 0)?;
    Some(format!("{} never answered", counted(acquires, "acquire was", "acquires were")))
}

fn part(paired: &Paired, index: usize) -> WitnessPart {
    let operation = &paired.operations[index];
    WitnessPart {
        text: paired.describe(operation),
        invoke_line: paired.line(operation.invoke),
        answer_line: operation.answer.and_then(|place| paired.line(place)),
    }
}

fn witness(paired: &Paired, illegal: &Illegal) -> Witness {
    let part = |index: usize| part(paired, index);
    Witness {
        key: paired.key(illegal.key),
        operation: part(illegal.stuck),
        beside: illegal.concurrent.iter().map(|index| part(*index)).collect(),
        states: illegal.states.iter().map(|state| state.clause(paired)).collect(),
    }
}

/// The most operations that are named beside the one that is stuck; JSON has all.
const NAMED: usize = 8;
/// The most states that are named.
const STATES: usize = 3;

/// A deadlock in words.
fn deadlocked(deadlock: &Deadlock) -> String {
    let key = deadlock.key.as_ref().map_or(String::new(), |key| format!(" on key {key}"));
    let free = match (deadlock.refused_line, deadlock.since_line) {
        (Some(line), _) => format!("its last release failed on line {line}"),
        (None, Some(line)) => format!("from line {line} on it can be had"),
        (None, None) => "it can be had from the beginning on".into(),
    };
    let more = match deadlock.waiting.len() - 1 {
        0 => String::new(),
        1 => "; nor is 1 more".into(),
        more => format!("; nor are {} more", count(more as u64)),
    };
    let first = &deadlock.waiting[0].text;
    format!("No progress{key}: {free}, and {first} is not granted{more}.")
}

/// The answer for people.
fn decided(answer: &AnswerJson) -> Decided {
    let mut why = Vec::new();
    if let Some(witness) = &answer.witness {
        let key = witness.key.as_ref().map_or(String::new(), |key| format!("On key {key}, "));
        let stuck = &witness.operation.text;
        why.push(format!("{key}{stuck} can be put nowhere, whatever is done with the rest."));
        if !witness.beside.is_empty() {
            let beside = witness.beside.iter().take(NAMED);
            let named: Vec<&str> = beside.map(|part| &part.text[..]).collect();
            let more = match witness.beside.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!("; and {} more (--format json has all)", count(more as u64)),
            };
            let stand = if witness.beside.len() == 1 { "stands" } else { "stand" };
            why.push(format!("Beside it {stand} {}{more}.", named.join("; ")));
        }
        if !witness.states.is_empty() {
            let named = &witness.states[..witness.states.len().min(STATES)];
            let more = if witness.states.len() > STATES { ", or something else" } else { "" };
            why.push(format!("Just before, {}{more}.", named.join(", or ")));
        }
    }
    why.extend(answer.deadlocks.iter().map(deadlocked));
    Decided {
        model: answer.model.clone(),
        outcome: answer.outcome,
        summary: answer.summary.clone(),
        why,
        notes: answer.notes.clone(),
        report: answer.report.clone(),
    }
}
