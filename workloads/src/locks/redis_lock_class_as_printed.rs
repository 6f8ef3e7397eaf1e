//! `redis-lock-class-as-printed`: the Java class `RedisLock` of seed 000 (lines 46 to 80), with its
//! mistake.
//!
//! `ACQUIRE_SUCCESS` is `"ok"` (line 47), and the server says `OK` (line 61 compares them with
//! `equals`): `acquireLock` sets the key in its caller's name and answers false. Nobody ever gets
//! in, and the key stands until its ttl, when the next caller sets it in vain (H36). The class does
//! not try again by itself; its script that frees is right, and is never reached.

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::breaks;
use super::redis_node::{EXPIRING, RedisNode, no_grant};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-lock-class-as-printed",
    summary: "a Java class around SET NX PX that takes the server's OK for a no",
    promises: EXPIRING,
    breaks: &[&[breaks(&[Cause::Recipe], &["phantom holder", "deadlock"], NOT_OK)]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

const ACQUIRE_SUCCESS: &str = "ok";

const NOT_OK: &str = "H36: the server says OK and the class waits for \"ok\": the key stands in the name of a \
     caller who was told no";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(RedisLock { node: RedisNode::new(link, settings), random_value: String::new() })
}

struct RedisLock {
    node: RedisNode,
    /// The value of the last try.
    random_value: String,
}

impl Recipe for RedisLock {
    /// Stands for the method `acquireLock`.
    async fn acquire(&mut self, _mode: Mode, _timeout: Duration) -> Result<Grant, AcquireError> {
        self.random_value = self.node.unique();
        let set = self.node.set_nx_px_command(&self.random_value);
        let result: Option<String> = self.node.call(set).await.map_err(no_grant)?;
        match result.as_deref() {
            Some(ACQUIRE_SUCCESS) => Ok(Grant::default()),
            _ => Err(AcquireError::Failed("acquireLock returned false".into())),
        }
    }

    /// Stands for the method `releaseLock`.
    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.node.compare_and_delete(&self.random_value).await
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.random_value).await
    }
}
