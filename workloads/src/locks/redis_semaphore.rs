//! `redis-semaphore`: so many permits, the members of a sorted set, by the times at which they end.
//!
//! One script does it all by the server's clock (`TIME`): it removes the members whose time is over
//! and, if there are fewer than the permits, adds one that ends a ttl later. The release removes
//! its own member. Two clients cannot count at once, and no clock of a client counts, which is what
//! breaks the semaphore that *Redis in Action* prints first (H14): there, each client writes the
//! time of its own clock into the set, and whoever is behind ranks before a holder. A member ends
//! as the key of `redis-set-nx-px` does, so what breaks that lock breaks this one.

use base::{AcquireError, Grant, Link, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::TTL;
use super::redis_node::{BACK_OFF, CallResult, EXPIRING, RedisNode, command, released};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-semaphore",
    summary: "two permits, members of a sorted set that end by the server's clock, in one script",
    promises: Promises { permits: PERMITS, ..EXPIRING },
    breaks: &[TTL],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

/// The number of permits.
const PERMITS: u32 = 2;

/// Takes a permit for so many milliseconds, if one is free.
const TAKE: &str = "\
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
return redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[3])";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(PermitSet { node: RedisNode::new(link, settings), member: String::new() })
}

struct PermitSet {
    node: RedisNode,
    /// The member of the last try, which nobody else has.
    member: String,
}

impl PermitSet {
    /// Takes a permit, if one is free. Returns true if it did.
    async fn take(&self) -> CallResult<bool> {
        let mut eval = command("EVAL");
        eval.arg(TAKE).arg(1).arg(&self.node.key);
        eval.arg(PERMITS).arg(self.node.ttl_millis()).arg(&self.member);
        self.node.call(eval).await
    }
}

impl Recipe for PermitSet {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.member = self.node.unique();
        let take = async |asked| {
            let grant = || Grant { expires: Some(asked + self.node.ttl), ..Grant::default() };
            Ok(self.take().await?.then(grant))
        };
        self.node.retry(timeout, BACK_OFF, take).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let mut zrem = command("ZREM");
        zrem.arg(&self.node.key).arg(&self.member);
        released(self.node.call(zrem).await, Removed::Own)
    }
}
