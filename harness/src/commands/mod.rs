//! The subcommands, a file each.

pub mod bench;
pub mod check;
pub mod clean;
mod exhaustive;
pub mod explore;
mod judge;
pub mod list;
pub mod merge;
pub mod replay;
pub mod test;

use crate::Exit;
use crate::output::note;
use base::visible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The reason why a command could not do its work, in one line, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    line: String,
}

impl Failure {
    /// The arguments make no sense.
    pub fn arguments(line: impl ToString) -> Self {
        Self { exit: Exit::BadArguments, line: line.to_string() }
    }

    /// Ctrl-C ended it.
    pub fn interrupted(line: impl ToString) -> Self {
        Self { exit: Exit::Interrupted, line: line.to_string() }
    }

    /// Makes the failure of a command that could not do its work.
    pub fn could_not(line: impl ToString) -> Self {
        Self { exit: Exit::CouldNotRun, line: line.to_string() }
    }
}

/// Says, before a search tells its results, that it did not come to its end.
fn note_interruption(stop: &AtomicBool) {
    if stop.load(Ordering::Relaxed) {
        note("picklock: interrupted; this is what was searched so far");
    }
}

/// Returns how a search ends that may have been interrupted. A violation stands, and so does what
/// was lost.
fn ended(exit: Exit, stop: &AtomicBool) -> Exit {
    match exit {
        Exit::Held | Exit::Inconclusive if stop.load(Ordering::Relaxed) => Exit::Interrupted,
        exit => exit,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a hostile file says must neither move the cursor nor make two lines of one.
        f.write_str(&visible(&self.line))
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::could_not(format!("{error:#}"))
    }
}

/// The first Ctrl-C ends the run in order; the second one ends the program.
fn interruptible() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let second = signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(Exit::Interrupted.code()),
            flag.clone(),
        );
        second
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()))
            .map_err(|e| Failure::could_not(format!("cannot listen for Ctrl-C: {e}")))?;
    }
    Ok(flag)
}

/// Runs `picklock client`.
pub fn client() -> Result<Exit, Failure> {
    #[cfg(feature = "docker")]
    return Ok(crate::client::run()?);
    #[cfg(not(feature = "docker"))]
    Err(Failure::could_not(NO_DOCKER))
}

/// The error where real servers are asked for and this build has none.
#[cfg(not(feature = "docker"))]
pub const NO_DOCKER: &str =
    "this picklock was built without real servers; build it with the cargo feature `docker`";
