//! `redis-timestamp-del`: the value is an expiry time; whoever sees that it has passed does `DEL`,
//! then `SETNX` (seed 003, the list of C0, C1 and C2).
//!
//! Two clients see the same passed time; the second one's `DEL` removes the lock that the first one
//! has just taken (H17). All clocks are the clients' own, in whole seconds, as in its sibling
//! `redis-getset`. The bare `DEL` of a release frees whoever holds the lock by then.

use base::{
    AcquireError, Cause, Grant, Link, Lock, Mode, Mono, Pace, Promises, Recipe, ReleaseError,
    Removed,
};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{
    FOREIGN_RELEASE, LONG_HOLD, OVERLAP, PAUSED, PROMOTED, STUCK, WIPED, WRITE_DELAYED, breaks,
};
use super::redis_getset::{AHEAD, CLOCK, OFTEN};
use super::redis_node::{CallResult, RedisNode, SECOND, command, polling};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-timestamp-del",
    summary: "SETNX of an expiry time; an expired lock is recovered with DEL, then SETNX",
    promises: Promises {
        recovers: Some(1),
        pace: Pace { grain_ns: SECOND, grains_more: 2, ..polling(OFTEN, 4) },
        ..Promises::MUTEX
    },
    breaks: &[&[
        PAUSED,
        LONG_HOLD,
        PROMOTED,
        WIPED,
        WRITE_DELAYED,
        breaks(&[Cause::Recovery], OVERLAP, RECOVERERS),
        breaks(
            &[
                Cause::HolderPaused,
                Cause::LongHold,
                Cause::Recovery,
                Cause::ServerForgets,
                Cause::ForeignRelease,
                Cause::LateRequest,
            ],
            FOREIGN_RELEASE,
            BARE,
        ),
        breaks(&[Cause::ForeignRelease, Cause::LateRequest], OVERLAP, BARE),
        breaks(&[Cause::ClientClock], OVERLAP, CLOCK),
        breaks(&[Cause::ClientClock], FOREIGN_RELEASE, CLOCK),
        breaks(&[Cause::ClientClock], STUCK, AHEAD),
    ]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

const RECOVERERS: &str = "H17: two clients see the same lock expired, and the DEL of the second \
     removes the fresh lock of the first";

const BARE: &str = "the DEL of a release, or of a recoverer, does not look whose lock it \
     removes";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(TimestampDel(RedisNode::new(link, settings)))
}

struct TimestampDel(RedisNode);

impl TimestampDel {
    /// The client's wall clock, in whole seconds.
    fn now(&self) -> u64 {
        self.0.link.world().now().millis() / 1_000
    }

    /// `SETNX`; or, when the time that stands there has passed, `DEL` and `SETNX` again.
    async fn attempt(&self, asked: Mono) -> CallResult<Option<Grant>> {
        let recovered = !self.setnx().await?;
        let granted = !recovered || (self.expired().await? && self.delete_and_setnx().await?);
        let expires = Some(asked + self.0.ttl);
        Ok(granted.then_some(Grant { expires, recovered, ..Grant::default() }))
    }

    async fn setnx(&self) -> CallResult<bool> {
        let timeout = self.0.ttl.as_millis().div_ceil(1_000) as u64;
        self.0.setnx(self.now() + timeout + 1).await
    }

    /// A key that is gone is nobody's to delete: the next try takes it.
    async fn expired(&self) -> CallResult<bool> {
        let mut get = command("GET");
        get.arg(&self.0.key);
        let expiry: Option<u64> = self.0.call(get).await?;
        Ok(expiry.is_some_and(|expiry| self.now() > expiry))
    }

    async fn delete_and_setnx(&self) -> CallResult<bool> {
        self.0.delete().await?;
        self.setnx().await
    }
}

impl Recipe for TimestampDel {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.0.retry(timeout, OFTEN, |asked| self.attempt(asked)).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.0.free_any().await
    }
}
