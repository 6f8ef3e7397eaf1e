//! Judges a run, says what there is to say about it, and writes it into its folder.

use anyhow::Result;
use base::{Outcome, Run, visible_json};
use checkers::Judgement;
use reports::Context;
use reports::terminal::Style;
use serde::Serialize;
use std::time::Duration;

use crate::cli::Format;
use crate::folder::RunFolder;
use crate::input::JudgingBudget;
use crate::output::{OutputLosses, note, say};
use crate::output_style::{quiet, style};

/// The run, judged: what `--format json` prints.
#[derive(Serialize)]
struct JudgedRun<'a> {
    folder: String,
    run: &'a base::RunInfo,
    #[serde(flatten)]
    judgement: &'a Judgement,
}

/// Judges a run within the budget, if there is one, and reports it: at the terminal, and in its
/// folder, if it has one.
pub fn judge(
    run: &Run,
    folder: Option<&RunFolder>,
    format: Option<Format>,
    elapsed: Option<Duration>,
    budget: Option<JudgingBudget>,
    losses: &mut OutputLosses,
) -> Result<Outcome> {
    let judgement = Judgement::within(run, &|| budget.as_ref().is_some_and(JudgingBudget::is_over));
    report(&judgement, run, folder, format, elapsed, losses)?;
    Ok(judgement.outcome)
}

/// Reports what was judged of a run. Without a format, stdout is there for something else.
pub fn report(
    judgement: &Judgement,
    run: &Run,
    folder: Option<&RunFolder>,
    format: Option<Format>,
    elapsed: Option<Duration>,
    losses: &mut OutputLosses,
) -> Result<()> {
    let context = Context {
        folder: folder.map_or(String::new(), |folder| folder.path().display().to_string()),
        version: env!("CARGO_PKG_VERSION").into(),
        elapsed,
    };
    let Judgement { verdicts, outcome, .. } = judgement;
    if let Some(folder) = folder {
        losses.note(folder.write_json("verdict.json", judgement));
        let page = reports::html::page(run, verdicts, *outcome, &context);
        losses.note(folder.write("report.html", &page));
    }
    let last_line = |style| reports::terminal::last_line(run, verdicts, *outcome, &context, style);
    let Some(format) = format else {
        let plain = Style { colour: false, ..style() };
        last_line(plain).lines().for_each(note);
        return Ok(());
    };
    let text = match format {
        Format::Human if quiet() => last_line(style()),
        Format::Human => reports::terminal::summary(run, verdicts, *outcome, &context, style()),
        Format::Json => {
            let folder = context.folder.clone();
            let judged = JudgedRun { folder, run: &run.info, judgement };
            json(&judged)?
        }
    };
    losses.note(say(&text));
    Ok(())
}

/// Renders data as JSON, in which hidden characters of strangers are written out.
pub fn json(data: &impl Serialize) -> Result<String> {
    Ok(visible_json(&serde_json::to_string_pretty(data)?).into_owned() + "\n")
}
