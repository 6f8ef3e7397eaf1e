//! `redis-set-nx-px`: the reference lock on one Redis server (seeds 000, 002).
//!
//! `SET key <unique value> NX PX ttl` takes it; a script that compares the value and deletes the
//! key frees it. Safe as long as no holder outlives its ttl and the server keeps its data.

use base::{AcquireError, Grant, Link, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::TTL;
use super::redis_node::{EXPIRING, RedisNode};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px",
    summary: "SET NX PX with a unique value, freed by a compare-and-delete script",
    promises: Promises { extends: true, tells: true, ..EXPIRING },
    breaks: &[TTL],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(SetNxPx { node: RedisNode::new(link, settings), value: String::new() })
}

struct SetNxPx {
    node: RedisNode,
    /// The value of the last try, which is the owner's.
    value: String,
}

impl Recipe for SetNxPx {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.value = self.node.unique();
        self.node.set_nx_px(&self.value, timeout).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.node.compare_and_delete(&self.value).await
    }

    async fn extend(&mut self, grant: Grant) -> Result<Grant, AcquireError> {
        self.node.compare_and_extend(&self.value, grant).await
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.value).await
    }
}
