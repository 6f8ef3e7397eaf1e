//! The abilities of a client beyond the four requests that every one answers.

use crate::{Step, Task, Wait};
use serde::{Deserialize, Serialize};

/// An ability that a client may have. It says so in its answer to `init`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientAbility {
    /// It takes the mode of an acquire.
    Shared,
    /// It waits for a lock no longer than the given time, and tries once if that is zero.
    Timed,
    /// It answers `convert`.
    Convert,
    /// It answers `extend`.
    Extend,
    /// It answers `held`.
    Held,
    /// It can cancel an acquire or a release that is under way.
    Cancel,
    /// It answers a worker while another one waits for the lock.
    Workers,
    /// It takes the permits of an acquire.
    Permits,
}

impl ClientAbility {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Shared,
        Self::Timed,
        Self::Convert,
        Self::Extend,
        Self::Held,
        Self::Cancel,
        Self::Workers,
        Self::Permits,
    ];

    /// The word for it in the answer to `init`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Timed => "timed",
            Self::Convert => "convert",
            Self::Extend => "extend",
            Self::Held => "held",
            Self::Cancel => "cancel",
            Self::Workers => "workers",
            Self::Permits => "permits",
        }
    }

    /// Its meaning, as the predicate of a client.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Shared => "takes the `mode` of an `acquire`: readers hold the lock together",
            Self::Timed => {
                "waits for a lock for `acquire_timeout_ns` at most, and tries once if that is 0"
            }
            Self::Convert => "answers `convert`",
            Self::Extend => "answers `extend`",
            Self::Held => "answers `held`",
            Self::Cancel => "carries out `cancel`",
            Self::Workers => "answers a worker while another one waits for the lock",
            Self::Permits => "takes the `permits` of an `acquire`: all of them, or none",
        }
    }

    /// Returns true if a client is believed to have it that does not say what it can.
    pub const fn is_assumed(self) -> bool {
        !matches!(self, Self::Cancel | Self::Permits)
    }

    /// Returns the abilities that a task needs of clients, on a lock that readers may share or not.
    pub fn needed(task: &Task, shared: bool) -> Vec<Self> {
        let steps = || task.scripts.iter().copied().flatten();
        let needs = |ability: Self| match ability {
            Self::Shared => shared && task.readers > 0.0,
            Self::Workers => task.workers > 1,
            Self::Permits => task.several,
            _ => steps().any(|step| Self::of(*step) == Some(ability)),
        };
        Self::ALL.into_iter().filter(|ability| needs(*ability)).collect()
    }

    /// Returns the ability that a step needs beyond the four requests.
    const fn of(step: Step) -> Option<Self> {
        match step {
            Step::Acquire { wait: Wait::Try | Wait::Short, .. } => Some(Self::Timed),
            Step::Convert(..) => Some(Self::Convert),
            Step::Extend(_) => Some(Self::Extend),
            Step::Ask(_) => Some(Self::Held),
            Step::Cancel(_) => Some(Self::Cancel),
            Step::Acquire { .. }
            | Step::Read(_)
            | Step::Write(_)
            | Step::Work(_)
            | Step::Release(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_needs_what_its_steps_ask_for() {
        const TRIES: &[Step] = &[
            Step::Acquire { hold: 0, key: 0, wait: Wait::Try },
            Step::Extend(0),
            Step::Release(0),
        ];
        let tries = Task { scripts: &[TRIES], ..Task::CONTEND };
        let needed = |task, shared| ClientAbility::needed(task, shared);
        assert_eq!(needed(&tries, false), [ClientAbility::Timed, ClientAbility::Extend]);
        assert_eq!(needed(&Task::CONTEND, false), []);
        assert_eq!(needed(&Task::CONTEND, true), [ClientAbility::Shared]);
        let writers = Task { readers: 0.0, ..Task::CONTEND };
        assert_eq!(needed(&writers, true), []);
        let two = Task { workers: 2, ..Task::CONTEND };
        assert_eq!(needed(&two, false), [ClientAbility::Workers]);
        let several = Task { several: true, ..Task::CONTEND };
        assert_eq!(needed(&several, false), [ClientAbility::Permits]);
    }

    #[test]
    fn its_word_is_the_one_that_clients_say() {
        for ability in ClientAbility::ALL {
            let word = serde_json::to_string(&ability).expect("a word");
            assert_eq!(word, format!("\"{}\"", ability.word()));
        }
    }
}
