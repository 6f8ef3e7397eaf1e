//! The whole command, as a user runs it: a history is written to a folder of its own, and
//! `picklock check` reads and judges it.

use anyhow::{Context, Result};
use base::{event_line, header_line};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

use super::inputs::{BenchLoad, play};
use super::{RowFigures, info};

/// Measures the command on a load, with these flags: in all rounds the same folder.
pub fn measured(load: BenchLoad, rounds: u32, flags: &[&str]) -> Result<RowFigures> {
    let folder = TempDir::new().context("cannot make a folder")?;
    let header = serde_json::to_string(&info(load.clients))?;
    fs::write(folder.path().join("run.json"), header).context("cannot write run.json")?;
    write(load, &folder.path().join("history.jsonl"))?;
    let (mut time, mut verdict) = (Duration::MAX, "");
    let before = usage()?;
    for _ in 0..rounds {
        let begun = cpu(&usage()?);
        verdict = check(folder.path(), flags)?;
        time = time.min(cpu(&usage()?) - begun);
    }
    // Of all programs that this one has started, the most is known, and each counts from what this
    // one had: a peak that does not stand out is nobody's.
    let own = getrusage(UsageWho::RUSAGE_SELF).context("cannot tell what was used")?.max_rss();
    let peak = Some(usage()?.max_rss()).filter(|peak| *peak > before.max_rss().max(own));
    let bytes = peak.and_then(|kilobytes| u64::try_from(kilobytes).ok()).map(|kb| kb * 1024);
    let operations = load.operations * if load.vault { 2 } else { 1 };
    Ok(RowFigures { operations, time, bytes, verdict, ratio: None })
}

fn write(load: BenchLoad, path: &Path) -> Result<()> {
    let help = || format!("cannot write `{}`", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(help)?);
    let mut written = file.write_all(header_line().as_bytes());
    play(load, |event| {
        if written.is_ok() {
            written = file.write_all(event_line(&event).as_bytes());
        }
    });
    written.and_then(|()| file.flush()).with_context(help)
}

fn check(folder: &Path, flags: &[&str]) -> Result<&'static str> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_picklock"));
    command.arg("check").arg(folder).args(flags);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().context("cannot run `picklock check`")?;
    Ok(match status.code() {
        Some(0) => "legal",
        Some(1) => "illegal",
        Some(2) => "inconclusive",
        _ => "failed",
    })
}

/// Returns the resources used by the programs that were started and have ended.
fn usage() -> Result<Usage> {
    getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot tell what was used")
}

fn cpu(usage: &Usage) -> Duration {
    let both = usage.user_time() + usage.system_time();
    Duration::from_micros(u64::try_from(both.num_microseconds()).unwrap_or(0))
}
