//! Threads of the machine, as many as it has to give.

use std::thread;

/// Returns the number of threads that this machine can run at once.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does work on so many threads at once, of which this one is the first; on fewer where the machine
/// gives no more, as below a limit on processes.
pub fn side_by_side(threads: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, &work);
        let _ = (1..threads).map(spawn).take_while(Result::is_ok).count();
        work();
    });
}
