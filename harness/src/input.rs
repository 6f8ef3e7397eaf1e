//! A history file as a stream, with a progress bar on a terminal.

use anyhow::{Context, Result};
use base::reading::Until;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::Path;

/// Buffered outside of the box: most bytes are asked for one by one.
pub type Input = BufReader<Box<dyn Read>>;

/// How much is read at once.
const BUFFER: usize = 1 << 18;

/// Opens a file, or standard input where the path is `-`.
///
/// # Errors
/// When it cannot be opened.
pub fn open(path: &Path) -> Result<(Input, ProgressBar)> {
    open_until(path, || false)
}

/// As [`open`]; it ends when the time is `expired`.
///
/// # Errors
/// When it cannot be opened.
pub fn open_until(
    path: &Path,
    expired: impl FnMut() -> bool + 'static,
) -> Result<(Input, ProgressBar)> {
    if path == Path::new("-") {
        let bar = reading_bar(None);
        return Ok((stream(io::stdin(), &bar, expired), bar));
    }
    let help = || format!("cannot read `{}`", path.display());
    let file = File::open(path).with_context(help)?;
    let length = file.metadata().with_context(help)?;
    let bar = reading_bar(length.is_file().then_some(length.len()));
    Ok((stream(file, &bar, expired), bar))
}

fn stream(
    from: impl Read + 'static,
    bar: &ProgressBar,
    expired: impl FnMut() -> bool + 'static,
) -> Input {
    BufReader::with_capacity(BUFFER, Box::new(Until::new(bar.wrap_read(from), expired)))
}

/// How much of a file is read, and how long the rest will take.
fn reading_bar(length: Option<u64>) -> ProgressBar {
    let (bar, style) = match length {
        Some(length) => {
            let style =
                "reading [{bar:30}] {percent:>3}% of {total_bytes}, {bytes_per_sec}, {eta} left";
            (ProgressBar::new(length), style)
        }
        None => (ProgressBar::new_spinner(), "reading {bytes}, {bytes_per_sec}"),
    };
    if !io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar
}
