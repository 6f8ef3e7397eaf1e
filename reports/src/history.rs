//! A history of any origin held against a model, as it is drawn: [`html::history`](crate::html::history)
//! makes a page of it. Words are those that the reader of the file has found; places are indices of
//! events.

use crate::terminal::Decided;
use base::Kind;
use std::collections::BTreeMap;

/// What there is to say and to draw of a history.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The answer in words.
    pub decided: Decided,
    /// What the model is, in a line.
    pub about: String,
    /// The file.
    pub file: String,
    /// The command that makes this page again.
    pub command: String,
    /// The version of picklock.
    pub version: String,
    /// What is drawn, a picture or two a key.
    pub keys: Vec<Key>,
    /// How many keys are not drawn.
    pub left_out: u64,
}

/// One object of the history.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name, where the file has one.
    pub name: Option<String>,
    /// How many operations it has.
    pub operations: u64,
    /// How many of them are on the order that was found.
    pub ordered: u64,
    /// How the order ends.
    pub end: End,
    /// The few operations that show the most.
    pub close: View,
    /// As many as a picture holds.
    pub wide: View,
}

/// How an order ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything is on it.
    Whole,
    /// What is answered at this place cannot be put anywhere. The order goes up to there, or, if no
    /// such order was found in the time for it, not so far.
    Stuck {
        /// The place of the answer.
        at: u64,
        /// Whether the order goes up to there.
        reached: bool,
    },
    /// How it goes on from this place is not known.
    Unknown {
        /// The place.
        at: u64,
    },
}

/// The operations of one picture.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The operations, by their begin.
    pub operations: Vec<Drawn>,
    /// How many that are not drawn began right before each begin and answer of one that is; at
    /// `u64::MAX`, behind the last.
    pub skipped: BTreeMap<u64, u64>,
}

/// An operation in a picture.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Who.
    pub process: String,
    /// What, in as few words as will do.
    pub label: String,
    /// All that there is to say of it.
    pub text: String,
    /// Where it began.
    pub invoke: u64,
    /// Where it was answered, if it was.
    pub answer: Option<u64>,
    /// How it ended.
    pub ended: Kind,
    /// Its place on the order.
    pub point: Option<Point>,
    /// What part it has in what goes wrong.
    pub role: Role,
}

/// A place on an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Which it is, from 1 on.
    pub number: u64,
    /// The event right before which it lies.
    pub before: u64,
    /// What the object looks like then, as a clause.
    pub state: Option<String>,
}

/// What part an operation has in what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It can be put nowhere.
    Stuck,
    /// It stands in the way, or was under way beside it.
    Beside,
    /// None.
    Plain,
}

/// The name of a process, as a word for it.
pub(crate) fn process(name: &str) -> String {
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("process {name}"),
        false => name.to_owned(),
    }
}
