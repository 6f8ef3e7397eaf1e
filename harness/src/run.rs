//! A run: one setup in one world, driven, recorded, and ended in order.

use base::{BackendError, Run};
use std::path::PathBuf;

use crate::setup::Setup;
use crate::worlds::{RunWorld, Start};
use drive::plan::Played;
use drive::{DriveError, Recorder, Watcher, drive};
use sim::ChoiceLog;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(test)]
mod tests;

/// The means of a run, beside its setup and its world.
pub struct Means<'a> {
    /// Takes the events of the run.
    pub recorder: Recorder,
    /// Watches the run, and can end it.
    pub watcher: &'a mut dyn Watcher,
    /// Records the random decisions of the simulator, or makes them.
    pub choices: Option<Rc<ChoiceLog>>,
    /// The folder for logs. `None`: no logs are kept.
    pub logs: Option<PathBuf>,
    /// The program of the clients on real servers: its path and its arguments. `None`: this binary.
    pub client: Option<(PathBuf, Vec<String>)>,
}

impl<'a> Means<'a> {
    /// Records in memory, and nothing else.
    pub fn in_memory(watcher: &'a mut dyn Watcher) -> Self {
        let recorder = Recorder::in_memory();
        Self { recorder, watcher, choices: None, logs: None, client: None }
    }
}

/// A run that was made.
pub struct MadeRun {
    /// The run, as the checkers see it.
    pub run: Run,
    /// The decisions of the drive loop.
    pub played: Played,
    /// The reason why it ended early, if it did.
    pub driven: Result<(), DriveError>,
    /// The error in ending the world, if there was one.
    pub stopped: Result<(), BackendError>,
    /// The error in storing the history, if there was one.
    pub stored: anyhow::Result<()>,
}

impl MadeRun {
    /// Returns the run, if it came to its end. It did, too, if somebody else has done something to
    /// its servers: its history says so.
    ///
    /// # Errors
    /// Fails when the run or its world did not end in order.
    pub fn whole(self) -> Result<(Run, Played), BackendError> {
        match self.driven {
            Ok(()) | Err(DriveError::Interference(_)) => {}
            Err(error) => return Err(BackendError(error.to_string())),
        }
        self.stopped.map(|()| (self.run, self.played))
    }
}

/// True once a run of this process has begun on real servers.
static HAS_SERVERS: AtomicBool = AtomicBool::new(false);

/// Says what an end of this process at any moment leaves behind, and what removes it.
pub fn left() -> &'static str {
    match HAS_SERVERS.load(Ordering::Relaxed) {
        true => {
            "folders and containers of its servers may be left, which `picklock clean` removes, and \
             keys on those of --servers, which the next run from this machine does"
        }
        false => "no server was started, so nothing runs on",
    }
}

/// Makes a run in a world. Whatever happens in it, the world is ended and its recorded part
/// returned.
///
/// # Errors
/// Fails when the world cannot be started; nothing is left of it then.
pub fn run(setup: &Setup, world: &RunWorld, means: Means<'_>) -> Result<MadeRun, BackendError> {
    let Means { mut recorder, watcher, choices, logs, client } = means;
    let progress = |line: &str| watcher.progress(line);
    HAS_SERVERS.fetch_or(world.is_real(), Ordering::Relaxed);
    let mut backend = (world.start)(setup, Start { choices, logs, client, progress: &progress })?;
    watcher.started();
    let driven = drive(backend.as_mut(), &setup.plan, setup.nemeses(), &mut recorder, watcher);
    watcher.progress("stopping");
    let ledger = backend.ledger();
    let stopped = backend.stop();
    let stored = recorder.stored();
    let played = recorder.take_played();
    let info = setup.info_for(world.name);
    let run = Run { info, history: recorder.into_history(), ledger };
    Ok(MadeRun { run, played, driven, stopped, stored })
}
