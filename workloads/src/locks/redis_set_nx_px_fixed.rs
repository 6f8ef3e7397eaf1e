//! `redis-set-nx-px-fixed`: the reference lock with one value for everybody (seed 000, lines 20 to
//! 26, where it says why the value has to be unique).
//!
//! The script that frees it compares and deletes in one step, and compares nothing: an owner that
//! outlived its ttl finds "its" value, and frees another's lock (H3).

use base::{AcquireError, Grant, Link, Lock, Mode, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{TTL, frees_anybody};
use super::redis_node::{EXPIRING, RedisNode, released};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-fixed",
    summary: "SET NX PX with the same value for everybody, freed by compare-and-delete",
    promises: EXPIRING,
    breaks: &[TTL, &frees_anybody(SAME)],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

/// The value that all clients write.
const VALUE: &str = "locked";

const SAME: &str = "H3: everybody's value is the same, so that the comparison lets an owner whose lock \
     ran out free the next one's; the value must be unique";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(Fixed(RedisNode::new(link, settings)))
}

struct Fixed(RedisNode);

impl Recipe for Fixed {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.0.set_nx_px(VALUE, timeout).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let node = &self.0;
        let deleted = node.call(node.compare_and_delete_command(VALUE));
        released(deleted.await, Removed::Any)
    }
}
