//! `readers`: many readers and few writers, who may starve (H30).

use base::{Needs, Task};

pub const TASK: Task = Task {
    name: "readers",
    summary: "nineteen turns in twenty are a reader's",
    readers: 0.95,
    needs: Some(Needs::Shared),
    ..Task::CONTEND
};
