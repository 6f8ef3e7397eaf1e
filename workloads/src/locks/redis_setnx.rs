//! `redis-setnx`: `SETNX key 1` takes it, `DEL key` frees it, and nothing ever runs out (seed 002,
//! lines 102 to 112).
//!
//! A holder that dies keeps the lock for ever (H1); so does a client that gets no reply to its
//! `SETNX` and gives up, and one whose `DEL` never arrives: all write the same 1, so that nobody
//! can tell whose it is. A `DEL` that was held up frees whoever holds the lock by then. The seed
//! itself names the deadlock, in lines 114 to 116.

use base::{AcquireError, Cause, Grant, Link, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{FOREIGN_RELEASE, OVERLAP, PROMOTED, STUCK, WIPED, WRITE_DELAYED, breaks, why};
use super::redis_node::{BACK_OFF, RedisNode, polling};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-setnx",
    summary: "SETNX without an expiry; freed by DEL",
    promises: Promises { pace: polling(BACK_OFF, 1), ..Promises::MUTEX },
    breaks: &[&[
        PROMOTED,
        WIPED,
        WRITE_DELAYED,
        breaks(&[Cause::ClientDied], STUCK, DEADLOCK),
        breaks(&[Cause::ReplyLost, Cause::LateRequest, Cause::CallCancelled], STUCK, GIVEN_UP),
        breaks(&[Cause::ReleaseLost], STUCK, NEVER_FREED),
        breaks(&[Cause::ServerForgets], STUCK, UNDONE),
        breaks(
            &[Cause::ServerForgets, Cause::LateRequest, Cause::ForeignRelease],
            FOREIGN_RELEASE,
            why::BARE_DEL,
        ),
        breaks(&[Cause::LateRequest, Cause::ForeignRelease], OVERLAP, why::BARE_DEL),
    ]],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

const DEADLOCK: &str = "H1: a client that dies while it holds leaves a key that nothing ever removes; \
     give the key an expiry, in the same command";
const GIVEN_UP: &str = "H1: a client that gets no reply to its SETNX gives up, and the key that it set \
     after all is nobody's, for ever";
const NEVER_FREED: &str =
    "H1: a DEL that never arrives is never sent again, and the key stays for ever";

const UNDONE: &str = "H1: a server that loses its last second may keep the SETNX and lose the DEL, and the \
     key stands again, for ever";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(Setnx(RedisNode::new(link, settings)))
}

struct Setnx(RedisNode);

impl Recipe for Setnx {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let attempt = async |_| Ok(self.0.setnx(1).await?.then(Grant::default));
        self.0.retry(timeout, BACK_OFF, attempt).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.0.free_any().await
    }
}
