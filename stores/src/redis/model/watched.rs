//! Keys that connections watch, so that a transaction does nothing if one of them has changed.

use super::keyspace::{Bytes, Keyspace, Millis};

/// A key that a connection watches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchedKey {
    connection: u64,
    key: Bytes,
    /// True if it had run out unnoticed when this began: that it is removed then changes nothing.
    had_expired: bool,
    is_dirty: bool,
}

impl Keyspace {
    /// Watches a key for a connection.
    pub fn watch(&mut self, connection: u64, key: &[u8], now: Millis) {
        if self.watched.iter().any(|it| it.connection == connection && it.key.as_slice() == key) {
            return;
        }
        let had_expired = self.has_expired(key, now);
        let key = Bytes::from_slice(key);
        self.watched.push(WatchedKey { connection, key, had_expired, is_dirty: false });
    }

    /// Forgets all that a connection watches.
    pub fn unwatch(&mut self, connection: u64) {
        self.watched.retain(|it| it.connection != connection);
    }

    /// Returns true if a key has changed that a connection watches, or has run out.
    pub fn is_dirty(&self, connection: u64, now: Millis) -> bool {
        let mut watched = self.watched.iter().filter(|it| it.connection == connection);
        watched.any(|it| it.is_dirty || !it.had_expired && self.has_expired(&it.key, now))
    }

    /// Notes for whoever watches a key that it has changed: it is still there, or it is gone.
    pub fn touch(&mut self, key: &[u8], is_there: bool) {
        for watched in self.watched.iter_mut().filter(|it| it.key.as_slice() == key) {
            if watched.had_expired && !is_there {
                watched.had_expired = false;
            } else {
                watched.is_dirty = true;
            }
        }
    }
}
