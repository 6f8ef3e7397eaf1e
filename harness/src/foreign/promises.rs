//! The promises of a lock, in the words that its README may use.

use base::{Promises, Wakes};

use super::ForeignError;
use crate::nearest;

/// A word for a promise.
pub struct PromiseWord {
    /// The word, as `--promises` and definition files take it.
    pub word: &'static str,
    /// Its meaning, in a sentence.
    pub about: &'static str,
    make: fn(&mut Promises),
}

const fn word(word: &'static str, about: &'static str, make: fn(&mut Promises)) -> PromiseWord {
    PromiseWord { word, about, make }
}

/// All of them. Whatever is not said is not promised, and not judged.
pub const PROMISE_WORDS: &[PromiseWord] = &[
    word("exclusive", "One holder at a time. Every lock promises this", |_| ()),
    word("shared", "Readers hold it together, and a writer alone", |it| it.shared = true),
    word("fenced", "Each grant carries a token that is greater than those before it", |it| {
        it.fenced = true;
    }),
    word("recovers", "It is free again within a ttl after its holder has died", |it| {
        it.recovers = Some(1);
    }),
    word("fifo", "It is granted in the order in which clients asked for it", |it| it.fifo = true),
    word("reentrant", "Its holder may acquire it again", |it| it.reentrant = true),
    word("downgrades", "A writer may become a reader without letting go of it", |it| {
        it.downgrades = true;
    }),
    word("extends", "Its holder may ask for more time: the ttl begins anew", |it| {
        it.extends = true;
    }),
    word("tells", "It can say whether its holder still holds it", |it| it.tells = true),
    word("available", "It goes on being granted while a minority of its servers is down", |it| {
        it.available = true;
    }),
    word("wakes-next", "A release wakes the next waiter, and no others", |it| {
        (it.wakes, it.pace.back_off_ns) = (Some(Wakes::Next), 0);
    }),
    word("wakes-all", "A release wakes all waiters", |it| {
        (it.wakes, it.pace.back_off_ns) = (Some(Wakes::All), 0);
    }),
];

/// Adds a promise, by its word.
pub(super) fn make(word: &str, promises: &mut Promises) -> Result<(), ForeignError> {
    let Some(found) = PROMISE_WORDS.iter().find(|it| it.word == word) else {
        let words: Vec<&str> = PROMISE_WORDS.iter().map(|it| it.word).collect();
        return Err(ForeignError::Promise(nearest::unknown("promise", word, &words)));
    };
    (found.make)(promises);
    Ok(())
}
