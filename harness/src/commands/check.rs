//! `picklock check`: judges a stored run again, or holds any history against a model.

use super::{Failure, judge::report};
use crate::Exit;
use crate::cli::{CheckArgs, ExportFormat};
use crate::folder::{RunFolder, StoredRun};
use crate::input::{self, JudgingBudget};
use crate::output::{OutputLosses, note, unless_closed};
use crate::paths;
use anyhow::Context;
use checkers::Judgement;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

mod model;
mod report;

pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.run != Path::new("-") && !args.run.exists() {
        let help = "give a run folder, or a file and --model";
        return Err(Failure::arguments(paths::missing(&args.run, help)));
    }
    if let Some(name) = &args.model {
        return model::run(args, name);
    }
    let budget = args.budget.begin();
    if let Some(ExportFormat::Edn) = args.export {
        return export(&history_in(&args.run), budget);
    }
    let folder = RunFolder::find(&args.run)?;
    let StoredRun { run, cut_off, unread } = folder.read(budget)?;
    let events = run.history.events().len();
    if cut_off {
        note(&format!(
            "picklock: the history ends in the middle of a line; judging the {events} events \
             before it"
        ));
    }
    if let Some(why) = &unread {
        note(&format!("picklock: of the history, the first {events} events are judged: {why}"));
    }
    let mut judgement = Judgement::within(&run, &|| budget.is_over());
    if cut_off || unread.is_some() {
        judgement = judgement.of_beginning();
    }
    let mut losses = OutputLosses::default();
    report(&judgement, &run, Some(&folder), Some(args.format), None, &mut losses)?;
    Ok(losses.end(judgement.outcome))
}

/// The history of a run folder; a file is one already.
fn history_in(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("history.jsonl") } else { path.to_owned() }
}

/// Writes a history of ours as EDN to stdout, an operation a line.
fn export(path: &Path, budget: JudgingBudget) -> Result<Exit, Failure> {
    let (reader, bar) = input::open(path, budget)?;
    let read = histories::read_within(reader, budget.memory);
    bar.finish_and_clear();
    let parsed = read.with_context(|| format!("`{}`", path.display()))?;
    if parsed.full || budget.is_over() {
        let help = "give more with --time-budget or --memory-budget";
        return Err(Failure::could_not(format!("the history does not fit the budget; {help}")));
    }
    if parsed.cut_off {
        note("picklock: the history ends in the middle of a line, which is left out");
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut events = parsed.history.events().iter();
    let written = events.try_for_each(|event| writeln!(out, "{}", histories::edn(event)));
    unless_closed(written.and_then(|()| out.flush())).context("cannot write to stdout")?;
    Ok(Exit::Held)
}
