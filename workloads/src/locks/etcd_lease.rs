//! `etcd-lease`: a key that goes with a lease (beyond the seeds; two of them name Chubby, which
//! nobody outside can run and whose sessions and sequencers this stands in for).
//!
//! A transaction creates the key unless it is there. A keep-alive every third of a ttl has the
//! lease live for its whole time anew, also while its client waits; a client that has had no answer
//! for a ttl reports its grant as lost. Whoever waits watches the key: all are woken at once (a
//! herd). The revision at which the key was created is the fencing token, which the resource has to
//! check, since a client that is paused sends no keep-alives and believes on (H44).
//!
//! The lease is its acquire's own, so that a key with this lease is this acquire's, whatever became
//! of the reply to its creation; and an acquire that gives up revokes it: then no creation comes
//! late, unless the lease does, too, and both run out. So an acquire whose lease may still be made
//! ends in doubt.

use base::{Grant, Lock, Promises, Wakes};
use stores::etcd::{Client, Etcd, LeaseId};

use super::etcd::{CreatedKey, LEASE, LeaseLock, LeaseNode, LeaseRule, ON_LEASE, granted};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "etcd-lease",
    summary: "a key created with a lease, its revision as a fencing token, everybody watches it",
    promises: Promises { wakes: Some(Wakes::All), ..ON_LEASE },
    breaks: &[LEASE],
    longest_hold: BEYOND_SESSION,
    open: &On::<Etcd>::one(open),
};

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    LeaseLock::<OneKey>::open(client, settings)
}

/// The rule of a lock that is one key.
struct OneKey;

impl LeaseRule for OneKey {
    fn key(name: &str, _lease: LeaseId) -> String {
        name.to_owned()
    }

    async fn take(node: &LeaseNode) -> Result<Grant, String> {
        loop {
            // The first creation that may have been this client's.
            let asked = node.now();
            match node.create().await? {
                CreatedKey::Own(revision) => return Ok(granted(revision, asked)),
                CreatedKey::Others { seen } => node.wait_for_deletion(&node.key, seen + 1).await?,
            }
        }
    }
}
