//! Exit codes, as Jepsen's.

use base::Outcome;
use std::process::ExitCode;

/// The exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: the lock kept its promises; or there was nothing to judge.
    Held,
    /// 1: it broke one, expected or not.
    Violated,
    /// 2: this run cannot tell.
    Inconclusive,
    /// 130: Ctrl-C or SIGTERM ended it, and nothing was broken by then.
    Interrupted,
    /// 254: the arguments make no sense.
    BadArguments,
    /// 255: the run could not be made, or not to its end.
    CouldNotRun,
}

impl Exit {
    /// Returns the number of the exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Violated => 1,
            Self::Inconclusive => 2,
            Self::Interrupted => 130,
            Self::BadArguments => 254,
            Self::CouldNotRun => 255,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

impl From<Outcome> for Exit {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Held => Self::Held,
            Outcome::Violated => Self::Violated,
            Outcome::Inconclusive | Outcome::NotApplicable | Outcome::Measured => {
                Self::Inconclusive
            }
        }
    }
}
