//! `redis-set-nx-px-fenced`: the reference lock with a fencing token (beyond the seeds).
//!
//! The script that takes the lock also draws the token from a counter, so that both happen or
//! neither. The vault refuses what comes with an older token. The counter dies with the data of
//! its server: after that the tokens start again, and fence nothing.

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{AHEAD, PROMOTED, WIPED, breaks, why};
use super::redis_node::{BACK_OFF, EXPIRING, RedisNode, command};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-fenced",
    summary: "SET NX PX and a fencing token from a counter, taken in one script",
    promises: Promises { fenced: true, ..EXPIRING },
    breaks: &[&[
        PROMOTED,
        WIPED,
        AHEAD,
        breaks(&[Cause::HolderPaused], &["double hold"], why::PAUSED),
        breaks(&[Cause::ClientClock], &["double hold"], why::STOOD_STILL),
        breaks(&[Cause::LongHold], &["double hold"], why::LONG_HOLD),
        breaks(&[Cause::ServerForgets], &["token went back", "token given twice"], COUNTER),
        breaks(&[Cause::ServerClock], &["double hold"], why::SERVER_CLOCK),
    ]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

const COUNTER: &str = "the counter died with the data of its server, and the tokens start again";

/// KEYS: the lock, the counter. ARGV: the owner's value, the ttl in milliseconds.
const TAKE: &str = "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then \
     return redis.call('incr', KEYS[2]) else return 0 end";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(Fenced { node: RedisNode::new(link, settings), value: String::new() })
}

struct Fenced {
    node: RedisNode,
    /// The value of the last try, which is the owner's.
    value: String,
}

impl Recipe for Fenced {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.value = self.node.unique();
        let (node, value) = (&self.node, &self.value);
        node.retry(timeout, BACK_OFF, async |asked| {
            let mut take = command("EVAL");
            // In a Redis Cluster the braces put the counter beside the lock.
            take.arg(TAKE).arg(2).arg(&node.key).arg(format!("{{{}}}:token", node.key));
            take.arg(value).arg(node.ttl_millis());
            let token: u64 = node.call(take).await?;
            let expires = Some(asked + node.ttl);
            Ok((token > 0).then_some(Grant { token: Some(token), expires, ..Grant::default() }))
        })
        .await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.node.compare_and_delete(&self.value).await
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.value).await
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_script_that_takes_it_is_known_to_the_model() {
        assert!(stores::redis::script::is_harmless(super::TAKE));
    }
}
