//! The wall clock of a server's process, which libfaketime tells it: so far from the true time as a file
//! in the server's folder says.
//!
//! The process loads libfaketime before all else and reads the file whenever it asks for the time. Its
//! monotonic clock, and so its timers, stay as they are.

use base::{Ability, BackendError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use stores::{Need, SettableClock, StoreId};
use testbed::{Lack, broken};
use tokio::process::Command;

/// The wall clock of one server, at each of its starts.
pub struct FakedClock {
    libraries: String,
    folder: PathBuf,
    /// The nanoseconds by which it is ahead of the true time.
    ahead_nanos: Mutex<i64>,
}

impl FakedClock {
    /// Checks that the wall clocks of a store's servers can be set on this machine.
    pub fn check(store: StoreId) -> Result<(), Lack> {
        let lack = Lack::of(Ability::ServerClock);
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
        Self::check(store).map_err(|lack| BackendError(lack.reason))?;
        let clock = store.settable_clock().map_err(|why| BackendError(why.into()))?;
        let found: Vec<_> = clock.libraries.iter().filter_map(find).collect();
        let libraries = found.iter().map(|it| it.display().to_string()).collect::<Vec<_>>();
        let (libraries, folder) = (libraries.join(":"), folder.to_owned());
        let clock = Self { libraries, folder, ahead_nanos: Mutex::default() };
        clock.move_by(0).map_err(|e| broken("cannot make a clock for a server", e))?;
        Ok(clock)
    }

    /// Has a process that is about to start go by it.
    pub fn give_to(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.libraries)
            .env("FAKETIME_TIMESTAMP_FILE", self.file())
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }

    /// Sets it ahead by so many nanoseconds, back when negative, wherever it is.
    pub fn move_by(&self, nanos: i64) -> io::Result<()> {
        let mut ahead_nanos = self.ahead_nanos.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead = ahead_nanos.saturating_add(nanos);
        // The process may read it at any moment: it is there as a whole or not at all.
        let draft = self.folder.join("clock.draft");
        fs::write(&draft, told(ahead))?;
        fs::rename(draft, self.file())?;
        *ahead_nanos = ahead;
        Ok(())
    }

    /// Notes which process goes by it now: libfaketime gives it shared memory under its number, and
    /// leaves that behind when it is killed.
    pub fn started(&self, process: u32) -> io::Result<()> {
        fs::write(self.folder.join(SHARED), process.to_string())
    }

    /// Removes the names of the shared memory of its process, which has no more need of them once it
    /// serves.
    pub fn remove_names(&self) {
        remove_shared_memory(&self.folder);
    }

    fn file(&self) -> PathBuf {
        self.folder.join("clock")
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

/// The distance from the true time, as libfaketime reads it. A rate has to be said, or an earlier one
/// would stay.
fn told(ahead_nanos: i64) -> String {
    let (sign, nanos) = (if ahead_nanos < 0 { '-' } else { '+' }, ahead_nanos.unsigned_abs());
    format!("{sign}{}.{:09} x1\n", nanos / 1_000_000_000, nanos % 1_000_000_000)
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
    fn a_distance_is_told_with_a_sign_and_a_rate() {
        assert_eq!(told(0), "+0.000000000 x1\n");
        assert_eq!(told(5_000_000_000), "+5.000000000 x1\n");
        assert_eq!(told(-1_250_000_000), "-1.250000000 x1\n");
        assert_eq!(told(-70_000_000), "-0.070000000 x1\n");
    }

    #[test]
    fn libraries_that_are_missing_are_told_with_their_packages() {
        let clock = SettableClock {
            libraries: &[
                Need { what: "no-such-library.so", package: "a" },
                Need { what: "nor-such.so", package: "b" },
            ],
            question: b"",
            micros: |_| None,
        };
        let told = Some(("no-such-library.so, no nor-such.so".into(), "a b".into()));
        assert_eq!(missing(&clock), told);
        let none = SettableClock { libraries: &[], ..clock };
        assert_eq!(missing(&none), None);
    }
}
