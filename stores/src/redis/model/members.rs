//! The members of collections, each noted as a thing of its own: whoever takes a permit of a
//! semaphore puts a member into a sorted set or a set, or a field into a hash. The elements of
//! lists are not distinguished, since several may be equal.

use super::keyspace::{Bytes, Keyspace};
use super::value::TypedValue;
use crate::model::{Noted, What};
use std::collections::{BTreeMap, BTreeSet};

/// The members of one collection, each with its score or value.
type Contents = BTreeMap<Bytes, Bytes>;

/// The members of all collections, as they were noted last.
#[derive(Clone, Debug, Default)]
pub struct Members {
    collections: BTreeMap<Bytes, Contents>,
    /// The names of those that were removed since because their time was over.
    overdue: BTreeSet<Bytes>,
}

impl Members {
    /// The members of all collections among the keys.
    pub fn of(keys: &Keyspace) -> Self {
        let members = |(key, value, _)| Some((Bytes::from_slice(key), contents(value)?));
        let collections = keys.entries().filter_map(members).collect();
        Self { collections, overdue: BTreeSet::new() }
    }

    /// Notes that some members of a collection were removed because of their scores.
    pub fn note_overdue<'a>(&mut self, key: &[u8], gone: impl Iterator<Item = &'a Bytes>) {
        self.overdue.extend(gone.map(|member| name(key, member)));
    }

    /// Tells what has changed since the last time, in place of the changes of whole collections.
    pub fn tell(&mut self, keys: &Keyspace, journal: &mut Vec<Noted>, into: &mut Vec<Noted>) {
        let before = std::mem::replace(self, Self::of(keys));
        let changes = std::mem::take(journal);
        for (place, noted) in changes.iter().enumerate() {
            let is_same = |other: &&Noted| other.object == noted.object;
            if [&before, self].iter().all(|it| !it.collections.contains_key(&noted.object)) {
                into.push(noted.clone());
            } else if !changes[..place].iter().any(|other| is_same(&other)) {
                let last = changes.iter().rfind(is_same).unwrap_or(noted);
                self.tell_one(&before, &noted.object, (noted.what, last.what), into);
            }
        }
    }

    /// Tells what has changed in one collection, by the first and the last of its changes.
    fn tell_one(
        &self,
        before: &Self,
        key: &Bytes,
        (first, last): (What, What),
        into: &mut Vec<Noted>,
    ) {
        let none = Contents::new();
        let [old, new] = [before, self].map(|it| it.collections.get(key).unwrap_or(&none));
        for member in old.keys().filter(|member| !new.contains_key(*member)) {
            let object = name(key, member);
            let what = removal(first, before.overdue.contains(&object));
            into.push(Noted { object, what, zxid: None });
        }
        for (member, _) in new.iter().filter(|(member, value)| old.get(*member) != Some(value)) {
            into.push(Noted { object: name(key, member), what: addition(last), zxid: None });
        }
    }

    /// The names of all things: members, and keys that have none.
    #[cfg(feature = "real")]
    pub fn names(keys: &Keyspace) -> Vec<Bytes> {
        let collections = Self::of(keys).collections;
        let members = |(key, contents): (&Bytes, &Contents)| {
            contents.keys().map(|member| name(key, member)).collect::<Vec<_>>()
        };
        let others = keys.entries().filter(|(key, ..)| !collections.contains_key(*key));
        let others = others.map(|(key, ..)| Bytes::from_slice(key));
        collections.iter().flat_map(members).chain(others).collect()
    }

    /// Returns true if a key has a collection whose members are distinguished.
    #[cfg(feature = "real")]
    pub fn has(keys: &Keyspace, key: &[u8]) -> bool {
        Self::of(keys).collections.contains_key(key)
    }
}

/// The members of a collection; `None` if they are not distinguished.
fn contents(value: &TypedValue) -> Option<Contents> {
    let bytes = |score: f64| Bytes::from_slice(&score.to_bits().to_be_bytes());
    Some(match value {
        TypedValue::SortedSet(set) => {
            set.members().iter().map(|(score, member)| (member.clone(), bytes(score.0))).collect()
        }
        TypedValue::Set(set) => {
            set.members().iter().map(|member| (member.clone(), Bytes::new())).collect()
        }
        TypedValue::Hash(hash) => hash.fields().iter().cloned().collect(),
        TypedValue::Text(_) | TypedValue::List(_) => return None,
    })
}

/// The name of a member as a thing.
fn name(key: &[u8], member: &[u8]) -> Bytes {
    Bytes::from_slice(&[key, b" ", member].concat())
}

/// The change of a member that is gone, after this change of its collection.
fn removal(what: What, is_overdue: bool) -> What {
    match what {
        What::Written(by) | What::Shared(by) | What::Deleted(by) if is_overdue => What::Overdue(by),
        What::Written(by) | What::Shared(by) => What::Deleted(by),
        other => other,
    }
}

/// The change of a member that is new, after this change of its collection.
fn addition(what: What) -> What {
    match what {
        What::Shared(by) | What::Deleted(by) => What::Written(by),
        other => other,
    }
}
