//! `try`: nobody waits for long. A lock that is taken is refused at once, or after a short time.

use base::{Step, Task, Wait};

pub const TASK: Task = Task {
    name: "try",
    summary: "each client tries once, or waits for a short time: a quarter of a ttl, and what slow links add",
    scripts: &[&hold(Wait::Try), &hold(Wait::Short)],
    ..Task::CONTEND
};

const fn hold(wait: Wait) -> [Step; 5] {
    [
        Step::Acquire { hold: 0, key: 0, wait },
        Step::Read(0),
        Step::Work(1),
        Step::Write(0),
        Step::Release(0),
    ]
}
