//! `hammer`: as many cycles as the clients can do.

use base::{Step, Task, Wait};

pub const TASK: Task = Task {
    name: "hammer",
    summary: "each client takes the lock and releases it, without a pause",
    scripts: &[&[Step::Acquire { hold: 0, key: 0, wait: Wait::Long }, Step::Release(0)]],
    rests: false,
    ..Task::CONTEND
};
