//! Appends events to the history, in memory and, where the run has a folder, on disk, flushed as
//! they happen: a run that is killed at any moment leaves a readable prefix.

use base::{Effect, Event, F, Fault, FaultEvent, FaultId, History, Kind, Mono, Process};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::script::Played;

thread_local! {
    /// How long the last history of this thread was: the next one is most likely as long, and one
    /// that has room from the start is not moved while it grows.
    static ROOM: Cell<usize> = const { Cell::new(0) };
}

/// The history in the making.
#[derive(Default)]
pub struct Recorder {
    history: History,
    file: Option<File>,
    /// What the drive loop decided, beside what came of it.
    pub(super) played: Played,
}

impl Recorder {
    /// In memory only.
    pub fn in_memory() -> Self {
        Self { history: History::with_room(ROOM.get()), ..Self::default() }
    }

    /// In memory and in a file, which begins with the header.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        file.write_all(base::header_line().as_bytes())?;
        Ok(Self { file: Some(file), ..Self::default() })
    }

    /// Appends an event, which `fill` completes where it stands (see [`base::emplace`]).
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn push(
        &mut self,
        (at, process, kind, f): (Mono, Process, Kind, F),
        fill: impl FnOnce(&mut Event),
    ) -> io::Result<()> {
        let event = self.history.emplace(|| Event::new(at.nanos(), process, kind, f));
        fill(event);
        match &mut self.file {
            Some(file) => file.write_all(base::event_line(event).as_bytes()),
            None => Ok(()),
        }
    }

    /// Appends an event of the nemesis about a fault.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn fault(
        &mut self,
        at: Mono,
        kind: Kind,
        f: F,
        id: FaultId,
        fault: &Fault,
        effect: Option<Effect>,
    ) -> io::Result<()> {
        self.push((at, Process::Nemesis, kind, f), |event| {
            event.fault = Some(Box::new(FaultEvent { id, fault: fault.clone(), effect }));
        })
    }

    /// What was recorded so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What was recorded.
    pub fn into_history(self) -> History {
        ROOM.set(self.history.events().len());
        self.history
    }

    /// What was decided in the run so far.
    pub fn take_played(&mut self) -> Played {
        std::mem::take(&mut self.played)
    }
}
