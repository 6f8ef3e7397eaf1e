//! States of models at some point of a history, and their description in words.

use crate::operation::{RegisterValue, Token};
use base::Mode;
use base::units::{count, counted};

/// A state of a model, for people. Numbers are those of the operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelState {
    /// A lock that nobody holds.
    Free,
    /// A lock that somebody holds; the model forgets who.
    Held,
    /// A lock with these holders.
    HeldBy {
        /// The mode in which they hold it.
        mode: Mode,
        /// The holders, by process number.
        processes: Vec<u32>,
    },
    /// A lock that its one holder has taken so many times.
    Deep {
        /// The holder's process number.
        process: u32,
        /// The number of times that it has taken the lock.
        depth: u32,
    },
    /// Permits of which so many are taken.
    Taken {
        /// The number of permits taken.
        permits: u32,
        /// The number of permits there are.
        of: u32,
    },
    /// A lock whose last grant brought this token.
    Fenced {
        /// The state of the lock itself.
        lock: Box<ModelState>,
        /// The token of the last grant.
        last: Token,
    },
    /// A cell with something in it.
    Cell(RegisterValue),
    /// A set of so many members.
    Members(u32),
}

/// Knows what the history calls its processes and values.
pub trait Names {
    /// The name of a process.
    fn process(&self, number: u32) -> String;

    /// A value as the history writes it.
    fn value(&self, value: RegisterValue) -> String;
}

/// The number of holders that are named.
const NAMED_HOLDERS: usize = 8;

impl ModelState {
    /// The holders of a lock that knows them. The holds of a legal state are all of one mode, but
    /// for a writer that also reads.
    pub(crate) fn held(holds: &[(u32, Mode)]) -> Self {
        match holds.iter().map(|(_, mode)| *mode).min() {
            None => Self::Free,
            Some(mode) => {
                let mut processes: Vec<u32> = holds.iter().map(|(process, _)| *process).collect();
                processes.sort_unstable();
                processes.dedup();
                Self::HeldBy { mode, processes }
            }
        }
    }

    /// The same lock, if its last grant brought this token.
    pub(crate) fn fenced(self, last: Option<Token>) -> Self {
        match last {
            Some(last) => Self::Fenced { lock: Box::new(self), last },
            None => self,
        }
    }

    /// The state as a clause: "it was held by process 3".
    pub fn clause(&self, names: &impl Names) -> String {
        match self {
            Self::Free => "it was free".into(),
            Self::Held => "it was held".into(),
            Self::HeldBy { mode, processes } => {
                let how = if *mode == Mode::Shared { " shared" } else { "" };
                format!("it was held{how} by {}", holders(processes, names))
            }
            Self::Deep { process, depth } => {
                let process = names.process(*process);
                let times = counted(u64::from(*depth), "time", "times");
                format!("it was held by process {process}, which had entered it {times}")
            }
            Self::Taken { permits: 0, .. } => "none of its permits was taken".into(),
            Self::Taken { permits, of } if permits == of => "all its permits were taken".into(),
            Self::Taken { permits, of } => {
                let were = if *permits == 1 { "was" } else { "were" };
                let number = |n: &u32| count(u64::from(*n));
                format!("{} of its {} permits {were} taken", number(permits), number(of))
            }
            Self::Fenced { lock, last } => {
                format!("{}, and its last token was {last}", lock.clause(names))
            }
            Self::Cell(None) => "there was nothing in it".into(),
            Self::Cell(value) => format!("it held {}", names.value(*value)),
            Self::Members(members) => {
                format!("it had {}", counted(u64::from(*members), "member", "members"))
            }
        }
    }
}

/// Names the holders: "process 3", "processes 3, 4 and 5".
fn holders(processes: &[u32], names: &impl Names) -> String {
    let mut named: Vec<String> =
        processes.iter().take(NAMED_HOLDERS).map(|process| names.process(*process)).collect();
    let more = processes.len() - named.len();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    match &named[..] {
        [only] => format!("process {only}"),
        [most @ .., last] => format!("processes {} and {last}", most.join(", ")),
        [] => "nobody".into(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers as they are.
    pub(crate) struct Plain;

    impl Names for Plain {
        fn process(&self, number: u32) -> String {
            number.to_string()
        }

        fn value(&self, value: RegisterValue) -> String {
            value.map_or("nil".into(), |value| value.to_string())
        }
    }

    #[test]
    fn states_are_described_in_plain_words() {
        let held =
            |count| ModelState::held(&(0..count).map(|p| (p, Mode::Shared)).collect::<Vec<_>>());
        for (state, expected) in [
            (ModelState::held(&[]), "it was free"),
            (ModelState::held(&[(7, Mode::Exclusive)]), "it was held by process 7"),
            (held(2), "it was held shared by processes 0 and 1"),
            (held(1000), "it was held shared by processes 0, 1, 2, 3, 4, 5, 6, 7 and 992 more"),
            (
                ModelState::Deep { process: 7, depth: 1 },
                "it was held by process 7, which had entered it 1 time",
            ),
            (ModelState::Taken { permits: 0, of: 1 }, "none of its permits was taken"),
            (ModelState::Taken { permits: 1, of: 1 }, "all its permits were taken"),
            (ModelState::Taken { permits: 1, of: 2 }, "1 of its 2 permits was taken"),
            (ModelState::Taken { permits: 999, of: 1000 }, "999 of its 1,000 permits were taken"),
            (ModelState::Free.fenced(Some(9_u64.into())), "it was free, and its last token was 9"),
            (ModelState::Cell(None), "there was nothing in it"),
            (ModelState::Cell(Some(4)), "it held 4"),
            (ModelState::Members(1), "it had 1 member"),
        ] {
            assert_eq!(state.clause(&Plain), expected);
        }
    }
}
