//! `redis-getset`: the value is an expiry time, an expired lock is recovered with `GETSET`
//! (seed 003, the pseudo-code).
//!
//! All clocks are the clients' own, in whole seconds as printed, so that a lock lives for its ttl
//! and one to two seconds more.

use base::{
    AcquireError, Grant, Link, LocalFuture, Lock, Mode, Mono, Promises, ReleaseError, Removed,
};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::redis_node::{CallResult, RedisNode, command, released};
use super::redis_set_nx_px::{PAUSE, WIPE};
use super::{BELOW_TTL, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-getset",
    summary: "SETNX of an expiry time; an expired lock is recovered with GETSET",
    promises: Promises { recovers: Some(4), ..Promises::MUTEX },
    known: &[
        ("pause", "double hold", PAUSE),
        ("pause", "stale write accepted", PAUSE),
        ("pause", "lost update", PAUSE),
        ("pause", "foreign release", OUTLIVED),
        ("partition", "double hold", LATE),
        ("partition", "stale write accepted", LATE),
        ("partition", "lost update", LATE),
        ("partition", "foreign release", OUTLIVED),
        ("crash-server-lose-data", "foreign release", OUTLIVED),
        ("crash-server-lose-data", "double hold", WIPE),
        ("crash-server-lose-data", "stale write accepted", WIPE),
        ("crash-server-lose-data", "lost update", WIPE),
        ("clock", "double hold", CLOCK),
        ("clock", "stale write accepted", CLOCK),
        ("clock", "lost update", CLOCK),
        ("clock", "foreign release", CLOCK),
        ("crash-server-lose-second", "foreign release", OUTLIVED),
        ("crash-server-lose-second", "double hold", WIPE),
        ("crash-server-lose-second", "stale write accepted", WIPE),
        ("crash-server-lose-second", "lost update", WIPE),
    ],
    longest_hold: BELOW_TTL,
    open: Open::Redis(open),
};

const LATE: &str = "H15: a GETSET that was held on its way writes the expiry of its old try over the \
     holder's, whose live lock then looks expired";
const OUTLIVED: &str = "H16: an old owner frees the lock while now < GET, which is true of the new \
     owner's time as well";

pub const CLOCK: &str = "H14: a client whose clock is ahead takes a live lock for one that has \
     passed, and one whose clock is behind writes a time that has passed for others";

fn open(link: Rc<dyn Link<Redis>>, settings: Settings) -> Box<dyn Lock> {
    Box::new(GetSet(RedisNode::new(link, settings)))
}

struct GetSet(RedisNode);

impl GetSet {
    /// The client's wall clock, in whole seconds.
    fn now(&self) -> u64 {
        self.0.link.now().millis() / 1_000
    }

    fn timeout(&self) -> u64 {
        self.0.ttl.as_millis().div_ceil(1_000) as u64
    }

    /// `SETNX`; or, when the time that stands there has passed, `GETSET` and look what stood there.
    async fn attempt(&self, asked: Mono) -> CallResult<Option<Grant>> {
        let node = &self.0;
        let expiry = self.now() + self.timeout() + 1;
        let mut setnx = command("SETNX");
        setnx.arg(&node.key).arg(expiry);
        let mut get = command("GET");
        get.arg(&node.key);
        let mut getset = command("GETSET");
        getset.arg(&node.key).arg(expiry);

        let granted = node.call::<bool>(setnx).await?
            || (self.passed(node.call(get).await?) && self.passed(node.call(getset).await?));
        let expires = Some(asked + node.ttl);
        Ok(granted.then_some(Grant { expires, ..Grant::default() }))
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
        let mut del = command("DEL");
        del.arg(&self.0.key);
        self.0.call(del).await
    }
}

impl Lock for GetSet {
    fn acquire(
        &mut self,
        _mode: Mode,
        patience: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let pause = Duration::from_millis(5)..Duration::from_millis(15);
        Box::pin(self.0.retry(patience, pause, |asked| self.attempt(asked)))
    }

    fn release(&mut self, _grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        Box::pin(async move { released(self.free().await, Removed::Any) })
    }
}
