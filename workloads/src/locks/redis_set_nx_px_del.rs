//! `redis-set-nx-px-del`: the reference lock, freed with a bare `DEL` (seed 002, lines 137 to 149).
//!
//! The value is each owner's own, but nobody looks at it: an owner that outlived its ttl frees
//! whoever holds the lock by then (H4). The seed describes this with its threads A and B.

use base::{AcquireError, Grant, Link, Lock, Mode, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{TTL, frees_anybody, why};
use super::redis_node::{EXPIRING, RedisNode};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-del",
    summary: "SET NX PX with a unique value that nobody looks at, freed by DEL",
    promises: EXPIRING,
    breaks: &[TTL, &frees_anybody(why::BARE_DEL)],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(BareDel { node: RedisNode::new(link, settings), value: String::new() })
}

struct BareDel {
    node: RedisNode,
    /// The value of the last try, which is the owner's.
    value: String,
}

impl Recipe for BareDel {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.value = self.node.unique();
        self.node.set_nx_px(&self.value, timeout).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.node.free_any().await
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.value).await
    }
}
