//! A history of any origin held against a model, as it is drawn:
//! [`html::history`](crate::html::history) makes a page of it. Words are those that the reader of
//! the file has found; places are indices of events.

use crate::terminal::Decided;
use base::Kind;
use std::collections::BTreeMap;

/// The content of a page about a history against a model.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The answer in words.
    pub decided: Decided,
    /// The summary of the model, in one line.
    pub about: String,
    /// The path of the file.
    pub file: String,
    /// The command that makes this page again.
    pub command: String,
    /// The version of picklock.
    pub version: String,
    /// The keys that are drawn, with a picture or two each.
    pub keys: Vec<PictureKey>,
    /// The number of keys that are not drawn.
    pub left_out: u64,
}

/// One object of the history.
#[derive(Clone, Debug)]
pub struct PictureKey {
    /// Its name, where the file has one.
    pub name: Option<String>,
    /// The number of operations of the key.
    pub operations: u64,
    /// The number of them that are on the order that was found.
    pub ordered: u64,
    /// The end of the order.
    pub end: End,
    /// The few operations that show the most.
    pub close: PictureView,
    /// The most operations that a picture holds.
    pub wide: PictureView,
}

/// The end of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The order has every operation on it.
    Whole,
    /// The operation answered at this place cannot be put anywhere. The order goes up to there, or,
    /// if no such order was found in the time for it, not so far.
    Stuck {
        /// The place of the answer.
        at: u64,
        /// True if the order goes up to there.
        reached: bool,
    },
    /// The order goes on from this place in a way that is not known.
    Unknown {
        /// The place up to which it is known.
        at: u64,
    },
}

/// The operations of one picture.
#[derive(Clone, Debug, Default)]
pub struct PictureView {
    /// The operations, by their begin.
    pub operations: Vec<Drawn>,
    /// The number of operations not drawn that began right before each begin and answer of a drawn
    /// one; at `u64::MAX`, behind the last.
    pub skipped: BTreeMap<u64, u64>,
}

/// An operation in a picture.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The process, as it is named in the picture.
    pub process: String,
    /// The operation, in as few words as will do.
    pub label: String,
    /// All that there is to say of it.
    pub text: String,
    /// The place of its begin.
    pub invoke: u64,
    /// The place of its answer, if it was answered.
    pub answer: Option<u64>,
    /// The kind of its answer.
    pub ended: Kind,
    /// Its place on the order.
    pub point: Option<Point>,
    /// The part that it has in what goes wrong.
    pub role: OperationRole,
}

/// A place on an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The number of the point, from 1 on.
    pub number: u64,
    /// The event right before which it lies.
    pub before: u64,
    /// The state of the object then, as a clause.
    pub state: Option<String>,
}

/// The part that an operation has in what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationRole {
    /// It can be put nowhere.
    Stuck,
    /// It stands in the way, or was under way beside it.
    Beside,
    /// It has no part in it.
    Plain,
}

/// The name of a process, as a word for it.
pub(crate) fn process(name: &str) -> String {
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("process {name}"),
        false => name.to_owned(),
    }
}
