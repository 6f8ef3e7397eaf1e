//! `redis-set-nx-px-getdel`: the reference lock, freed with two commands: `GET`, a comparison in
//! the client, `DEL` (seed 002, the prose).
//!
//! Between the two commands the lock can run out and become another's, whom the `DEL` then frees
//! (H5). One script that does both closes the gap.

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{FOREIGN_RELEASE, OVERLAP, TTL, breaks};
use super::redis_node::{EXPIRING, RedisNode};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-getdel",
    summary: "SET NX PX with a unique value, freed by GET, a comparison, and DEL",
    promises: EXPIRING,
    breaks: &[
        TTL,
        &[
            breaks(
                &[Cause::RanOutWhileReleasing, Cause::HolderPaused, Cause::ServerClock],
                FOREIGN_RELEASE,
                GAP,
            ),
            breaks(&[Cause::ForeignRelease], OVERLAP, GAP),
            breaks(&[Cause::LateRequest], FOREIGN_RELEASE, LATE),
            breaks(&[Cause::LateRequest], OVERLAP, LATE),
        ],
    ],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

const GAP: &str = "H5: the lock runs out between GET and DEL, and the DEL frees another's; compare \
     and delete in one script";

const LATE: &str = "H5: the DEL that follows the GET is held on its way until the lock is another's, and \
     frees it; compare and delete in one script";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(GetDel { node: RedisNode::new(link, settings), value: String::new() })
}

struct GetDel {
    node: RedisNode,
    /// The value of the last try, which is the owner's.
    value: String,
}

impl Recipe for GetDel {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.value = self.node.unique();
        self.node.set_nx_px(&self.value, timeout).await
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.value).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.node.get_then_delete(&self.value).await
    }
}
