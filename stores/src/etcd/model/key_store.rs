//! The state that all members apply the same changes to: keys, leases, and the revision.

use crate::etcd::{KeyValue, LeaseId, Refusal, Reply, Request, Revision};
use std::collections::{BTreeMap, BTreeSet};

/// The keys and leases of the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyStore {
    revision: Revision,
    keys: BTreeMap<String, KeyValue>,
    leases: BTreeMap<LeaseId, StoredLease>,
    /// The revision at which each key was last deleted.
    deletions: BTreeMap<String, Revision>,
    shortest_ttl: i64,
}

/// A lease, and the keys that go with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StoredLease {
    ttl: i64,
    keys: BTreeSet<String>,
}

/// A change of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// The key was created with this lease.
    Created(String, LeaseId),
    /// The key was deleted, which went with this lease.
    Deleted(String, LeaseId),
    /// The lease was made.
    Leased(LeaseId),
    /// The lease is over.
    Revoked(LeaseId),
}

impl KeyStore {
    /// An empty store whose leases live for no fewer seconds.
    pub fn new(shortest_ttl: i64) -> Self {
        Self {
            revision: 1,
            keys: BTreeMap::new(),
            leases: BTreeMap::new(),
            deletions: BTreeMap::new(),
            shortest_ttl,
        }
    }

    /// Applies a request, and notes what it changes. Those that only a leader or one member can
    /// answer change nothing here.
    pub fn apply(
        &mut self,
        request: &Request,
        changes: &mut Vec<KeyChange>,
    ) -> Result<Reply, Refusal> {
        match request {
            Request::LeaseGrant { lease, ttl } => self.grant(*lease, *ttl, changes),
            Request::LeaseRevoke { lease } => self.revoke(*lease, changes),
            Request::LeaseKeepAlive { lease } => Ok(Reply::Leased { ttl: self.ttl(*lease) }),
            Request::Create { key, value, lease } => self.create(key, value, *lease, changes),
            Request::Delete { key, created } => {
                let fits = self.keys.get(key).is_some_and(|found| found.created == *created);
                if fits {
                    self.revision += 1;
                    self.delete(key, changes);
                }
                Ok(Reply::Deleted(fits))
            }
            Request::Get { key } => Ok(self.found(self.keys.get(key))),
            Request::GetLast { prefix, before } => Ok(self.found(self.last(prefix, *before))),
            Request::Watch { .. } => Ok(Reply::Watching),
            Request::Unwatch { .. } => Ok(Reply::Unwatched),
        }
    }

    /// The time for which a lease lives, in seconds; zero if there is none.
    pub fn ttl(&self, lease: LeaseId) -> i64 {
        self.leases.get(&lease).map_or(0, |lease| lease.ttl)
    }

    /// The leases, each with its time in seconds.
    pub fn leases(&self) -> impl Iterator<Item = (LeaseId, i64)> {
        self.leases.iter().map(|(lease, stored)| (*lease, stored.ttl))
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = (&String, &KeyValue)> {
        self.keys.iter()
    }

    /// Returns true if a key was deleted at or after a revision.
    pub fn was_deleted(&self, key: &str, from: Revision) -> bool {
        self.deletions.get(key).is_some_and(|deleted| *deleted >= from)
    }

    fn grant(
        &mut self,
        lease: LeaseId,
        ttl: i64,
        changes: &mut Vec<KeyChange>,
    ) -> Result<Reply, Refusal> {
        if self.leases.contains_key(&lease) {
            return Err(Refusal::LeaseExists);
        }
        let ttl = ttl.max(self.shortest_ttl);
        self.leases.insert(lease, StoredLease { ttl, keys: BTreeSet::new() });
        changes.push(KeyChange::Leased(lease));
        Ok(Reply::Leased { ttl })
    }

    fn revoke(&mut self, lease: LeaseId, changes: &mut Vec<KeyChange>) -> Result<Reply, Refusal> {
        let stored = self.leases.get(&lease).ok_or(Refusal::LeaseNotFound)?;
        let keys = stored.keys.clone();
        // All its keys go in one transaction; without any there is none.
        self.revision += i64::from(!keys.is_empty());
        keys.iter().for_each(|key| self.delete(key, changes));
        self.leases.remove(&lease);
        changes.push(KeyChange::Revoked(lease));
        Ok(Reply::Revoked)
    }

    fn create(
        &mut self,
        key: &str,
        value: &str,
        lease: LeaseId,
        changes: &mut Vec<KeyChange>,
    ) -> Result<Reply, Refusal> {
        if self.keys.contains_key(key) {
            return Ok(self.found(self.keys.get(key)));
        }
        let stored = self.leases.get_mut(&lease).ok_or(Refusal::LeaseNotFound)?;
        stored.keys.insert(key.to_owned());
        self.revision += 1;
        let revision = self.revision;
        let fresh = KeyValue { value: value.to_owned(), lease, created: revision };
        self.keys.insert(key.to_owned(), fresh);
        changes.push(KeyChange::Created(key.to_owned(), lease));
        Ok(Reply::Created { revision })
    }

    fn delete(&mut self, key: &str, changes: &mut Vec<KeyChange>) {
        let Some(gone) = self.keys.remove(key) else { return };
        if let Some(lease) = self.leases.get_mut(&gone.lease) {
            lease.keys.remove(key);
        }
        self.deletions.insert(key.to_owned(), self.revision);
        changes.push(KeyChange::Deleted(key.to_owned(), gone.lease));
    }

    /// The key that was created last before a revision, of those whose names begin alike.
    fn last(&self, prefix: &str, before: Revision) -> Option<&KeyValue> {
        let alike = self.keys.iter().filter(|(key, _)| key.starts_with(prefix));
        let older = alike.map(|(_, stored)| stored).filter(|stored| stored.created < before);
        older.max_by_key(|stored| stored.created)
    }

    fn found(&self, found: Option<&KeyValue>) -> Reply {
        Reply::Found { found: found.cloned(), revision: self.revision }
    }
}
