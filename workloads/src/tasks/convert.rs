//! `convert`: a writer becomes a reader without letting go of the lock, so that other readers may
//! come in and no writer can.

use base::{Mode, Needs, Step, Task, Wait};

pub const TASK: Task = Task {
    name: "convert",
    summary: "each writer becomes a reader while it holds the lock",
    scripts: &[&[
        Step::Acquire { hold: 0, key: 0, wait: Wait::Long },
        Step::Read(0),
        Step::Work(2),
        Step::Write(0),
        Step::Convert(0, Mode::Shared),
        Step::Work(2),
        Step::Read(0),
        Step::Release(0),
    ]],
    readers: 0.4,
    needs: Some(Needs::Downgrade),
    ..Task::CONTEND
};
