//! `redis-set-nx-px-threadid-as-printed`: the code that seed 002 prints against a `DEL` of
//! another's lock (lines 154 to 161), with its mistakes.
//!
//! * The value is `Thread.currentThread().getId()` (line 154). That is unique within a process
//!   only: the first thread of every process is thread 1, and frees the lock of every other.
//! * `set(key,threadID,NX,PX,30)` (line 155): `PX` counts milliseconds. The lock lives for 30 ms,
//!   and not for the 30 s of line 149, so that a hold of common length outlives it, without any
//!   fault (H8, H37).
//! * It is freed with `GET`, a comparison and `DEL` (lines 159 to 161): two commands (H5).

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{FOREIGN_RELEASE, OVERLAP, TTL, breaks};
use super::redis_node::{EXPIRING, RedisNode};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-threadid-as-printed",
    summary: "SET NX PX 30 with the thread's number for a value, freed by GET, then DEL",
    promises: EXPIRING,
    breaks: &[
        &[
            breaks(&[Cause::LateGrant, Cause::ClientClock], OVERLAP, THIRTY),
            breaks(
                &[
                    Cause::HolderPaused,
                    Cause::HolderCutOff,
                    Cause::ServersApart,
                    Cause::LateGrant,
                    Cause::ClientClock,
                    Cause::ServerClock,
                    Cause::ServerForgets,
                    Cause::RanOutWhileReleasing,
                    Cause::LateRequest,
                    Cause::LongHold,
                    Cause::ForeignRelease,
                ],
                FOREIGN_RELEASE,
                SAME,
            ),
            breaks(&[Cause::Recipe, Cause::LateRequest, Cause::ForeignRelease], OVERLAP, SAME),
        ],
        TTL,
    ],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open).living(PX),
};

/// The time to live as printed: `PX 30`.
const PX: Duration = Duration::from_millis(30);

/// `Thread.currentThread().getId()`: every client is a process of its own, with one thread.
const THREAD_ID: &str = "1";

const THIRTY: &str = "H37: PX 30 is 30 ms and not 30 s: the lock runs out while its holder still \
     reads that it has it";
const SAME: &str = "H37: two processes both have a thread 1, and what is common to two does not tell \
     whose the lock is";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(ThreadId(RedisNode::new(link, settings)))
}

struct ThreadId(RedisNode);

impl Recipe for ThreadId {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.0.set_nx_px(THREAD_ID, timeout).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.0.get_then_delete(THREAD_ID).await
    }
}
