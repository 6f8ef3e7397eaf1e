//! `memcached-add`: `add key value exptime` takes the lock, `delete` frees it (seeds 002, 003).
//!
//! `add` stores a value only if there is none, in one step. The value says who the owner is, but
//! `delete` does not look at it: an owner that outlived its time frees whoever holds the lock by
//! then (H39). memcached keeps everything in memory: a server that is started again has forgotten
//! who holds the lock, and one whose memory is full evicts it (H18).
//!
//! memcached counts whole seconds on its own ticks: a value with `exptime` n is gone after n - 1 to
//! n seconds. So the lock asks for a second more than its ttl.

use base::{
    AcquireError, Answer, CallError, Cause, Grant, Link, Lock, Mode, Pace, Promises, Recipe,
    ReleaseError, Removed,
};
use std::rc::Rc;
use std::time::Duration;
use stores::memcached::{Memcached, Refusal, Reply, Request, added, deleted};

use super::known::{EVICTED, FOREIGN_RELEASE, TTL, breaks, frees_anybody};
use super::redis_node::{BACK_OFF, SECOND, polling};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "memcached-add",
    summary: "memcached add with an exptime, freed by delete",
    promises: PROMISES,
    breaks: &[
        TTL,
        &frees_anybody(BARE_DELETE),
        &[EVICTED, breaks(&[Cause::Evicted], FOREIGN_RELEASE, BARE_DELETE)],
    ],
    longest_hold: BELOW_TTL,
    open: &On::<Memcached>::one(open),
};

const BARE_DELETE: &str = "H39: delete does not compare the owner, and frees whoever holds the lock \
     by then; compare the value first, with gets and cas";

/// The promises of a lock that runs out by memcached's ticks.
pub const PROMISES: Promises = Promises {
    recovers: Some(1),
    pace: Pace { grain_ns: SECOND, grains_more: 1, ..polling(BACK_OFF, 1) },
    ..Promises::MUTEX
};

fn open(link: Rc<dyn Link<Memcached>>, settings: LockSettings) -> Box<dyn Lock> {
    let key = format!("lock:{}", settings.key);
    Box::new(Add { node: MemcachedNode { link, ttl: settings.ttl }, key, value: String::new() })
}

struct Add {
    node: MemcachedNode,
    key: String,
    /// The value of the last acquire, which is the owner's.
    value: String,
}

impl Recipe for Add {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.value = self.node.unique();
        self.node.add(&self.key, &self.value, timeout).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.node.delete(&self.key).await
    }

    async fn held(&self) -> Option<bool> {
        match self.node.call(Request::Get { key: self.key.clone() }).await {
            Ok(Reply::Value(value)) => Some(value.as_ref() == Some(&self.value)),
            _ => None,
        }
    }
}

/// The common part of the recipes on one memcached server.
pub struct MemcachedNode {
    pub link: Rc<dyn Link<Memcached>>,
    pub ttl: Duration,
}

impl MemcachedNode {
    pub async fn call(&self, request: Request) -> Answer<Memcached> {
        self.link.call(0, request).await
    }

    /// A value that no other acquire uses.
    pub fn unique(&self) -> String {
        format!("{:016x}{:016x}", self.link.world().random(), self.link.world().random())
    }

    /// Adds a key, again and again until it is added, in doubt, or the time is up.
    pub async fn add(
        &self,
        key: &str,
        value: &str,
        timeout: Duration,
    ) -> Result<Grant, AcquireError> {
        let until = self.link.world().monotonic() + timeout;
        // A value is gone up to a second before its time.
        let life = Duration::from_secs(self.ttl.as_nanos().div_ceil(u128::from(SECOND)) as u64);
        let exptime = life.as_secs() as i64 + 1;
        loop {
            let asked = self.link.world().monotonic();
            let add = Request::Add { key: key.into(), value: value.into(), exptime };
            if added(self.call(add).await.map_err(no_grant)?).map_err(no_grant)? {
                let expires = Some(asked + life);
                return Ok(Grant { asked: Some(asked), expires, ..Grant::default() });
            }
            if self.link.world().monotonic() >= until {
                return Err(AcquireError::Failed("held by others".into()));
            }
            let span = (BACK_OFF.end - BACK_OFF.start).as_nanos() as u64;
            let jitter = Duration::from_nanos(self.link.world().random() % span);
            self.link.world().sleep(BACK_OFF.start + jitter).await;
        }
    }

    /// Deletes a key, whosever it is.
    pub async fn delete(&self, key: &str) -> Result<Removed, ReleaseError> {
        let reply = self.call(Request::Delete { key: key.into() }).await;
        match reply.and_then(deleted) {
            Ok(true) => Ok(Removed::Any),
            Ok(false) => Err(ReleaseError::NotHeld("there was nothing to delete".into())),
            Err(CallError::Refused(refusal)) => Err(ReleaseError::NotHeld(refusal.0)),
            Err(CallError::Unknown(error)) => Err(ReleaseError::Unknown(error)),
        }
    }
}

fn no_grant(error: CallError<Refusal>) -> AcquireError {
    match error {
        CallError::Refused(refusal) => AcquireError::Failed(refusal.0),
        CallError::Unknown(error) => AcquireError::Unknown(error),
    }
}
