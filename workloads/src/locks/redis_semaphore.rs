//! `redis-semaphore`: so many permits, the members of a sorted set, by the times at which they end.
//!
//! One script does it all by the server's clock (`TIME`): it removes the members whose time is over
//! and, if the permits that are left are enough, adds a member that ends a ttl later for each that
//! was asked for: all of them, or none. The release removes its own members. Two clients cannot
//! count at once, and no clock of a client counts, which is what breaks the semaphore that *Redis
//! in Action* prints first (H14): there, each client writes the time of its own clock into the set,
//! and whoever is behind ranks before a holder. A member ends as the key of `redis-set-nx-px` does,
//! so what breaks that lock breaks this one.

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

/// Takes a permit for each of the members for so many milliseconds, if so many are free.
const TAKE: &str = "\
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zcard', KEYS[1]) + #ARGV - 2 > tonumber(ARGV[1]) then return 0 end
for place = 3, #ARGV do redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[place]) end
return 1";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(PermitSet { node: RedisNode::new(link, settings), members: Vec::new() })
}

struct PermitSet {
    node: RedisNode,
    /// The members of the last try, one for each permit, which nobody else has.
    members: Vec<String>,
}

impl PermitSet {
    /// Takes the permits, if so many are free. Returns true if it did.
    async fn take(&self) -> CallResult<bool> {
        let mut eval = command("EVAL");
        eval.arg(TAKE).arg(1).arg(&self.node.key);
        eval.arg(PERMITS).arg(self.node.ttl_millis()).arg(&self.members);
        self.node.call(eval).await
    }
}

impl Recipe for PermitSet {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        Recipe::acquire_permits(self, 1, timeout).await
    }

    async fn acquire_permits(
        &mut self,
        permits: u32,
        timeout: Duration,
    ) -> Result<Grant, AcquireError> {
        self.members = (0..permits).map(|_| self.node.unique()).collect();
        let take = async |asked| {
            let grant = || Grant { expires: Some(asked + self.node.ttl), ..Grant::default() };
            Ok(self.take().await?.then(grant))
        };
        self.node.retry(timeout, BACK_OFF, take).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let mut zrem = command("ZREM");
        zrem.arg(&self.node.key).arg(&self.members);
        released(self.node.call(zrem).await, Removed::Own)
    }
}
