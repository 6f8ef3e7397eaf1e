//! `extend`: a holder whose work takes long asks for more time. One that is refused has lost the lock.

use base::{Needs, Step, Task, Wait};

pub const TASK: Task = Task {
    name: "extend",
    summary: "each holder asks for more time when half of its work is done",
    scripts: &[&[
        Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
        Step::Read(0),
        Step::Work(2),
        Step::Extend(0),
        Step::Work(2),
        Step::Write(0),
        Step::Release(0),
    ]],
    needs: Some(Needs::Extend),
    ..Task::CONTEND
};
