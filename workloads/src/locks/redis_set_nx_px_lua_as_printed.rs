//! `redis-set-nx-px-lua-as-printed`: the reference lock with the release script that seed 002
//! prints (line 177), to the letter.
//!
//! In `redis.call('get',KEYS[1] == ARGV[1])` the comparison stands inside of the call's
//! parenthesis, and `reutrn` is no word of Lua: the server does not compile the script, every
//! release fails with its error, and the lock is freed by its ttl alone (H6). `RedisTool` takes the
//! error for a `false` and its caller goes on.

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{TTL, breaks};
use super::redis_node::{EXPIRING, RedisNode, command, released};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-lua-as-printed",
    summary: "SET NX PX with a unique value, freed by a script that does not compile",
    promises: EXPIRING,
    breaks: &[TTL, &[breaks(&[Cause::Recipe], &["failed release"], COMPILE)]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

/// As it is printed.
const SCRIPT: &str = "if redis.call('get',KEYS[1] == ARGV[1]) then return \
     redis.call('del',KEYS[1]) else reutrn 0 end";

const COMPILE: &str = "H6: the server does not compile the script that is to free the lock, which is freed \
     by its ttl alone";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(RedisTool { node: RedisNode::new(link, settings), request_id: String::new() })
}

struct RedisTool {
    node: RedisNode,
    /// The value of the last try, which is the owner's.
    request_id: String,
}

impl Recipe for RedisTool {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.request_id = self.node.unique();
        self.node.set_nx_px(&self.request_id, timeout).await
    }

    /// Stands for the method `releaseDistrbutedLock`.
    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let mut eval = command("EVAL");
        eval.arg(SCRIPT).arg(1).arg(&self.node.key).arg(&self.request_id);
        let result = self.node.call(eval);
        released(result.await, Removed::Own)
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.request_id).await
    }
}
