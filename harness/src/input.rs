//! Files of any origin as streams, within a budget of time and memory, with a progress bar on a
//! terminal.
#![expect(clippy::disallowed_methods, reason = "a budget of time is one of the wall clock")]

use crate::output_style::{ProgressBar, reading_bar};
use crate::paths;
use anyhow::{Context, Result, bail};
use histories::reading::Until;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

mod piped;

use piped::Piped;

/// A file that is not of the kind that was asked for, in one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongKind(pub String);

/// Buffered outside of the box: most bytes are asked for one by one.
pub type Input = BufReader<Box<dyn Read>>;

/// The number of bytes read at once.
const BUFFER: usize = 1 << 18;

/// A document that is read whole may be this part of the memory: what its smallest pieces become is
/// up to so many times as large.
const DOCUMENT: usize = 32;

/// The limits on the time and memory of reading a file and judging it.
#[derive(Clone, Copy, Debug)]
pub struct JudgingBudget {
    begun: Instant,
    time: Duration,
    /// The memory limit, in bytes.
    pub memory: usize,
    /// True if flags of the command say how large it is, by which more can be given.
    has_flags: bool,
}

/// The budget of what no flags set a limit to: 60 seconds and 4 GiB.
impl Default for JudgingBudget {
    fn default() -> Self {
        Self { has_flags: false, ..Self::new(Duration::from_secs(60), 4 << 30) }
    }
}

impl JudgingBudget {
    /// A budget from now on, as flags set it.
    pub fn new(time: Duration, memory: usize) -> Self {
        Self { begun: Instant::now(), time, memory, has_flags: true }
    }

    /// Returns true once the time is over.
    pub fn is_over(&self) -> bool {
        self.begun.elapsed() >= self.time
    }

    /// Returns the part of the budget for reading: to judge what was read takes no longer than
    /// that.
    pub fn to_read(self) -> Self {
        Self { time: self.time / 2, ..self }
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.time.saturating_sub(self.begun.elapsed())
    }
}

/// Opens a file, or standard input where the path is `-`. It ends when the time of the budget is
/// over.
///
/// # Errors
/// Fails when it cannot be opened.
pub fn open(path: &Path, budget: JudgingBudget) -> Result<(Input, ProgressBar)> {
    if path == Path::new("-") {
        let bar = reading_bar(None);
        return Ok((
            stream(Piped::new(|| Ok(io::stdin()), move || budget.left()), &bar, budget),
            bar,
        ));
    }
    let help = || format!("cannot read `{}`", path.display());
    let about = fs::metadata(path).with_context(help)?;
    if paths::is_named_fifo(path) {
        bail!(WrongKind(format!("`{}` is a FIFO, not a file: give a file", path.display())));
    }
    if about.is_dir() {
        bail!(WrongKind(format!("`{}` is a folder, not a file: give a file", path.display())));
    }
    if about.is_file() {
        let bar = reading_bar(Some(about.len()));
        let file = File::open(path).with_context(help)?;
        return Ok((stream(file, &bar, budget), bar));
    }
    let (bar, path) = (reading_bar(None), path.to_owned());
    Ok((stream(Piped::new(|| File::open(path), move || budget.left()), &bar, budget), bar))
}

/// Reads a whole document, such as a schedule.
///
/// # Errors
/// Fails when it cannot be read, is no text, or does not keep to the budget.
pub fn text(path: &Path, budget: JudgingBudget) -> Result<String> {
    let help = || format!("cannot read `{}`", path.display());
    let (input, bar) = open(path, budget)?;
    let (mut text, most) = (String::new(), budget.memory / DOCUMENT);
    let read = input.take(most as u64 + 1).read_to_string(&mut text);
    bar.finish_and_clear();
    read.with_context(help)?;
    let name = path.display();
    match (text.len() > most, budget.is_over(), budget.has_flags) {
        (true, _, true) => {
            bail!("`{name}` is too large for the memory budget; give --memory-budget")
        }
        (true, _, false) => bail!("`{name}` is too large: it may have {} MiB at most", most >> 20),
        (_, true, true) => {
            bail!("the time budget was spent in reading `{name}`; give --time-budget")
        }
        (_, true, false) => bail!("`{name}` could not be read in {} s", budget.time.as_secs()),
        (false, false, _) => Ok(text),
    }
}

fn stream(from: impl Read + 'static, bar: &ProgressBar, budget: JudgingBudget) -> Input {
    let until = Until::new(bar.wrap_read(from), move || budget.is_over());
    BufReader::with_capacity(BUFFER, Box::new(until))
}
