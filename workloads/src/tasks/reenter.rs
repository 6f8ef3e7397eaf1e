//! `reenter`: the holder takes the lock again.
//!
//! A lock that promises no re-entrance refuses the inner acquire, or has it wait for the outer hold
//! in vain: so it waits for a short time only, in which no grant runs out.

use base::{Step, Task, Wait};

pub const TASK: Task = Task {
    name: "reenter",
    summary: "each holder takes the lock again, and releases it once for each time",
    scripts: &[&[
        Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
        Step::Read(0),
        Step::Work(4),
        Step::Acquire { hold: 1, key: 0, wait: Wait::Short },
        Step::Work(4),
        Step::Release(1),
        Step::Work(4),
        Step::Write(0),
        Step::Release(0),
    ]],
    ..Task::CONTEND
};
