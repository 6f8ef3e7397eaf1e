//! `hammer`: as many cycles as the clients can do.

use base::{Step, Task, Wait};

pub const TASK: Task = Task {
    name: "hammer",
    summary: "eight workers of each client take locks and release them, without a pause",
    scripts: &[&[Step::Acquire { hold: 0, key: 0, wait: Wait::Long }, Step::Release(0)]],
    rests: false,
    // One that waits for a lock leaves its client time for the others.
    workers: 8,
    ..Task::CONTEND
};
