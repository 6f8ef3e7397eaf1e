//! An operation as the models know it: the common form into which every reader of histories
//! (our own, Jepsen's EDN, Porcupine's logs) brings what clients did.
//!
//! It is kept apart from the events of a run, because foreign histories hold operations that no run
//! of ours has (a register's `cas`, the `add` of a set).

use base::Mode;
use std::fmt;
use std::sync::Arc;

/// The value of a register: `None` is *nothing yet* (nil). Models compare values and do nothing
/// else with them, so a reader may number values that are not integers as it likes.
pub type RegisterValue = Option<i64>;

/// A fencing token: a whole number of up to 128 bits. In two halves, because one number of this
/// size would make every operation larger by how it must lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    high: i64,
    low: u64,
}

impl From<i128> for Token {
    fn from(number: i128) -> Self {
        Self { high: (number >> 64) as i64, low: number as u64 }
    }
}

impl From<u64> for Token {
    fn from(number: u64) -> Self {
        i128::from(number).into()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", i128::from(self.high) << 64 | i128::from(self.low))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The outcome of an operation, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// It happened, at one moment between [`Operation::invoke`] and [`Operation::answer`].
    Ok,
    /// It certainly did not happen, and is left out.
    Fail,
    /// It may have happened at any moment after its invoke, may happen yet, or never. Also what was
    /// never answered.
    Info,
}

/// The kind of an operation, with its argument and, after `ok`, its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// The process takes the lock.
    Acquire {
        /// The mode of the hold. Locks that know one mode only do not look at it.
        mode: Mode,
        /// The fencing token that came with the grant.
        token: Option<Token>,
        /// The number of permits of a semaphore that are taken; 1 for any other lock.
        permits: u32,
    },
    /// The process changes how it holds the lock, at one moment and without letting go of it: to
    /// [`Mode::Exclusive`] is an upgrade, to [`Mode::Shared`] a downgrade.
    Convert {
        /// The mode in which it holds the lock from then on.
        mode: Mode,
    },
    /// The process lets go of the lock.
    Release {
        /// The mode of the hold that ends, where the history says it; otherwise the latest one.
        mode: Option<Mode>,
        /// The number of permits of a semaphore that are given back; 1 for any other lock.
        permits: u32,
    },
    /// The lock confirms to the process that it holds the lock: a lease that was extended, a hold
    /// that was found valid.
    Confirm,
    /// A register is read.
    Read {
        /// The value that was read; `None` when nobody knows, which fits every state.
        value: Option<RegisterValue>,
    },
    /// A register is written.
    Write {
        /// The new value.
        value: RegisterValue,
    },
    /// A register is written if it holds `old`.
    Cas {
        /// The value that it must hold.
        old: RegisterValue,
        /// The value that it holds then.
        new: RegisterValue,
    },
    /// A register was found to hold something else than `old`: a cas that failed for this reason,
    /// which only some histories say. Any other cas that failed has [`Ended::Fail`].
    Miss {
        /// The value that it does not hold.
        old: RegisterValue,
    },
    /// A member is added to a set; it may be in it already.
    Add {
        /// The added member.
        value: i64,
    },
    /// A whole set is read.
    Members {
        /// All its members, in any order; `None` when nobody knows, which fits every state.
        values: Option<Arc<[i64]>>,
    },
}

impl OperationKind {
    /// The release of the latest hold.
    pub const RELEASE: Self = Self::Release { mode: None, permits: 1 };

    /// Makes an acquire in this mode, without a token.
    pub const fn acquire(mode: Mode) -> Self {
        Self::Acquire { mode, token: None, permits: 1 }
    }
}

/// One operation of one process on one key. Places are indices of events in their history: they
/// decide what came before what, and no two operations share one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The process. Numbers stand for themselves; any distinct ones will do.
    pub process: u32,
    /// The key, as a small number that the reader gives to it. Keys are judged by themselves.
    pub key: u32,
    /// The place of its begin in the history.
    pub invoke: u64,
    /// The place of its answer. `None`: it was never answered, and is [`Ended::Info`].
    pub answer: Option<u64>,
    /// The outcome, as far as it is known.
    pub ended: Ended,
    /// The action, with its argument and result.
    pub action: OperationKind,
}

impl Operation {
    /// Returns the last place at which it can have happened; `u64::MAX` when it need not have.
    pub fn deadline(&self) -> u64 {
        match (self.ended, self.answer) {
            (Ended::Ok, Some(answer)) => answer,
            _ => u64::MAX,
        }
    }

    /// Returns true if it changes the mode of a hold.
    pub(crate) fn converts(&self) -> bool {
        matches!(self.action, OperationKind::Convert { .. })
    }

    /// Returns true if it takes the lock in this mode.
    pub(crate) fn asks(&self, wanted: Mode) -> bool {
        matches!(self.action, OperationKind::Acquire { mode, .. } if mode == wanted)
    }

    /// Returns true if it certainly happened.
    pub fn certain(&self) -> bool {
        self.deadline() != u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_in_the_order_of_their_numbers() {
        let numbers = [i128::MIN, -(1 << 64), -9, -3, 0, 3, 1 << 63, (1 << 64) + 1, i128::MAX];
        let tokens = numbers.map(Token::from);
        assert!(tokens.is_sorted());
        assert_eq!(tokens.map(|token| token.to_string()), numbers.map(|number| number.to_string()));
        assert_eq!(Token::from(u64::MAX), Token::from(i128::from(u64::MAX)));
    }
}
