//! `redis-semaphore-as-printed`: two permits for the first two members of a sorted set, by the times
//! at which clients have put them there: the semaphore that *Redis in Action* prints first (6.3.1).
//!
//! A client removes the members that are older than a ttl, adds its own with the time of its own
//! clock, and has a permit if only one ranks before it; if not, it takes its member out again. The
//! book does the first three in a transaction, here they are a script. Whoever is behind ranks
//! before a holder, by a wrong clock or because it was on its way for longer, and is let in beside
//! all others (H14). The fair semaphore that the book prints next counts tokens instead;
//! `redis-semaphore` counts the members, by the server's clock.

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{LONG_HOLD, PAUSED, PROMOTED, STOOD_STILL, STUCK, WIPED, breaks};
use super::redis_getset::AHEAD;
use super::redis_node::{BACK_OFF, CallResult, EXPIRING, RedisNode, command, polling, released};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-semaphore-as-printed",
    summary: "two permits, the first two of a sorted set by the clocks of clients",
    promises: Promises { permits: PERMITS, pace: polling(BACK_OFF, 2), ..EXPIRING },
    breaks: &[&[
        PAUSED,
        LONG_HOLD,
        PROMOTED,
        STOOD_STILL,
        WIPED,
        breaks(&[Cause::Recipe, Cause::ClientClock], &["double hold"], BEHIND),
        breaks(&[Cause::ClientClock], STUCK, AHEAD),
    ]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

const BEHIND: &str = "H14: whoever puts an earlier time into the set than a holder ranks before it, \
     and is let in beside all who hold a permit";

/// The number of permits.
const PERMITS: u32 = 2;

/// Removes what is older than a time, adds members with another, and returns the last one's rank.
const ADD: &str = "\
redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[1])
for place = 3, #ARGV do redis.call('zadd', KEYS[1], ARGV[2], ARGV[place]) end
local last = 0
for place = 3, #ARGV do last = math.max(last, redis.call('zrank', KEYS[1], ARGV[place])) end
return last";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(RankedSet { node: RedisNode::new(link, settings), members: Vec::new() })
}

struct RankedSet {
    node: RedisNode,
    /// The members of the last try, one for each permit, which nobody else has.
    members: Vec<String>,
}

impl RankedSet {
    /// Adds the members with the time of the client's clock, in microseconds. Returns the rank of
    /// the last one.
    async fn add(&self) -> CallResult<u32> {
        let now = self.node.link.world().now().nanos() / 1_000;
        let over = i128::from(now) - self.node.ttl.as_micros() as i128;
        let mut eval = command("EVAL");
        eval.arg(ADD).arg(1).arg(&self.node.key).arg(over).arg(now).arg(&self.members);
        self.node.call(eval).await
    }

    /// Takes the members out. Returns the number of those that were there.
    async fn take_out(&self) -> CallResult<u64> {
        let mut zrem = command("ZREM");
        zrem.arg(&self.node.key).arg(&self.members);
        self.node.call(zrem).await
    }
}

impl Recipe for RankedSet {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        Recipe::acquire_permits(self, 1, timeout).await
    }

    async fn acquire_permits(
        &mut self,
        permits: u32,
        timeout: Duration,
    ) -> Result<Grant, AcquireError> {
        self.members = (0..permits).map(|_| self.node.unique()).collect();
        let attempt = async |asked| {
            if self.add().await? < PERMITS {
                let expires = Some(asked + self.node.ttl);
                return Ok(Some(Grant { expires, ..Grant::default() }));
            }
            self.take_out().await?;
            Ok(None)
        };
        self.node.retry(timeout, BACK_OFF, attempt).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        released(self.take_out().await, Removed::Own)
    }
}
