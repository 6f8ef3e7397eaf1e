//! Appends events to the history, in memory and, where the run has a folder, on disk, flushed as
//! they happen: a run that is killed at any moment leaves a readable prefix. A disk that takes no
//! more ends the file, not the run.

use anyhow::{Context, Result, bail};
use base::{Effect, Event, F, Fault, FaultEvent, FaultId, History, Kind, Mono, Process};
use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::faults::WantedFault;
use crate::plan::Played;

thread_local! {
    /// The length of the last history of this thread: the next one is most likely as long, and one
    /// that has room from the start is not moved while it grows.
    static ROOM: Cell<usize> = const { Cell::new(0) };
}

/// The most memory that an event of a run takes, in bytes, with its share of all that is made of
/// it.
pub const EVENT: usize = 1 << 10;

/// The most events of a run that is kept in memory alone, where several are made at once: some 2
/// GiB.
const MOST: usize = (2 << 30) / EVENT;

/// The history in the making.
#[derive(Default)]
pub struct Recorder {
    history: History,
    file: Option<HistoryFile>,
    /// The decisions of the drive loop, beside what came of them.
    pub(super) played: Played,
}

impl Recorder {
    /// Records in memory only.
    pub fn in_memory() -> Self {
        Self { history: History::with_room(ROOM.get()), ..Self::default() }
    }

    /// In memory and in a file, which begins with the header.
    ///
    /// # Errors
    /// Fails when the file cannot be created.
    pub fn to_file(path: &Path) -> Result<Self> {
        Ok(Self { file: Some(HistoryFile::create(path)?), ..Self::default() })
    }

    /// Appends an event, which `fill` completes where it stands (see [`base::emplace`]).
    pub fn push(
        &mut self,
        (at, process, kind, f): (Mono, Process, Kind, F),
        fill: impl FnOnce(&mut Event),
    ) {
        let event = self.history.emplace(|| Event::new(at.nanos(), process, kind, f));
        fill(event);
        if let Some(file) = &mut self.file {
            file.append(&base::event_line(event));
        }
    }

    /// Says whether all that was recorded stands in the file.
    ///
    /// # Errors
    /// Fails when not all of it does: the error says what became of it.
    pub fn stored(&mut self) -> Result<()> {
        self.file.take().map_or(Ok(()), HistoryFile::finish)
    }

    /// Appends that a nemesis wants a fault.
    pub(super) fn wanted(&mut self, at: Mono, wanted: &WantedFault, leaders: Vec<u32>) {
        self.push((at, Process::Nemesis, Kind::Invoke, F::Fault), |event| {
            let WantedFault { id, line, .. } = *wanted;
            let fault = wanted.fault.clone();
            event.fault = Some(Box::new(FaultEvent { id, fault, effect: None, line, leaders }));
        });
    }

    /// Appends an event of the nemesis about a fault.
    pub fn fault(
        &mut self,
        at: Mono,
        kind: Kind,
        f: F,
        id: FaultId,
        fault: &Fault,
        seen: FaultOutcome,
    ) {
        let FaultOutcome { effect, leaders } = seen;
        self.push((at, Process::Nemesis, kind, f), |event| {
            let fault = fault.clone();
            event.fault = Some(Box::new(FaultEvent { id, fault, effect, line: None, leaders }));
        });
    }

    /// Returns true if no more is to be recorded.
    pub(super) fn is_full(&self) -> bool {
        self.file.is_none() && self.history.events().len() >= MOST
    }

    /// Returns the history recorded so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the recorded history.
    pub fn into_history(self) -> History {
        ROOM.set(self.history.events().len());
        self.history
    }

    /// Takes the decisions made in the run so far.
    pub fn take_played(&mut self) -> Played {
        std::mem::take(&mut self.played)
    }
}

/// The effect of a fault, at its heal; nothing before.
#[derive(Default)]
pub struct FaultOutcome {
    /// The measured effect.
    pub effect: Option<Effect>,
    /// The servers that lead others then, if the run looks at that.
    pub leaders: Vec<u32>,
}

/// The history on disk.
struct HistoryFile {
    path: PathBuf,
    file: File,
    /// The first write that failed, after which there is none.
    failed: Result<()>,
}

impl HistoryFile {
    fn create(path: &Path) -> Result<Self> {
        let help = || format!("cannot write `{}`", path.display());
        let mut file = File::create(path).with_context(help)?;
        file.write_all(base::header_line().as_bytes()).with_context(help)?;
        Ok(Self { path: path.to_owned(), file, failed: Ok(()) })
    }

    fn append(&mut self, line: &str) {
        if self.failed.is_ok() {
            let written = self.file.write_all(line.as_bytes());
            self.failed =
                written.with_context(|| format!("cannot write `{}`", self.path.display()));
        }
    }

    fn finish(self) -> Result<()> {
        self.failed?;
        // What is written to a file without a name is gone with it.
        if self.file.metadata().is_ok_and(|it| it.nlink() == 0) {
            bail!("`{}` was removed during the run", self.path.display());
        }
        Ok(())
    }
}
