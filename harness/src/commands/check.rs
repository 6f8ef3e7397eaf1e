//! `picklock check`: judges a stored run again, or holds any history against a model.

use super::{Failure, judge::judge};
use crate::cli::{CheckArgs, ExportFormat};
use crate::folder::Folder;
use crate::{Exit, input};
use anyhow::Context;
use base::History;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

mod model;

pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if let Some(name) = &args.model {
        return model::run(args, name);
    }
    if let Some(ExportFormat::Edn) = args.export {
        return export(&history_in(&args.run));
    }
    let folder = Folder::find(&args.run)?;
    let (run, cut_off) = folder.read()?;
    if cut_off {
        eprintln!(
            "picklock: the history ends in the middle of a line; judging the {} events before it",
            run.history.events().len()
        );
    }
    Ok(judge(&run, &folder, args.format, None)?)
}

/// The history of a run folder; a file is one already.
fn history_in(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("history.jsonl") } else { path.to_owned() }
}

/// Writes a history of ours as EDN to stdout, an operation a line.
fn export(path: &Path) -> Result<Exit, Failure> {
    let (reader, bar) = input::open(path)?;
    let read = History::read(reader);
    bar.finish_and_clear();
    let parsed = read.with_context(|| format!("`{}`", path.display()))?;
    if parsed.cut_off {
        eprintln!("picklock: the history ends in the middle of a line, which is left out");
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    // A reader that has gone away is no error.
    let _ = parsed.history.events().iter().try_for_each(|event| writeln!(out, "{}", event.edn()));
    let _ = out.flush();
    Ok(Exit::Held)
}
