//! `redis-set-nx-px-del`: the reference lock, freed with a bare `DEL` (seed 002, lines 137 to 149).
//!
//! The value is each owner's own, but nobody looks at it: an owner that outlived its ttl frees
//! whoever holds the lock by then (H4). The seed tells this of its threads A and B.

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{
    AHEAD, FOREIGN, LONG_HOLD, OVERLAP, PAUSED, SERVER_CLOCK, WIPED, WRITE_DELAYED, breaks, why,
};
use super::redis_node::{BACK_OFF, RedisNode, polling};
use super::{BELOW_TTL, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-del",
    summary: "SET NX PX with a unique value that nobody looks at, freed by DEL",
    promises: Promises { recovers: Some(1), pace: polling(BACK_OFF, 1), ..Promises::MUTEX },
    breaks: &[
        AHEAD,
        LONG_HOLD,
        PAUSED,
        SERVER_CLOCK,
        WIPED,
        WRITE_DELAYED,
        breaks(Cause::HolderPaused, FOREIGN, why::BARE_DEL),
        breaks(Cause::RanOutWhileReleasing, FOREIGN, why::BARE_DEL),
        breaks(Cause::LongHold, FOREIGN, why::BARE_DEL),
        breaks(Cause::ServerClock, FOREIGN, why::BARE_DEL),
        breaks(Cause::ServerForgets, FOREIGN, why::BARE_DEL),
        breaks(Cause::LateRequest, FOREIGN, why::BARE_DEL),
        breaks(Cause::LateRequest, OVERLAP, why::BARE_DEL),
        breaks(Cause::ForeignRelease, FOREIGN, why::BARE_DEL),
        breaks(Cause::ForeignRelease, OVERLAP, why::BARE_DEL),
    ],
    longest_hold: BELOW_TTL,
    open: Open::Redis(open),
};

fn open(link: Rc<dyn Link<Redis>>, settings: Settings) -> Box<dyn Lock> {
    Box::new(BareDel { node: RedisNode::new(link, settings), value: String::new() })
}

struct BareDel {
    node: RedisNode,
    /// The value of the last try, which is the owner's.
    value: String,
}

impl Recipe for BareDel {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.value = self.node.unique();
        self.node.set_nx_px(&self.value, timeout).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.node.free_any().await
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.value).await
    }
}
