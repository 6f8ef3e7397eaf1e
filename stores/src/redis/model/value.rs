//! The values of keys, each of one of Redis's types.

use super::hashes::HashValue;
use super::keyspace::Bytes;
use super::lists::ListValue;
use super::sets::SetValue;
use super::sorted_sets::SortedSetValue;
use crate::redis::reply::error;
use redis::Value;

/// A value with its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypedValue {
    /// A string.
    Text(Bytes),
    /// A hash.
    Hash(HashValue),
    /// A list.
    List(ListValue),
    /// A set.
    Set(SetValue),
    /// A sorted set.
    SortedSet(SortedSetValue),
}

/// A type of values that hold several things. One that holds none is not stored: its key is gone.
pub trait Collection: Default {
    /// The collection in a value of this type; `None`: the value has another one.
    fn of(value: &mut TypedValue) -> Option<&mut Self>;

    /// The value that is stored.
    fn stored(self) -> TypedValue;

    /// Returns true if it holds nothing.
    fn is_empty(&self) -> bool;
}

impl TypedValue {
    /// A string of these bytes.
    pub fn text(bytes: &[u8]) -> Self {
        Self::Text(Bytes::from_slice(bytes))
    }

    /// The name of the type, as TYPE tells it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Hash(_) => "hash",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::SortedSet(_) => "zset",
        }
    }
}

/// The error reply of a command to a value of another type than its own.
pub fn wrong_type() -> Value {
    error("WRONGTYPE Operation against a key holding the wrong kind of value")
}
