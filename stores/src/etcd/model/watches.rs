//! The watches that a member serves, from what it has applied.

use super::KeyStore;
use crate::etcd::{DeletionWatchId, Packet, Revision, Signal};
use crate::model::{Out, Peer};
use std::collections::BTreeMap;
use std::ops::Range;

/// The watches of clients, by connection and number: the key, and the first revision that counts.
#[derive(Clone, Debug, Default, Hash)]
pub struct KeyWatches(BTreeMap<(u64, DeletionWatchId), (String, Revision)>);

impl KeyWatches {
    /// Sets a watch, which may fire at once.
    pub fn set(&mut self, connection: u64, watch: DeletionWatchId, key: String, from: Revision) {
        self.0.insert((connection, watch), (key, from));
    }

    /// Takes out a watch of which its client wants no more.
    pub fn unset(&mut self, connection: u64, watch: DeletionWatchId) {
        self.0.remove(&(connection, watch));
    }

    /// Takes out the watches of a connection that is gone.
    pub fn forget(&mut self, connection: u64) {
        self.0.retain(|(other, _), _| *other != connection);
    }

    /// Returns true if one of these connections has a watch.
    pub fn has(&self, connections: Range<u64>) -> bool {
        self.0.keys().any(|(connection, _)| connections.contains(connection))
    }

    /// Takes out the watches whose keys were deleted, and tells their clients.
    pub fn fire(&mut self, store: &KeyStore, out: &mut Vec<Out<Packet>>) {
        self.0.retain(|(connection, watch), (key, from)| {
            let fires = store.was_deleted(key, *from);
            if fires {
                tell(*connection, Signal::Deleted { watch: *watch }, out);
            }
            !fires
        });
    }

    /// Ends all watches, and tells their clients.
    pub fn end(&mut self, out: &mut Vec<Out<Packet>>) {
        for (connection, watch) in std::mem::take(&mut self.0).into_keys() {
            tell(connection, Signal::Ended { watch }, out);
        }
    }
}

fn tell(connection: u64, signal: Signal, out: &mut Vec<Out<Packet>>) {
    out.push(Out::Send(Peer::Connection(connection), Packet::Signal(signal)));
}
