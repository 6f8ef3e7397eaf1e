//! `ask`: a holder makes sure that it still holds the lock before it writes. That does not make the
//! write safe: the lock may be lost between the answer and the write.

use base::{Needs, Step, Task, Wait};

pub const TASK: Task = Task {
    name: "ask",
    summary: "each holder asks its lock whether it still holds it before it writes",
    scripts: &[&[
        Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
        Step::Read(0),
        Step::Work(1),
        Step::Ask(0),
        Step::Write(0),
        Step::Release(0),
    ]],
    needs: Some(Needs::Tell),
    ..Task::CONTEND
};
