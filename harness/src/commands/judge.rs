//! Judges a run, writes what there is to say about it into its folder, and says it.

use anyhow::Result;
use base::Run;
use checkers::Judgement;
use reports::Context;
use reports::terminal::Style;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::Exit;
use crate::cli::Format;
use crate::folder::Folder;

/// The run, judged: what `--format json` prints.
#[derive(Serialize)]
struct Judged<'a> {
    folder: String,
    run: &'a base::RunInfo,
    #[serde(flatten)]
    judgement: &'a Judgement,
}

/// Judges a run and reports it. The exit code is the verdict's.
pub fn judge(
    run: &Run,
    folder: &Folder,
    format: Format,
    elapsed: Option<Duration>,
) -> Result<Exit> {
    let judgement = Judgement::of(run);
    folder.write_json("verdict.json", &judgement)?;
    let context = Context {
        folder: folder.path().display().to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
        elapsed,
    };
    let Judgement { verdicts, outcome, .. } = &judgement;
    folder.write("report.html", &reports::html::page(run, verdicts, *outcome, &context))?;
    let text = match format {
        Format::Human => reports::terminal::summary(run, verdicts, *outcome, &context, style()),
        Format::Json => {
            let folder = context.folder.clone();
            let judged = Judged { folder, run: &run.info, judgement: &judgement };
            serde_json::to_string_pretty(&judged)? + "\n"
        }
    };
    say(&text);
    Ok((*outcome).into())
}

/// Prints to stdout; a reader that has gone away is no error.
pub fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// What stdout can show.
pub fn style() -> Style {
    Style { colour: colour(), unicode: unicode() }
}

/// Colour on a terminal, unless <https://no-color.org> says otherwise.
fn colour() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !forbidden
}

fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_none_or(|locale| locale != "C" && locale != "POSIX")
}
