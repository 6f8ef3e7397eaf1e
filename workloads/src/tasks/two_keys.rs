//! `two-keys`: a holder takes another lock beside its own.
//!
//! Neighbours ask for each other's keys in a circle, so each waits for the second key for a short
//! time only: no two of them wait for ever, and no first grant runs out meanwhile.

use base::{Step, Task, Wait};

pub const TASK: Task = Task {
    name: "two-keys",
    summary: "each client takes one key, and the next one as well while it holds the first",
    scripts: &[&[
        Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
        Step::Read(0),
        Step::Acquire { hold: 1, key: 1, wait: Wait::Short },
        Step::Read(1),
        Step::Work(2),
        Step::Write(1),
        Step::Release(1),
        Step::Write(0),
        Step::Release(0),
    ]],
    keys: 3,
    ..Task::CONTEND
};
