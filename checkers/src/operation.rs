//! An operation as the models know it: the common form into which every reader of histories
//! (our own, Jepsen's EDN, Porcupine's logs) brings what clients did.
//!
//! It is kept apart from the events of a run, because foreign histories hold operations that no run
//! of ours has (a register's `cas`, the `add` of a set).

use base::Mode;
use std::fmt;
use std::sync::Arc;

/// What a register holds: `None` is *nothing yet* (nil). Models compare values and do nothing else
/// with them, so a reader may number values that are no integers as it likes.
pub type Value = Option<i64>;

/// A fencing token: a whole number of up to 128 bits. In two halves, because one number of this size
/// would make every operation larger by how it must lie in memory.
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

/// What is known of how an operation ended.
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

/// What was done, with the argument and, after `ok`, the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The process takes the lock.
    Acquire {
        /// How. Locks that know one mode only do not look at it.
        mode: Mode,
        /// The fencing token that came with the grant.
        token: Option<Token>,
    },
    /// The process changes how it holds the lock, at one moment and without letting go of it: to
    /// [`Mode::Exclusive`] is an upgrade, to [`Mode::Shared`] a downgrade.
    Convert {
        /// How it holds the lock from then on.
        mode: Mode,
    },
    /// The process lets go of the lock.
    Release,
    /// A register is read.
    Read {
        /// What was read; `None` when nobody knows, which fits every state.
        value: Option<Value>,
    },
    /// A register is written.
    Write {
        /// The new value.
        value: Value,
    },
    /// A register is written if it holds `old`.
    Cas {
        /// What it must hold.
        old: Value,
        /// What it holds then.
        new: Value,
    },
    /// A register was found to hold something else than `old`: a cas that failed for this reason,
    /// which only some histories say. Any other cas that failed has [`Ended::Fail`].
    Miss {
        /// What it does not hold.
        old: Value,
    },
    /// A member is added to a set; it may be in it already.
    Add {
        /// The member.
        value: i64,
    },
    /// A whole set is read.
    Members {
        /// All its members, in any order; `None` when nobody knows, which fits every state.
        values: Option<Arc<[i64]>>,
    },
}

/// One operation of one process on one key. Places are indices of events in their history: they
/// decide what came before what, and no two operations share one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Who. Numbers stand for themselves; any distinct ones will do.
    pub process: u32,
    /// On what, as a small number that the reader gives to each key. Keys are judged by themselves.
    pub key: u32,
    /// Where it began.
    pub invoke: u64,
    /// Where it was answered. `None`: it never was, and is [`Ended::Info`].
    pub answer: Option<u64>,
    /// How it ended.
    pub ended: Ended,
    /// What was done.
    pub action: Action,
}

impl Operation {
    /// Where it must have happened at the latest; `u64::MAX` when it need not have.
    pub fn deadline(&self) -> u64 {
        match (self.ended, self.answer) {
            (Ended::Ok, Some(answer)) => answer,
            _ => u64::MAX,
        }
    }

    /// Whether it certainly happened.
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
