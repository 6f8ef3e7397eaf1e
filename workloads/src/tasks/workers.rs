//! `workers`: several workers share the connections of one client process, as threads do (H40).

use base::Task;

pub const TASK: Task = Task {
    name: "workers",
    summary: "two workers in each client contend, over the client's connections",
    workers: 2,
    ..Task::CONTEND
};
