//! The tasks of clients: one file per task, one line each in [`TASKS`].

mod ask;
mod cancel;
mod convert;
mod extend;
mod hammer;
mod permits;
mod readers;
mod reenter;
mod try_lock;
mod two_keys;
mod workers;

use base::Task;

/// All tasks, in the order in which `picklock list` shows them.
pub const TASKS: &[&Task] = &[
    &Task::CONTEND,
    &reenter::TASK,
    &try_lock::TASK,
    &two_keys::TASK,
    &convert::TASK,
    &extend::TASK,
    &ask::TASK,
    &cancel::TASK,
    &readers::TASK,
    &permits::TASK,
    &workers::TASK,
    &hammer::TASK,
];

/// The task with this name.
pub fn task(name: &str) -> Option<&'static Task> {
    TASKS.iter().copied().find(|task| task.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{HOLDS, Step};

    /// Asserts that a script asks for each grant once, uses it while it has it, and frees it.
    fn is_sound(script: &[Step]) {
        let mut held = [false; HOLDS];
        for step in script {
            match *step {
                Step::Acquire { hold, .. } => assert!(!std::mem::replace(&mut held[hold], true)),
                Step::Release(hold) => assert!(std::mem::take(&mut held[hold])),
                Step::Read(hold)
                | Step::Write(hold)
                | Step::Convert(hold, _)
                | Step::Extend(hold)
                | Step::Ask(hold) => assert!(held[hold]),
                Step::Work(part) | Step::Cancel(part) => assert!(part > 0),
            }
        }
        assert_eq!(held, [false; HOLDS], "a script frees what it takes");
        for steps in script.windows(2).filter(|steps| matches!(steps[0], Step::Cancel(_))) {
            assert!(matches!(steps[1], Step::Acquire { .. } | Step::Release(_)));
        }
    }

    /// Adds up the parts of its hold for which a script works.
    fn work(script: &[Step]) -> f64 {
        let part = |step: &Step| match step {
            Step::Work(part) => 1.0 / f64::from(*part),
            _ => 0.0,
        };
        script.iter().map(part).sum()
    }

    #[test]
    fn every_script_is_sound_and_works_no_longer_than_a_hold() {
        for task in TASKS {
            for script in task.scripts {
                is_sound(script);
                assert!(work(script) <= 1.0, "{}", task.name);
            }
            assert!(!task.scripts.is_empty() && task.workers > 0 && task.keys > 0, "{}", task.name);
        }
    }
}
