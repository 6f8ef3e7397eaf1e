//! `redis-blpop`: `SET key id NX PX ttl`, whose waiters wait for a signal in a list with `BLPOP`, as
//! python-redis-lock does.
//!
//! The release compares, deletes and leaves one signal in one script, so the next waiter asks
//! again at once, and the server serves waiters in the order in which they came to wait. The signal
//! is a hint and no lock: whoever misses it, or takes it and dies, has the others wait until their
//! own `BLPOP` is over, and the key runs out by time in any case. What breaks `redis-set-nx-px`
//! breaks this.
//!
//! A waiter blocks its connection. python-redis-lock takes one of a pool for that, and waits for as
//! long as its acquire may take, or for a ttl; here all workers of a client share a connection, and
//! a wait is short, so that the release of another worker does not wait for long behind it.

use base::{AcquireError, Grant, Link, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use redis::Value;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::TTL;
use super::redis_node::{CallResult, EXPIRING, RedisNode, command, polling, released};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-blpop",
    summary: "SET NX PX, whose waiters wait in BLPOP for the signal of a release (python-redis-lock)",
    promises: Promises { pace: polling(Duration::ZERO..LONGEST_WAIT, 2), ..EXPIRING },
    breaks: &[TTL],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

/// The longest wait for a signal.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Frees the lock and leaves one signal, if the lock is still the caller's.
const FREE: &str = "\
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[2])
redis.call('lpush', KEYS[2], 1)
redis.call('pexpire', KEYS[2], ARGV[2])
return redis.call('del', KEYS[1])";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    let node = RedisNode::new(link, settings);
    // In braces the name of the lock decides the slot, so that one script may have both keys.
    let signal = format!("{{{}}}:signal", node.key);
    Box::new(SignalledLock { node, signal, id: String::new() })
}

struct SignalledLock {
    node: RedisNode,
    /// The key of the list with the signal.
    signal: String,
    /// The value of the last try, which nobody else has.
    id: String,
}

impl SignalledLock {
    /// Takes the lock if it is free. Returns true if it was.
    async fn take(&self) -> CallResult<bool> {
        let taken: Value = self.node.call(self.node.set_nx_px_command(&self.id)).await?;
        Ok(taken == Value::Okay)
    }

    /// Waits for a signal, for a while.
    async fn wait(&self) {
        let mut blpop = command("BLPOP");
        blpop.arg(&self.signal).arg(LONGEST_WAIT.as_secs_f64());
        // Whatever comes of it, the lock is to be asked for again.
        let _: CallResult<Value> = self.node.call(blpop).await;
    }
}

impl Recipe for SignalledLock {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.id = self.node.unique();
        let until = self.node.link.world().monotonic() + timeout;
        let take = async |asked| {
            if self.take().await? {
                return Ok(Some(Grant {
                    expires: Some(asked + self.node.ttl),
                    ..Grant::default()
                }));
            }
            if self.node.link.world().monotonic() < until {
                self.wait().await;
            }
            Ok(None)
        };
        self.node.retry(timeout, Duration::ZERO..Duration::ZERO, take).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let mut eval = command("EVAL");
        eval.arg(FREE).arg(2).arg(&self.node.key).arg(&self.signal);
        eval.arg(&self.id).arg(self.node.ttl_millis());
        released(self.node.call(eval).await, Removed::Own)
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.id).await
    }
}
