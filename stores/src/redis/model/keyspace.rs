//! The keys of a server: values, each with or without the time at which it runs out.

use super::channels::Channels;
use super::members::Members;
use super::value::{Collection, TypedValue, wrong_type};
use super::watched::WatchedKey;
use crate::model::{By, Noted, What};
use redis::Value;
use smallvec::SmallVec;

/// A time by the server's wall clock, in milliseconds since the Unix epoch. Signed, since a
/// command may name a time before the epoch.
pub type Millis = i64;

/// The bytes of a key or a value, in place where they are few: those of a lock come and go with it.
pub type Bytes = SmallVec<[u8; 32]>;

/// A value and the time at which it runs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// The value with its type.
    pub value: TypedValue,
    /// The last millisecond in which the key exists; `None`: for ever.
    pub expires: Option<Millis>,
}

impl StoredValue {
    /// Returns true if the key has run out. Redis compares with `now > when`: in the very
    /// millisecond of its expiry a key is still there, with a remaining time of 0.
    fn is_expired(&self, now: Millis) -> bool {
        self.expires.is_some_and(|when| now > when)
    }
}

/// All keys of a server, in the order of their names. A sorted list, because the server of a lock
/// has a handful of them and every command looks one up.
#[derive(Clone, Debug, Default)]
pub struct Keyspace {
    entries: Vec<(Bytes, StoredValue)>,
    /// The changes of the keys since the journal was last taken.
    pub journal: Vec<Noted>,
    /// The members of collections, if they are to be noted one by one.
    pub members: Option<Members>,
    /// The keys that connections watch.
    pub watched: Vec<WatchedKey>,
    /// The channels to which connections subscribe.
    pub channels: Channels,
    /// The keys of the lists that were made and that nobody was served from yet, in order.
    ready: Vec<Bytes>,
}

/// Compares the keys alone: two servers hold the same, however it came there.
impl PartialEq for Keyspace {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Keyspace {}

impl Keyspace {
    /// The place of a key in the list: `Ok` where it stands, `Err` where it would.
    fn place(&self, key: &[u8]) -> Result<usize, usize> {
        self.entries.binary_search_by(|(name, _)| name.as_slice().cmp(key))
    }

    /// The entry under a key. Removes the key if it has run out, as every access does in Redis.
    pub fn get(&mut self, key: &[u8], now: Millis) -> Option<&mut StoredValue> {
        let place = self.place(key).ok()?;
        if self.entries[place].1.is_expired(now) {
            self.remove(place, What::Expired);
            return None;
        }
        Some(&mut self.entries[place].1)
    }

    /// Returns true if there is a key that has run out, which nobody has noticed.
    pub fn has_expired(&self, key: &[u8], now: Millis) -> bool {
        self.place(key).is_ok_and(|place| self.entries[place].1.is_expired(now))
    }

    /// Stores a string, whatever was there.
    pub fn put(&mut self, key: &[u8], value: &[u8], expires: Option<Millis>) {
        self.put_value(key, TypedValue::text(value), expires, What::Written);
    }

    /// Stores a number that several count with. It runs out when it would have.
    pub fn put_count(&mut self, key: &[u8], number: i64, now: Millis) {
        let expires = self.get(key, now).and_then(|entry| entry.expires);
        let number = TypedValue::text(number.to_string().as_bytes());
        self.put_value(key, number, expires, What::Shared);
    }

    fn put_value(
        &mut self,
        key: &[u8],
        value: TypedValue,
        expires: Option<Millis>,
        what: fn(By) -> What,
    ) {
        if matches!(value, TypedValue::List(_)) && !self.ready.iter().any(|it| it[..] == *key) {
            self.ready.push(Bytes::from_slice(key));
        }
        let entry = StoredValue { value, expires };
        self.note(Bytes::from_slice(key), what(By::Caller));
        match self.place(key) {
            Ok(place) => self.entries[place].1 = entry,
            Err(place) => self.entries.insert(place, (Bytes::from_slice(key), entry)),
        }
    }

    /// Tells something of the collection under a key; of an empty one if there is no such key.
    ///
    /// # Errors
    /// The error reply, if the key has a value of another type.
    pub fn read<T: Collection, R>(
        &mut self,
        key: &[u8],
        now: Millis,
        tell: impl FnOnce(&T) -> R,
    ) -> Result<R, Value> {
        match self.get(key, now) {
            Some(entry) => T::of(&mut entry.value).map(|it| tell(it)).ok_or_else(wrong_type),
            None => Ok(tell(&T::default())),
        }
    }

    /// Changes the collection under a key, an empty one if there is no such key; if nothing is left
    /// in it, the key is removed. `change` returns the reply, and whether anything was changed.
    ///
    /// # Errors
    /// The error reply of `change`, or that for a value of another type.
    pub fn change<T: Collection>(
        &mut self,
        key: &[u8],
        now: Millis,
        change: impl FnOnce(&mut T) -> Result<(Value, bool), Value>,
    ) -> Result<Value, Value> {
        let Some(entry) = self.get(key, now) else {
            let mut made = T::default();
            let (reply, changed) = change(&mut made)?;
            if changed && !made.is_empty() {
                self.put_value(key, made.stored(), None, What::Shared);
            }
            return Ok(reply);
        };
        let collection = T::of(&mut entry.value).ok_or_else(wrong_type)?;
        let (reply, changed) = change(collection)?;
        if collection.is_empty() {
            self.delete(key, now);
        } else if changed {
            self.note(Bytes::from_slice(key), What::Shared(By::Caller));
        }
        Ok(reply)
    }

    /// From now on the journal has the members of collections, one by one.
    pub fn tell_members(&mut self) {
        self.members = Some(Members::of(self));
    }

    /// Moves to `into` the changes since the last call, in order.
    pub fn take_journal(&mut self, into: &mut Vec<Noted>) {
        let Some(mut members) = self.members.take() else {
            return into.append(&mut self.journal);
        };
        let mut journal = std::mem::take(&mut self.journal);
        members.tell(self, &mut journal, into);
        self.members = Some(members);
    }

    /// Tells what is lost, and what comes back, because a store goes on with these keys instead.
    pub fn tell_loss(&self, instead: &Self, into: &mut Vec<Noted>) {
        if self.members.is_none() {
            return self.differences(instead, into);
        }
        let mut journal = Vec::new();
        self.differences(instead, &mut journal);
        Members::of(self).tell(instead, &mut journal, into);
    }

    /// The next key of a list from which those are to be served who wait for it.
    pub fn take_ready(&mut self) -> Option<Bytes> {
        (!self.ready.is_empty()).then(|| self.ready.remove(0))
    }

    /// Forgets the lists that were made: nobody waits.
    pub fn clear_ready(&mut self) {
        self.ready.clear();
    }

    /// Removes a key. Returns true if it existed and had not run out.
    pub fn delete(&mut self, key: &[u8], now: Millis) -> bool {
        let Ok(place) = self.place(key) else { return false };
        let expired = self.entries[place].1.is_expired(now);
        self.remove(place, if expired { What::Expired } else { What::Deleted(By::Caller) });
        !expired
    }

    /// Removes a key for a reason that is known already.
    #[cfg(feature = "real")]
    pub fn lose(&mut self, key: &[u8], what: What) {
        if let Ok(place) = self.place(key) {
            self.remove(place, what);
        }
    }

    fn remove(&mut self, place: usize, what: What) {
        let (name, _) = self.entries.remove(place);
        self.note(name, what);
    }

    fn note(&mut self, object: Bytes, what: What) {
        self.touch(&object, matches!(what, What::Written(_) | What::Shared(_)));
        self.journal.push(Noted { object, what, zxid: None });
    }

    /// The active expiry cycle: removes what has run out though nobody asks for it. Redis looks at
    /// samples and repeats while many of them have run out; for the few keys of a lock test that
    /// is all of them.
    pub fn expire_cycle(&mut self, now: Millis) {
        let before = self.journal.len();
        let expired = self.entries.extract_if(.., |(_, entry)| entry.is_expired(now));
        let noted = |(object, _)| Noted { object, what: What::Expired, zxid: None };
        self.journal.extend(expired.map(noted));
        self.touch_noted(before);
    }

    /// All entries, by name: key, value and expiry.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &TypedValue, Option<Millis>)> {
        self.entries.iter().map(|(key, entry)| (&key[..], &entry.value, entry.expires))
    }

    /// Removes everything, and records this reason.
    pub fn clear(&mut self, what: What) {
        let before = self.journal.len();
        let noted = |(object, _)| Noted { object, what, zxid: None };
        self.journal.extend(self.entries.drain(..).map(noted));
        self.touch_noted(before);
    }

    /// Tells whoever watches keys that those are gone which the journal has noted since then.
    fn touch_noted(&mut self, since: usize) {
        if self.watched.is_empty() {
            return;
        }
        let gone: Vec<Bytes> = self.journal[since..].iter().map(|it| it.object.clone()).collect();
        gone.iter().for_each(|key| self.touch(key, false));
    }

    /// Goes back to an earlier state: what came later is lost.
    pub fn go_back(&mut self, earlier: &Self) {
        let mut journal = std::mem::take(&mut self.journal);
        self.differences(earlier, &mut journal);
        self.journal = journal;
        self.entries.clone_from(&earlier.entries);
    }

    /// Notes what is lost, and what comes back, for whoever had this and has another state instead.
    pub fn differences(&self, instead: &Self, into: &mut Vec<Noted>) {
        let same = |one: &Self, (name, entry): &(Bytes, StoredValue)| {
            one.place(name).is_ok_and(|place| one.entries[place].1 == *entry)
        };
        let note = |what| {
            move |(name, _): &(Bytes, StoredValue)| Noted { object: name.clone(), what, zxid: None }
        };
        let lost = self.entries.iter().filter(|it| !same(instead, it));
        into.extend(lost.map(note(What::Wiped)));
        let back = instead.entries.iter().filter(|it| !same(self, it));
        into.extend(back.map(note(What::Restored)));
    }

    /// Takes over the data of another server, as its replica.
    pub fn copy(&mut self, from: &Self) {
        if !self.watched.is_empty() {
            let mut changed = Vec::new();
            self.differences(from, &mut changed);
            changed.iter().for_each(|it| self.touch(&it.object, it.what == What::Restored));
        }
        self.entries.clone_from(&from.entries);
    }

    /// Takes over the data and the journal of an earlier moment, as if nothing had happened since.
    pub fn undo(&mut self, before: Self) {
        (self.entries, self.journal) = (before.entries, before.journal);
    }

    /// The number of keys stored, counting those that have run out unnoticed, as DBSIZE does.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_lives_through_the_millisecond_of_its_expiry() {
        let mut keys = Keyspace::default();
        keys.put(b"a", b"1", Some(100));
        assert!(keys.get(b"a", 100).is_some());
        assert_eq!(keys.len(), 1);
        assert!(keys.get(b"a", 101).is_none());
        assert_eq!(keys.len(), 0);
    }

    #[test]
    fn the_cycle_removes_what_nobody_asks_for() {
        let mut keys = Keyspace::default();
        keys.put(b"a", b"", Some(100));
        keys.put(b"b", b"", None);
        keys.expire_cycle(100);
        assert_eq!(keys.len(), 2);
        keys.expire_cycle(101);
        assert_eq!(keys.len(), 1);
    }

    #[test]
    fn an_expired_key_is_no_key_to_delete() {
        let mut keys = Keyspace::default();
        keys.put(b"a", b"", Some(100));
        assert!(!keys.delete(b"a", 101));
        assert_eq!(keys.len(), 0);
    }
}
