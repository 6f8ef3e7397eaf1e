//! `etcd-mutex`: a queue of keys with leases, as the `Mutex` of etcd's package `concurrency`.
//!
//! Each acquire creates a key of its own under the lock's name. The revision of its creation is its
//! place in the queue, and the fencing token. Whoever has a key before its own waits for the
//! deletion of the last of these, and looks again: that may have been a waiter which gave up. So a
//! release wakes one client. Before it believes, it makes sure that its own key has not gone with
//! its lease, which etcd 3.4 left out: there, each of several waiters whose leases had run out took
//! the lock.
//!
//! The lease is as that of `etcd-lease`: its acquire's own, kept alive while the client waits and
//! holds, and revoked when it gives up. A holder that is paused past it believes on (H44).

use base::{Grant, Lock, Promises, Wakes};
use stores::etcd::{Client, Etcd, LeaseId, Revision};

use super::etcd::{CreatedKey, LEASE, LeaseLock, LeaseNode, LeaseRule, ON_LEASE, OVER, granted};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "etcd-mutex",
    summary: "keys with leases in the order of their revisions, each watches the one before",
    promises: Promises { fifo: true, wakes: Some(Wakes::Next), ..ON_LEASE },
    breaks: &[LEASE],
    longest_hold: BEYOND_SESSION,
    open: &On::<Etcd>::one(open),
};

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    LeaseLock::<KeyQueue>::open(client, settings)
}

/// The rule of a queue, in which each acquire has a key of its own.
struct KeyQueue;

impl LeaseRule for KeyQueue {
    fn key(name: &str, lease: LeaseId) -> String {
        format!("{name}/{lease:016x}")
    }

    async fn take(node: &LeaseNode) -> Result<Grant, String> {
        let asked = node.now();
        let CreatedKey::Own(created) = node.create().await? else {
            return Err("another has a key with its lease".into());
        };
        wait_for_those_before(node, created).await?;
        match stands(node, created).await {
            true => Ok(Grant { place: Some(created.unsigned_abs()), ..granted(created, asked) }),
            false => Err(OVER.into()),
        }
    }
}

/// Waits until no key of the queue is left that was created before this revision.
async fn wait_for_those_before(node: &LeaseNode, created: Revision) -> Result<(), String> {
    let queue = format!("{}/", node.name);
    loop {
        match node.client.get_last(&queue, created).await {
            Ok((None, _)) => return Ok(()),
            // Each key has its own name as its value.
            Ok((Some(before), seen)) => node.wait_for_deletion(&before.value, seen + 1).await?,
            Err(_) => node.back_off().await,
        }
    }
}

/// Returns true if the key is still the one that was created at this revision.
async fn stands(node: &LeaseNode, created: Revision) -> bool {
    loop {
        match node.client.get(&node.key).await {
            Ok(found) => return found.is_some_and(|found| found.created == created),
            Err(_) => node.back_off().await,
        }
    }
}
