//! `redis-set-nx-px-getdel`: the reference lock, freed with two commands: `GET`, a comparison in the
//! client, `DEL` (seed 002, the prose).
//!
//! Between the two commands the lock can run out and become another's, whom the `DEL` then frees
//! (H5). One script that does both closes the gap.

use base::{AcquireError, Grant, Link, LocalFuture, Lock, Mode, Promises, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::redis_node::{CallResult, RedisNode, command, released};
use super::redis_set_nx_px::{CLOCK, PAUSE, WIPE};
use super::{BELOW_TTL, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-getdel",
    summary: "SET NX PX with a unique value, freed by GET, a comparison, and DEL",
    promises: Promises { recovers: Some(1), ..Promises::MUTEX },
    known: &[
        ("pause", "double hold", PAUSE),
        ("pause", "stale write accepted", PAUSE),
        ("pause", "lost update", PAUSE),
        ("partition", "double hold", GAP),
        ("partition", "stale write accepted", GAP),
        ("partition", "lost update", GAP),
        ("crash-server-lose-data", "double hold", WIPE),
        ("crash-server-lose-data", "stale write accepted", WIPE),
        ("crash-server-lose-data", "lost update", WIPE),
        ("partition", "foreign release", GAP),
        ("pause", "foreign release", GAP),
        ("clock", "double hold", CLOCK),
        ("clock", "stale write accepted", CLOCK),
        ("clock", "lost update", CLOCK),
        ("crash-server-lose-second", "double hold", WIPE),
        ("crash-server-lose-second", "stale write accepted", WIPE),
        ("crash-server-lose-second", "lost update", WIPE),
    ],
    longest_hold: BELOW_TTL,
    open: Open::Redis(open),
};

const GAP: &str = "H5: the lock runs out between GET and DEL, and the DEL frees another's; compare \
     and delete in one script";

fn open(link: Rc<dyn Link<Redis>>, settings: Settings) -> Box<dyn Lock> {
    Box::new(GetDel { node: RedisNode::new(link, settings), value: String::new() })
}

struct GetDel {
    node: RedisNode,
    /// The value of the last try, which is the owner's.
    value: String,
}

impl GetDel {
    async fn free(&self) -> CallResult<u64> {
        let mut get = command("GET");
        get.arg(&self.node.key);
        let owner: Option<String> = self.node.call(get).await?;
        if owner.as_deref() != Some(&self.value) {
            return Ok(0);
        }
        let mut del = command("DEL");
        del.arg(&self.node.key);
        self.node.call(del).await
    }
}

impl Lock for GetDel {
    fn acquire(
        &mut self,
        _mode: Mode,
        patience: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        self.value = self.node.unique();
        Box::pin(self.node.set_nx_px(&self.value, patience))
    }

    fn held(&self) -> LocalFuture<'_, Option<bool>> {
        Box::pin(self.node.stands(&self.value))
    }

    fn release(&mut self, _grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        Box::pin(async move { released(self.free().await, Removed::Any) })
    }
}
