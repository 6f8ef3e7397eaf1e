//! The words for the promises of a lock, which its README may use, too.

use super::{ForeignError, Promises};
use crate::nearest;

/// A word for a promise.
pub struct PromiseWord {
    /// The word, as `--promises` and definition files take it.
    pub word: &'static str,
    /// Its meaning, in a sentence.
    pub about: &'static str,
    make: fn(Promises) -> Promises,
}

const fn word(
    word: &'static str,
    about: &'static str,
    make: fn(Promises) -> Promises,
) -> PromiseWord {
    PromiseWord { word, about, make }
}

/// All of them.
pub const PROMISE_WORDS: &[PromiseWord] = &[
    word("exclusive", "One holder at a time. Every lock promises this", |it| it),
    word("shared", "Readers hold it together, and a writer alone", Promises::shared),
    word(
        "fenced",
        "Each grant carries a token that is greater than those before it",
        Promises::fenced,
    ),
    word("recovers", "It is free again within a ttl after its holder has died", Promises::recovers),
    word("fifo", "It is granted in the order in which clients asked for it", Promises::fifo),
    word("reentrant", "Its holder may acquire it again", Promises::reentrant),
    word(
        "downgrades",
        "A writer may become a reader without letting go of it",
        Promises::downgrades,
    ),
    word("extends", "Its holder may ask for more time: the ttl begins anew", Promises::extends),
    word(
        "renews",
        "It is kept for as long as its holder lives: a session, a watchdog, a keep-alive",
        Promises::renews,
    ),
    word("tells", "It can say whether its holder still holds it", Promises::tells),
    word(
        "available",
        "It goes on being granted while a minority of its servers is down",
        Promises::available,
    ),
    word("wakes-next", "A release wakes the next waiter, and no others", Promises::wakes_next),
    word("wakes-all", "A release wakes all waiters", Promises::wakes_all),
];

/// Adds promises to others, by their words.
///
/// # Errors
/// Fails at the first word that is none, and at two that contradict each other.
pub fn promised(others: Promises, words: &[String]) -> Result<Promises, ForeignError> {
    if ["wakes-next", "wakes-all"].iter().all(|it| words.iter().any(|word| word == it)) {
        let both = "`wakes-next` and `wakes-all` cannot both be kept: leave one out";
        return Err(ForeignError::Promise(both.into()));
    }
    words.iter().try_fold(others, |promises, word| {
        let Some(found) = PROMISE_WORDS.iter().find(|it| it.word == word) else {
            let words: Vec<&str> = PROMISE_WORDS.iter().map(|it| it.word).collect();
            return Err(ForeignError::Promise(nearest::unknown("promise", word, &words)));
        };
        Ok((found.make)(promises))
    })
}
