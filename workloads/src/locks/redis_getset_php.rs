//! `redis-getset-php`: the PHP class `WapRedisDistributedLock` of seed 003.
//!
//! Like `redis-getset`, with three differences:
//!
//! * `recover()` compares the old times that `GET` and `GETSET` returned, not the old time and now.
//! * The expiry of the owner is a *static* field, set by every try (line 94) and read by the
//!   release (line 122): in a process with two workers, the try of one lets the other free a lock
//!   that has run out and is somebody else's (H40).
//! * A waiter sleeps for exactly 100 ms (line 65).

use base::{
    AcquireError, Cause, Grant, Link, Lock, Mode, Mono, Pace, Promises, Recipe, ReleaseError,
    Removed,
};
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{
    FOREIGN_RELEASE, LONG_HOLD, OVERLAP, PAUSED, PROMOTED, STUCK, WIPED, WRITE_DELAYED, breaks,
};
use super::redis_getset::{AHEAD, CLOCK, LATE};
use super::redis_node::{CallResult, RedisNode, SECOND, command, polling, released};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-getset-php",
    summary: "the PHP class of a blog post: GETSET, and a static field for the owner's expiry",
    promises: Promises {
        recovers: Some(1),
        pace: Pace { grain_ns: SECOND, grains_more: 2, ..polling(SLEEP, 3) },
        ..Promises::MUTEX
    },
    breaks: &[&[
        PAUSED,
        LONG_HOLD,
        PROMOTED,
        WIPED,
        WRITE_DELAYED,
        breaks(
            &[
                Cause::HolderPaused,
                Cause::LongHold,
                Cause::ServerForgets,
                Cause::LateRequest,
                Cause::ForeignRelease,
            ],
            FOREIGN_RELEASE,
            STATIC,
        ),
        breaks(&[Cause::LateRequest], OVERLAP, LATE),
        breaks(&[Cause::ForeignRelease], OVERLAP, STATIC),
        breaks(&[Cause::ClientClock], OVERLAP, CLOCK),
        breaks(&[Cause::ClientClock], FOREIGN_RELEASE, CLOCK),
        breaks(&[Cause::ClientClock], STUCK, AHEAD),
    ]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

const STATIC: &str = "H40: the release looks at the time that its process has written last, in a static \
     field, and not at the lock: it frees another's as long as that time lies ahead";

/// The constant `SLEEP`.
const SLEEP: Range<Duration> = Duration::from_millis(100)..Duration::from_millis(100);

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    let expire = settings.process.get();
    Box::new(GetSetPhp { expire, node: RedisNode::new(link, settings) })
}

struct GetSetPhp {
    node: RedisNode,
    /// The static field `$expire`: the last time that any worker of the process has written, or
    /// tried to, in seconds.
    expire: Rc<Cell<u64>>,
}

impl GetSetPhp {
    /// Stands for `time()`: the client's wall clock, in whole seconds.
    fn time(&self) -> u64 {
        self.node.link.world().now().millis() / 1_000
    }

    /// Stands for the method `timeout`.
    fn timeout(&self) -> u64 {
        self.time() + self.node.ttl.as_millis().div_ceil(1_000) as u64 + 1
    }

    /// Stands for one round of the method `lock`.
    async fn attempt(&self, asked: Mono) -> CallResult<Option<Grant>> {
        let expire = self.timeout();
        self.expire.set(expire);
        let recovered = !self.node.setnx(expire).await?;
        let granted = !recovered || self.recover().await?;
        let expires = Some(asked + self.node.ttl);
        Ok(granted.then_some(Grant { expires, recovered, ..Grant::default() }))
    }

    /// Stands for the method `recover`. A key that is gone is `false` to PHP, which is less than
    /// any time, and equal to itself.
    async fn recover(&self) -> CallResult<bool> {
        let mut get = command("GET");
        get.arg(&self.node.key);
        let found: Option<u64> = self.node.call(get).await?;
        if found.is_some_and(|expire| expire > self.time()) {
            return Ok(false);
        }
        let timeout = self.timeout();
        let mut getset = command("GETSET");
        getset.arg(&self.node.key).arg(timeout);
        let replaced: Option<u64> = self.node.call(getset).await?;
        if replaced != found {
            return Ok(false);
        }
        self.expire.set(timeout);
        Ok(true)
    }

    /// Stands for the method `release`.
    async fn free(&self) -> CallResult<u64> {
        if self.expire.get() <= self.time() {
            return Ok(0);
        }
        self.node.delete().await
    }
}

impl Recipe for GetSetPhp {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.node.retry(timeout, SLEEP, |asked| self.attempt(asked)).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        released(self.free().await, Removed::Any)
    }
}
