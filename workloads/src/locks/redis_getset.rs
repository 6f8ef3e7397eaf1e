//! `redis-getset`: the value is an expiry time, an expired lock is recovered with `GETSET`
//! (seed 003, the pseudo-code).
//!
//! All clocks are the clients' own, in whole seconds as printed, so that a lock lives for its ttl
//! and one to two seconds more.

use base::{
    AcquireError, Cause, Grant, Link, Lock, Mode, Mono, Pace, Promises, Recipe, ReleaseError,
    Removed,
};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{
    FOREIGN_RELEASE, LONG_HOLD, OVERLAP, PAUSED, PROMOTED, STUCK, WIPED, WRITE_DELAYED, breaks,
};
use super::redis_node::{CallResult, RedisNode, SECOND, command, polling, released};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-getset",
    summary: "SETNX of an expiry time; an expired lock is recovered with GETSET",
    promises: Promises {
        recovers: Some(1),
        pace: Pace { grain_ns: SECOND, grains_more: 2, ..polling(OFTEN, 3) },
        ..Promises::MUTEX
    },
    breaks: &[&[
        PAUSED,
        LONG_HOLD,
        PROMOTED,
        WIPED,
        WRITE_DELAYED,
        breaks(
            &[Cause::HolderPaused, Cause::LongHold, Cause::ServerForgets, Cause::ForeignRelease],
            FOREIGN_RELEASE,
            OUTLIVED,
        ),
        breaks(&[Cause::LateRequest], OVERLAP, LATE),
        breaks(&[Cause::LateRequest], FOREIGN_RELEASE, LATE_DEL),
        breaks(&[Cause::ForeignRelease], OVERLAP, OUTLIVED),
        breaks(&[Cause::ClientClock], OVERLAP, CLOCK),
        breaks(&[Cause::ClientClock], FOREIGN_RELEASE, CLOCK),
        breaks(&[Cause::ClientClock], STUCK, AHEAD),
    ]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

/// The pause of a client before it asks again.
pub const OFTEN: Range<Duration> = Duration::from_millis(5)..Duration::from_millis(15);

pub const LATE: &str = "H15: a GETSET that was held on its way writes the expiry of its old try over the \
     holder's, whose live lock then looks expired";
const LATE_DEL: &str = "H16: a DEL that was held on its way arrives when the lock is another's, and frees it: \
     it does not compare the owner";

const OUTLIVED: &str = "H16: an old owner frees the lock while now < GET, which is true of the new \
     owner's time as well";

pub const AHEAD: &str = "H15: the time that stands in the lock was written by a client whose clock was ahead, and \
     keeps everybody out until then";
pub const CLOCK: &str = "H14: a client whose clock is ahead takes a live lock for one that has \
     passed, and one whose clock is behind writes a time that has passed for others";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(GetSet(RedisNode::new(link, settings)))
}

struct GetSet(RedisNode);

impl GetSet {
    /// The client's wall clock, in whole seconds.
    fn now(&self) -> u64 {
        self.0.link.world().now().millis() / 1_000
    }

    fn timeout(&self) -> u64 {
        self.0.ttl.as_millis().div_ceil(1_000) as u64
    }

    /// Tries `SETNX`; if the time that stands there has passed, tries `GETSET` and checks the old
    /// value.
    async fn attempt(&self, asked: Mono) -> CallResult<Option<Grant>> {
        let node = &self.0;
        let expiry = self.now() + self.timeout() + 1;
        let mut get = command("GET");
        get.arg(&node.key);
        let mut getset = command("GETSET");
        getset.arg(&node.key).arg(expiry);

        let recovered = !node.setnx(expiry).await?;
        let granted = !recovered
            || (self.passed(node.call(get).await?) && self.passed(node.call(getset).await?));
        let expires = Some(asked + node.ttl);
        Ok(granted.then_some(Grant { expires, recovered, ..Grant::default() }))
    }

    /// `now() > value`; a key that is gone counts as time 0, as in the language of the seed.
    fn passed(&self, value: Option<u64>) -> bool {
        self.now() > value.unwrap_or(0)
    }

    async fn free(&self) -> CallResult<u64> {
        let mut get = command("GET");
        get.arg(&self.0.key);
        let expiry: Option<u64> = self.0.call(get).await?;
        if self.now() >= expiry.unwrap_or(0) {
            return Ok(0);
        }
        self.0.delete().await
    }
}

impl Recipe for GetSet {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.0.retry(timeout, OFTEN, |asked| self.attempt(asked)).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        released(self.free().await, Removed::Any)
    }
}
