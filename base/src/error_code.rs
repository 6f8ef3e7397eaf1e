//! The reasons for which a client does not do what it is asked for, as data.

use serde::{Deserialize, Serialize};

/// A reason that a client may give with a `fail` or an `info`, beside its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// Somebody else has the lock.
    Busy,
    /// It waited for the lock in vain.
    Timeout,
    /// The grant is over.
    NotHeld,
    /// The client cannot do that at all.
    Unsupported,
    /// A connection broke.
    Connection,
    /// The server turned the request away.
    Server,
}

impl ErrorCode {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Busy,
        Self::Timeout,
        Self::NotHeld,
        Self::Unsupported,
        Self::Connection,
        Self::Server,
    ];

    /// The word for it in an answer.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Timeout => "timeout",
            Self::NotHeld => "not-held",
            Self::Unsupported => "unsupported",
            Self::Connection => "connection",
            Self::Server => "server",
        }
    }

    /// Its meaning, in words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Busy => "somebody else has the lock",
            Self::Timeout => "it waited for the lock in vain",
            Self::NotHeld => "the grant is over, or there was none",
            Self::Unsupported => {
                "the client cannot do that at all; the run ends, and shows nothing"
            }
            Self::Connection => "a connection broke before the answer",
            Self::Server => "the server turned the request away",
        }
    }

    /// Returns true if a request with such an end certainly had no effect, false if nobody knows,
    /// and `None` if either may be.
    pub const fn is_definite(self) -> Option<bool> {
        match self {
            Self::Busy | Self::NotHeld | Self::Unsupported => Some(true),
            Self::Connection => Some(false),
            Self::Timeout | Self::Server => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_word_is_the_one_that_clients_say() {
        for code in ErrorCode::ALL {
            let word = serde_json::to_string(&code).expect("a word");
            assert_eq!(word, format!("\"{}\"", code.word()));
        }
    }
}
