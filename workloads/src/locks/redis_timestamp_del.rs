//! `redis-timestamp-del`: the value is an expiry time; whoever sees that it has passed does `DEL`,
//! then `SETNX` (seed 003, the list of C0, C1 and C2).
//!
//! Two clients see the same passed time; the second one's `DEL` removes the lock that the first one
//! has just taken (H17). All clocks are the clients' own, in whole seconds, as in its sibling
//! `redis-getset`. The bare `DEL` of a release frees whoever holds the lock by then.

use base::{
    AcquireError, Grant, Link, LocalFuture, Lock, Mode, Mono, Promises, ReleaseError, Removed,
};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::redis_getset::CLOCK;
use super::redis_node::{CallResult, RedisNode, command, released};
use super::redis_set_nx_px::{PAUSE, WIPE};
use super::{BELOW_TTL, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-timestamp-del",
    summary: "SETNX of an expiry time; an expired lock is recovered with DEL, then SETNX",
    promises: Promises { recovers: Some(4), ..Promises::MUTEX },
    known: &[
        ("crash", "double hold", RECOVERERS),
        ("crash", "stale write accepted", RECOVERERS),
        ("crash", "lost update", RECOVERERS),
        ("partition", "double hold", RECOVERERS),
        ("partition", "stale write accepted", RECOVERERS),
        ("partition", "lost update", RECOVERERS),
        ("pause", "double hold", PAUSE),
        ("pause", "stale write accepted", PAUSE),
        ("pause", "lost update", PAUSE),
        ("crash-server-lose-data", "double hold", WIPE),
        ("crash-server-lose-data", "stale write accepted", WIPE),
        ("crash-server-lose-data", "lost update", WIPE),
        ("crash", "foreign release", BARE),
        ("crash-server-lose-data", "foreign release", BARE),
        ("partition", "foreign release", BARE),
        ("pause", "foreign release", BARE),
        ("clock", "double hold", CLOCK),
        ("clock", "stale write accepted", CLOCK),
        ("clock", "lost update", CLOCK),
        ("clock", "foreign release", CLOCK),
        ("link", "double hold", RECOVERERS),
        ("link", "stale write accepted", RECOVERERS),
        ("link", "lost update", RECOVERERS),
        ("link", "foreign release", BARE),
        ("crash-server-lose-second", "double hold", WIPE),
        ("crash-server-lose-second", "stale write accepted", WIPE),
        ("crash-server-lose-second", "lost update", WIPE),
        ("crash-server-lose-second", "foreign release", BARE),
    ],
    longest_hold: BELOW_TTL,
    open: Open::Redis(open),
};

const RECOVERERS: &str = "H17: two clients see the same lock expired, and the DEL of the second \
     removes the fresh lock of the first";

const BARE: &str = "the DEL of a release, or of a recoverer, does not look whose lock it \
     removes";

fn open(link: Rc<dyn Link<Redis>>, settings: Settings) -> Box<dyn Lock> {
    Box::new(TimestampDel(RedisNode::new(link, settings)))
}

struct TimestampDel(RedisNode);

impl TimestampDel {
    /// The client's wall clock, in whole seconds.
    fn now(&self) -> u64 {
        self.0.link.now().millis() / 1_000
    }

    /// `SETNX`; or, when the time that stands there has passed, `DEL` and `SETNX` again.
    async fn attempt(&self, asked: Mono) -> CallResult<Option<Grant>> {
        let granted =
            self.setnx().await? || (self.expired().await? && self.delete_and_setnx().await?);
        let expires = Some(asked + self.0.ttl);
        Ok(granted.then_some(Grant { expires, ..Grant::default() }))
    }

    async fn setnx(&self) -> CallResult<bool> {
        let timeout = self.0.ttl.as_millis().div_ceil(1_000) as u64;
        let mut setnx = command("SETNX");
        setnx.arg(&self.0.key).arg(self.now() + timeout + 1);
        self.0.call(setnx).await
    }

    /// A key that is gone is nobody's to delete: the next try takes it.
    async fn expired(&self) -> CallResult<bool> {
        let mut get = command("GET");
        get.arg(&self.0.key);
        let expiry: Option<u64> = self.0.call(get).await?;
        Ok(expiry.is_some_and(|expiry| self.now() > expiry))
    }

    async fn delete_and_setnx(&self) -> CallResult<bool> {
        self.delete().await?;
        self.setnx().await
    }

    async fn delete(&self) -> CallResult<u64> {
        let mut del = command("DEL");
        del.arg(&self.0.key);
        self.0.call(del).await
    }
}

impl Lock for TimestampDel {
    fn acquire(
        &mut self,
        _mode: Mode,
        patience: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let pause = Duration::from_millis(5)..Duration::from_millis(15);
        Box::pin(self.0.retry(patience, pause, |asked| self.attempt(asked)))
    }

    fn release(&mut self, _grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        Box::pin(async move { released(self.delete().await, Removed::Any) })
    }
}
