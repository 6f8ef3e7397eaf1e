//! `memcached-add-as-printed`: the pseudo-code of seed 003 (line 8), with its mistakes.
//!
//! * It adds `lock:{orderid}` and deletes `lock.{orderid}`: another key. The release frees nothing,
//!   and the lock is free again only when its time is over (H38).
//! * Its value is the time of the client that asks. Nobody compares it.

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::memcached::Memcached;

use super::known::{EVICTED, TTL, breaks};
use super::memcached_add::{MemcachedNode, PROMISES};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "memcached-add-as-printed",
    summary: "memcached add of one key and delete of another",
    promises: PROMISES,
    breaks: &[TTL, &[EVICTED, breaks(&[Cause::Recipe], &["failed release"], WRONG_KEY)]],
    longest_hold: BELOW_TTL,
    open: &On::<Memcached>::one(open),
};

const WRONG_KEY: &str = "H38: it adds one key and deletes another, so that its release frees nothing; \
     name the key once";

fn open(link: Rc<dyn Link<Memcached>>, settings: LockSettings) -> Box<dyn Lock> {
    let node = MemcachedNode { link, ttl: settings.ttl };
    let (added, deleted) = (format!("lock:{}", settings.key), format!("lock.{}", settings.key));
    Box::new(AddAsPrinted { node, added, deleted })
}

struct AddAsPrinted {
    node: MemcachedNode,
    added: String,
    deleted: String,
}

impl Recipe for AddAsPrinted {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let timestamp = self.node.link.world().now().millis().to_string();
        self.node.add(&self.added, &timestamp, timeout).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.node.delete(&self.deleted).await
    }
}
