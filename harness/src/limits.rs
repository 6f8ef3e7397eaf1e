//! The machine's limits on a process, looked at before the work.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::sync::Mutex;
use std::thread;

/// The number of threads that every command may have beside those that share its work: for signals,
/// a bar, and what waits for files.
const THREADS: usize = 4;

/// Raises the number of open files to what the machine allows: each client of a run has some. Where
/// that is refused, it stays as it is.
pub fn raise_open_files() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Returns true if the machine has threads for any command. Libraries that make their own panic
/// where it has none.
pub fn has_threads() -> bool {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let shut = gate.lock();
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, || drop(gate.lock()));
        let spawned = (0..THREADS).map(spawn).take_while(Result::is_ok).count();
        drop(shut);
        spawned == THREADS
    })
}
