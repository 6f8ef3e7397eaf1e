//! `redis-redisson`: the lock of Redisson (`RLock`), a hash with its owner and a count of holds.
//!
//! A script creates the hash or, if its only field is the owner's, adds one to the count, and sets
//! the time to live anew; the release takes one off and deletes the hash at zero. So the store
//! itself knows its holder, who may take the lock again. A watchdog renews it every third of a ttl.
//!
//! The watchdog does not report that it failed (redisson/redisson#4698): a holder that is cut off,
//! or whose server is down, for longer than a ttl works on beside the next one (H24). The sibling
//! `redis-set-nx-px-renew` stops in time.
//!
//! The owner is a thread, under one name as long as its process lives. So a hold whose release did
//! not come through counts with the next one, which the owner then frees once too seldom: the lock
//! stays taken until its ttl is over.
//!
//! Redisson wakes its waiters by a message that each release publishes; here they ask again after a
//! pause, as Redisson does when the message is lost.

use base::{
    AcquireError, Cause, Grant, Link, LocalFuture, Lock, Mode, Promises, Recipe, ReleaseError,
    Removed,
};
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{OVERLAP, TTL, breaks};
use super::redis_node::{BACK_OFF, CallResult, EXPIRING, RedisNode, command, released};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-redisson",
    summary: "a hash that counts its owner's holds, renewed by a watchdog that tells nobody (Redisson)",
    promises: Promises { reentrant: true, tells: true, ..EXPIRING },
    breaks: &[
        &[
            breaks(
                &[Cause::HolderCutOff, Cause::ServersApart, Cause::ServerSilent],
                OVERLAP,
                SILENT,
            ),
            breaks(&[Cause::ClientClock], OVERLAP, FROZEN),
            breaks(
                &[Cause::ReplyLost, Cause::ReleaseLost, Cause::Recipe],
                &["phantom holder"],
                COUNTED,
            ),
        ],
        TTL,
    ],
    longest_hold: BEYOND_SESSION,
    open: &On::<Redis>::one(open),
};

const SILENT: &str = "H24: the watchdog does not reach the server for longer than a ttl, the lock runs out, \
     and nothing tells its holder";
const COUNTED: &str = "a release that found no connection leaves its hold in the store, under a name that its \
     owner keeps: until the ttl is over the owner has what it was refused, and its next hold counts twice";
const FROZEN: &str =
    "the watchdog of a client whose clock stands still, or is slow, renews too late";

/// Takes the lock or takes it once more, if it is free or already the caller's.
const TAKE: &str = "\
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return 1 else return 0 end";

/// Frees the lock once, if it is the caller's: returns 1 if that was its last hold, and else 2.
const FREE: &str = "\
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then return redis.call('del', KEYS[1]) end
redis.call('pexpire', KEYS[1], ARGV[2])
return 2";

/// Begins the time to live of the lock anew if it is the caller's.
const RENEW: &str = "\
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";

/// The renewals in a ttl.
const RENEWALS: u32 = 3;

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    let node = RedisNode::new(link, settings);
    let owner = node.unique();
    let owned = Rc::new(Owned { node, owner });
    Box::new(Redisson { owned, holds: 0, watchdog: RefCell::new(Box::pin(pending())) })
}

struct Redisson {
    owned: Rc<Owned>,
    /// The number of times that its owner holds it, for all that the owner knows.
    holds: u32,
    /// The watchdog of the grant, which reports nothing. It is kept here and not made for each
    /// call of `lost`, because a renewal goes on while its client does something else.
    watchdog: RefCell<LocalFuture<'static, String>>,
}

/// The lock with the name by which the store knows its owner.
struct Owned {
    node: RedisNode,
    owner: String,
}

impl Owned {
    /// Runs one of the scripts in the name of the owner.
    async fn run(&self, script: &str) -> CallResult<u64> {
        let mut eval = command("EVAL");
        eval.arg(script).arg(1).arg(&self.node.key);
        eval.arg(&self.owner).arg(self.node.ttl_millis());
        self.node.call(eval).await
    }

    /// Renews the lock for as long as it is the owner's.
    async fn watch(self: Rc<Self>) -> String {
        loop {
            self.node.link.world().sleep(self.node.ttl / RENEWALS).await;
            if let Ok(0) = self.run(RENEW).await {
                return pending().await;
            }
        }
    }
}

impl Recipe for Redisson {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let Owned { node, .. } = &*self.owned;
        let take = async |_| Ok((self.owned.run(TAKE).await? == 1).then(Grant::default));
        let grant = node.retry(timeout, BACK_OFF, take).await?;
        self.holds += 1;
        *self.watchdog.get_mut() = Box::pin(self.owned.clone().watch());
        Ok(grant)
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.holds -= 1;
        if self.holds == 0 {
            *self.watchdog.get_mut() = Box::pin(pending());
        }
        match self.owned.run(FREE).await {
            Ok(2) => Ok(Removed::Kept),
            freed => released(freed, Removed::Own),
        }
    }

    async fn held(&self) -> Option<bool> {
        let mut hexists = command("HEXISTS");
        hexists.arg(&self.owned.node.key).arg(&self.owned.owner);
        self.owned.node.call(hexists).await.ok()
    }

    async fn lost(&self) -> String {
        poll_fn(|cx| self.watchdog.borrow_mut().as_mut().poll(cx)).await
    }
}
