//! An event of any history, ours or foreign, before a model has interpreted its parts.

use std::borrow::Cow;
use std::fmt;

use base::Kind;

/// One event of a client, as its file records it. Events of a nemesis are not entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Its time in nanoseconds, where the file gives one.
    pub time_ns: Option<i64>,
    /// The client process, by the file's own number or name.
    pub process: Value,
    /// The stage: begin or end, and with what outcome.
    pub kind: Kind,
    /// The operation of the client.
    pub verb: Verb,
    /// The object, where there are several; `None` where the file keeps only one.
    pub key: Option<Value>,
    /// The value read or written; in foreign histories also the mode in which a lock is asked for.
    pub value: Value,
    /// The mode in which a lock is asked for; `None` if the file does not give it.
    pub mode: Option<base::Mode>,
    /// The fencing token of a grant; `nil` if the file does not give it.
    pub token: Value,
}

/// An operation of a client, under the one name that picklock has for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Named `acquire` or `lock`: takes a lock.
    Acquire,
    /// Named `release` or `unlock`: frees a lock.
    Release,
    /// Named `read`: reads a register.
    Read,
    /// Named `write`: writes a register.
    Write,
    /// `cas`: compare and set.
    Cas,
    /// `add`, to a set.
    Add,
    /// `convert`: a lock is held in another mode from then on.
    Convert,
    /// `upgrade`: converts to exclusive.
    Upgrade,
    /// `downgrade`: converts to shared.
    Downgrade,
    /// Named `extend` or `renew`: the lease of a lock is made longer.
    Extend,
    /// `valid`: the lock is asked whether the process still holds it.
    Valid,
    /// `death`: the process is gone. No operation: a fact about it.
    Death,
    /// `lost`: the process says that it may have lost the lock. No operation, either.
    Lost,
    /// `notified`, `arrive` and `doubt`, which histories of ours have besides: facts that no model looks at.
    Fact(&'static str),
    /// Any other name, which no model knows.
    Other(Box<str>),
}

impl Verb {
    /// The verb with this name.
    pub fn of(name: &str) -> Self {
        match name {
            "acquire" | "lock" => Self::Acquire,
            "release" | "unlock" => Self::Release,
            "read" => Self::Read,
            "write" => Self::Write,
            "cas" => Self::Cas,
            "add" => Self::Add,
            "convert" => Self::Convert,
            "upgrade" => Self::Upgrade,
            "downgrade" => Self::Downgrade,
            "extend" | "renew" => Self::Extend,
            "valid" => Self::Valid,
            "death" => Self::Death,
            "lost" => Self::Lost,
            "notified" => Self::Fact("notified"),
            "arrive" => Self::Fact("arrive"),
            "doubt" => Self::Fact("doubt"),
            other => Self::Other(shortened(other)),
        }
    }
}

/// A name of unknown length, shortened for an error line.
fn shortened(name: &str) -> Box<str> {
    name.chars().take(40).collect::<String>().into()
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::Read => "read",
            Self::Write => "write",
            Self::Cas => "cas",
            Self::Add => "add",
            Self::Convert => "convert",
            Self::Upgrade => "upgrade",
            Self::Downgrade => "downgrade",
            Self::Extend => "extend",
            Self::Valid => "valid",
            Self::Death => "death",
            Self::Lost => "lost",
            Self::Fact(name) => name,
            Self::Other(name) => name,
        })
    }
}

/// A value of a history. Values are equal if they mean the same to their writer: `5` is `5.0`, `:a`
/// is not `"a"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// `nil`, `null`, or nothing at all.
    #[default]
    Nil,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A keyword (with its colon), a symbol, a character: as it is written. A number that is none
    /// of 128 bits: in the one way that [`decimal`](super::number::decimal) has for it. What is
    /// borrowed is a keyword without a namespace.
    Word(Cow<'static, str>),
    /// A string, without its quotes.
    Text(Box<str>),
    /// A vector or a list.
    List(Vec<Value>),
    /// A set, sorted.
    Set(Vec<Value>),
    /// A map, sorted by its keys.
    Map(Vec<(Value, Value)>),
    /// A value with a tag, such as `#inst "2026-01-01"`.
    Tagged(Box<str>, Box<Value>),
}

impl Value {
    /// The value of a key of a map, given as its name: it may be a keyword, a string or a symbol,
    /// and have a namespace if none has that name without one.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(pairs) = self else { return None };
        let plain = |key: &Self| key.spelled() == Some(("", name));
        let key = pairs.iter().find(|(key, _)| plain(key));
        let key = key.or_else(|| pairs.iter().find(|(key, _)| key.name() == Some(name)));
        key.map(|(_, value)| value)
    }

    /// The name of a keyword, a symbol or a string: without colon and namespace.
    pub fn name(&self) -> Option<&str> {
        self.spelled().map(|(_, name)| name)
    }

    /// The namespace (which may be empty) and the name of a keyword, a symbol or a string.
    #[inline]
    pub fn spelled(&self) -> Option<(&str, &str)> {
        match self {
            Self::Text(text) => Some(("", text)),
            // Only keywords without a namespace are borrowed.
            Self::Word(Cow::Borrowed(word)) => Some(("", &word[1..])),
            Self::Word(Cow::Owned(word)) => {
                let word = word.strip_prefix(':').unwrap_or(word);
                Some(word.rsplit_once('/').unwrap_or(("", word)))
            }
            _ => None,
        }
    }

    /// The value without its tags.
    pub fn bare(&self) -> &Self {
        let mut value = self;
        while let Self::Tagged(_, inner) = value {
            value = inner;
        }
        value
    }

    /// The value without its tags.
    pub fn into_bare(mut self) -> Self {
        while let Self::Tagged(_, inner) = self {
            self = *inner;
        }
        self
    }

    /// The number, if it is one that fits.
    pub fn int<T: TryFrom<i128>>(&self) -> Option<T> {
        match self {
            Self::Int(n) => T::try_from(*n).ok(),
            _ => None,
        }
    }

    /// The bytes that the value owns on the heap.
    pub fn heap(&self) -> usize {
        let one = size_of::<Self>();
        match self {
            Self::Nil | Self::Bool(_) | Self::Int(_) => 0,
            Self::Word(Cow::Borrowed(_)) => 0,
            Self::Word(Cow::Owned(text)) => text.len(),
            Self::Text(text) => text.len(),
            Self::List(items) | Self::Set(items) => items.iter().map(|i| one + i.heap()).sum(),
            Self::Map(pairs) => pairs.iter().map(|(k, v)| 2 * one + k.heap() + v.heap()).sum(),
            Self::Tagged(tag, inner) => tag.len() + one + inner.heap(),
        }
    }

    /// The items of a vector, list or set.
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) | Self::Set(items) => Some(items),
            _ => None,
        }
    }
}

/// Displays the value as EDN.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Bool(yes) => write!(f, "{yes}"),
            Self::Int(n) => write!(f, "{n}"),
            Self::Word(word) => f.write_str(word),
            Self::Text(text) => write!(f, "{}", Quoted(text)),
            Self::List(items) => sequence(f, "[", items, "]"),
            Self::Set(items) => sequence(f, "#{", items, "}"),
            Self::Map(pairs) => {
                f.write_str("{")?;
                for (at, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{key} {value}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Self::Tagged(tag, value) => write!(f, "#{tag} {value}"),
        }
    }
}

fn sequence(f: &mut fmt::Formatter<'_>, open: &str, items: &[Value], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (at, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if at == 0 { "" } else { " " })?;
    }
    f.write_str(close)
}

/// A string between quotes, as EDN escapes it.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if base::is_hidden(c) => {
                    let mut units = [0; 2];
                    c.encode_utf16(&mut units).iter().try_for_each(|u| write!(f, "\\u{u:04x}"))?;
                }
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
