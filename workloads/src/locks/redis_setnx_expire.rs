//! `redis-setnx-expire`: `SETNX`, then `EXPIRE` as a second command; `DEL` frees (seeds 000, 002).
//!
//! A client that dies between the two commands leaves a key without an expiry, and nobody gets in
//! again (H2). The bare `DEL` frees whoever holds the lock by then.

use base::{AcquireError, Grant, Link, LocalFuture, Lock, Mode, Promises, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::redis_node::{BACK_OFF, RedisNode, command, released};
use super::redis_set_nx_px::{CLOCK, PAUSE, WIPE};
use super::{BELOW_TTL, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-setnx-expire",
    summary: "SETNX, then EXPIRE as a second command; freed by DEL",
    // EXPIRE takes whole seconds, so that a ttl of 0.3 s becomes one of 1 s.
    promises: Promises { recovers: Some(2), ..Promises::MUTEX },
    known: &[
        ("crash", "deadlock", DEADLOCK),
        ("partition", "deadlock", GIVEN_UP),
        ("pause", "deadlock", GIVEN_UP),
        ("crash", "orphan", DEADLOCK),
        ("partition", "orphan", GIVEN_UP),
        ("pause", "orphan", GIVEN_UP),
        ("pause", "foreign release", BARE_DEL),
        ("partition", "foreign release", LATE_DEL),
        ("crash-server-lose-data", "foreign release", BARE_DEL),
        ("partition", "double hold", LATE_DEL),
        ("partition", "stale write accepted", LATE_DEL),
        ("partition", "lost update", LATE_DEL),
        ("pause", "double hold", PAUSE),
        ("pause", "stale write accepted", PAUSE),
        ("pause", "lost update", PAUSE),
        ("crash-server-lose-data", "double hold", WIPE),
        ("crash-server-lose-data", "stale write accepted", WIPE),
        ("crash-server-lose-data", "lost update", WIPE),
        ("clock", "double hold", CLOCK),
        ("clock", "stale write accepted", CLOCK),
        ("clock", "lost update", CLOCK),
        ("clock", "foreign release", CLOCK),
        ("clock", "failed release", CLOCK),
        ("link", "deadlock", GIVEN_UP),
        ("link", "orphan", GIVEN_UP),
        ("crash-server-lose-second", "foreign release", BARE_DEL),
        ("crash-server-lose-second", "double hold", WIPE),
        ("crash-server-lose-second", "stale write accepted", WIPE),
        ("crash-server-lose-second", "lost update", WIPE),
    ],
    longest_hold: BELOW_TTL,
    open: Open::Redis(open),
};

const DEADLOCK: &str = "H2: a client killed between SETNX and EXPIRE leaves a key that never \
     expires; take the lock with one command, SET NX PX";

const GIVEN_UP: &str = "H2: a client that gets no reply to its SETNX gives up, and the key that it \
     set after all never expires";
const LATE_DEL: &str = "a DEL that was held up arrives when the lock is another's, and frees it: it \
     does not compare the owner";

const BARE_DEL: &str = "H4: a bare DEL frees whoever holds the lock by then; compare the owner \
     and delete in one script";

fn open(link: Rc<dyn Link<Redis>>, settings: Settings) -> Box<dyn Lock> {
    Box::new(SetnxExpire(RedisNode::new(link, settings)))
}

struct SetnxExpire(RedisNode);

impl Lock for SetnxExpire {
    fn acquire(
        &mut self,
        _mode: Mode,
        patience: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        let node = &self.0;
        let seconds = node.ttl.as_millis().div_ceil(1_000) as u64;
        Box::pin(node.retry(patience, BACK_OFF, async move |asked| {
            let mut setnx = command("SETNX");
            setnx.arg(&node.key).arg(1);
            if !node.call::<bool>(setnx).await? {
                return Ok(None);
            }
            let mut expire = command("EXPIRE");
            expire.arg(&node.key).arg(seconds);
            node.call::<bool>(expire).await?;
            let expires = Some(asked + Duration::from_secs(seconds));
            Ok(Some(Grant { expires, ..Grant::default() }))
        }))
    }

    fn release(&mut self, _grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        Box::pin(async move {
            let mut del = command("DEL");
            del.arg(&self.0.key);
            released(self.0.call(del).await, Removed::Any)
        })
    }
}
