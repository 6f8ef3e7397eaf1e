//! `permits`: clients ask for different numbers of permits of a semaphore, from one to all, each
//! time at once. A semaphore that takes them one by one, or fewer than it was asked for, lets in
//! too many or nobody any more.

use base::{Needs, Task};

pub const TASK: Task = Task {
    name: "permits",
    summary: "each client asks for a number of permits of its own, all at once",
    several: true,
    needs: Some(Needs::Permits),
    ..Task::CONTEND
};
