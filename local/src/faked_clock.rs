//! The wall clock of a server's process, which libfaketime tells it: as a file in the server's
//! folder says.
//!
//! The process loads libfaketime before all else and reads the file whenever it asks for the time.
//! Its monotonic clock, and so its timers, stay as they are.

use base::{Ability, BackendError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use stores::{Need, SettableClock, StoreId};
use testbed::Lack;
use testbed::wall_clock::{ServerWallClock, environment, true_ns};
use tokio::process::Command;

/// The wall clock of one server, at each of its starts.
pub struct FakedClock {
    libraries: String,
    folder: PathBuf,
    clock: Mutex<ServerWallClock>,
}

impl FakedClock {
    /// Checks that the wall clocks of a store's servers can go wrong on this machine.
    pub fn check(store: StoreId, ability: Ability) -> Result<(), Lack> {
        let lack = Lack::of(ability);
        let clock = match store.settable_clock() {
            Ok(clock) => clock,
            Err(why) => return Err(lack.because(why)),
        };
        let Some((what, packages)) = missing(&clock) else { return Ok(()) };
        let lack = lack.because(&format!("this machine has no {what}"));
        Err(lack.unless(format!("install the packages {packages}")))
    }

    /// Makes the clock of a server that has this folder. It is right.
    pub fn new(store: StoreId, folder: &Path) -> Result<Self, BackendError> {
        Self::check(store, Ability::ServerClock).map_err(|lack| BackendError(lack.reason))?;
        let clock = store.settable_clock().map_err(|why| BackendError(why.into()))?;
        let found: Vec<_> = clock.libraries.iter().filter_map(find).collect();
        let libraries = found.iter().map(|it| it.display().to_string()).collect::<Vec<_>>();
        let (libraries, folder) = (libraries.join(":"), folder.to_owned());
        Ok(Self { libraries, folder, clock: Mutex::default() })
    }

    /// Has a process that is about to start go by it.
    pub fn give_to(&self, command: &mut Command) -> io::Result<()> {
        self.change(|clock| clock.start(true_ns()))?;
        command.env("LD_PRELOAD", &self.libraries);
        command.envs(environment(&self.file().display().to_string()));
        Ok(())
    }

    /// The clock as it is.
    pub fn clock(&self) -> ServerWallClock {
        *self.locked()
    }

    /// Changes it, and tells its process.
    pub fn change(&self, act: impl FnOnce(&mut ServerWallClock)) -> io::Result<()> {
        let mut clock = self.locked();
        let mut changed = *clock;
        act(&mut changed);
        // The process may read it at any moment: it is there as a whole or not at all.
        let draft = self.folder.join("clock.draft");
        fs::write(&draft, changed.faketime_text())?;
        fs::rename(draft, self.file())?;
        *clock = changed;
        Ok(())
    }

    /// Notes which process goes by it now: libfaketime gives it shared memory under its number, and
    /// leaves that behind when it is killed.
    pub fn started(&self, process: u32) -> io::Result<()> {
        fs::write(self.folder.join(SHARED), process.to_string())
    }

    /// Removes the names of the shared memory of its process, which has no more need of them once
    /// it serves.
    pub fn remove_names(&self) {
        remove_shared_memory(&self.folder);
    }

    fn file(&self) -> PathBuf {
        self.folder.join("clock")
    }

    fn locked(&self) -> MutexGuard<'_, ServerWallClock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file in a server's folder that has the number of the process whose shared memory has a name.
const SHARED: &str = "shared-memory-of";

/// Removes the names of the shared memory of a server that has this folder, if there are any.
pub fn remove_shared_memory(folder: &Path) {
    let note = folder.join(SHARED);
    let Ok(process) = fs::read_to_string(&note) else { return };
    let Ok(process) = process.parse::<u32>() else { return };
    for name in [format!("faketime_shm_{process}"), format!("sem.faketime_sem_{process}")] {
        // A server that ended early has not made them.
        let _ = fs::remove_file(Path::new("/dev/shm").join(name));
    }
    let _ = fs::remove_file(note);
}

/// The libraries that this machine lacks, and the packages that have them.
fn missing(clock: &SettableClock) -> Option<(String, String)> {
    let missing = || clock.libraries.iter().filter(|it| find(it).is_none());
    let list = |word: fn(&Need) -> &str, by: &str| missing().map(word).collect::<Vec<_>>().join(by);
    missing().next().map(|_| (list(|it| it.what, ", no "), list(|it| it.package, " ")))
}

/// Finds a library where Debian and others have theirs.
fn find(library: &Need) -> Option<PathBuf> {
    let of_machine = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let folders = [&*of_machine, "/usr/lib64", "/usr/lib", "/usr/local/lib"];
    folders.iter().map(|folder| Path::new(folder).join(library.what)).find(|it| it.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_are_missing_are_named_with_their_packages() {
        let clock = SettableClock {
            libraries: &[
                Need { what: "no-such-library.so", package: "a" },
                Need { what: "nor-such.so", package: "b" },
            ],
            question: b"",
            micros: |_| None,
        };
        let expected = Some(("no-such-library.so, no nor-such.so".into(), "a b".into()));
        assert_eq!(missing(&clock), expected);
        let none = SettableClock { libraries: &[], ..clock };
        assert_eq!(missing(&none), None);
    }
}
