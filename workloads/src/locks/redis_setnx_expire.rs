//! `redis-setnx-expire`: `SETNX`, then `EXPIRE` as a second command; `DEL` frees (seeds 000, 002).
//!
//! A client that dies between the two commands leaves a key without an expiry, and nobody gets in
//! again (H2). The bare `DEL` frees whoever holds the lock by then.

use base::{
    AcquireError, CallError, Cause, Grant, Link, Lock, Mode, Pace, Promises, Recipe, ReleaseError,
    Removed,
};
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{FOREIGN_RELEASE, OVERLAP, STUCK, TTL, breaks, why};
use super::redis_node::{BACK_OFF, RedisNode, SECOND, command, polling};
use super::{BELOW_TTL, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-setnx-expire",
    summary: "SETNX, then EXPIRE as a second command; freed by DEL",
    promises: Promises {
        recovers: Some(1),
        // EXPIRE takes whole seconds, so that a ttl of 0.3 s becomes one of 1 s.
        pace: Pace { grain_ns: SECOND, ..polling(BACK_OFF, 2) },
        ..Promises::MUTEX
    },
    breaks: &[
        TTL,
        &[
            breaks(&[Cause::ClientDied], STUCK, DEADLOCK),
            breaks(&[Cause::ReplyLost, Cause::LateRequest, Cause::CallCancelled], STUCK, GIVEN_UP),
            breaks(
                &[
                    Cause::HolderPaused,
                    Cause::LongHold,
                    Cause::ClientClock,
                    Cause::ServerForgets,
                    Cause::ForeignRelease,
                ],
                FOREIGN_RELEASE,
                why::BARE_DEL,
            ),
            breaks(&[Cause::ForeignRelease], OVERLAP, why::BARE_DEL),
            breaks(&[Cause::LateRequest], OVERLAP, LATE_DEL),
            breaks(&[Cause::LateRequest, Cause::RanOutWhileReleasing], FOREIGN_RELEASE, LATE_DEL),
            breaks(
                &[Cause::ServerClock],
                &["foreign release", "failed release"],
                why::SERVER_CLOCK,
            ),
            breaks(&[Cause::ServerForgets], STUCK, HALF),
        ],
    ],
    longest_hold: BELOW_TTL,
    open: &On::<Redis>::one(open),
};

const DEADLOCK: &str = "H2: a client killed between SETNX and EXPIRE leaves a key that never \
     expires; take the lock with one command, SET NX PX";

const GIVEN_UP: &str = "H2: a client that gets no reply to its SETNX or to its EXPIRE gives up, and \
     the key that it has set never expires";
const LATE_DEL: &str = "a DEL that was held up arrives when the lock is another's, and frees it: it \
     does not compare the owner";

const HALF: &str = "a server that loses its last second may keep the SETNX and lose the EXPIRE: the key \
     never expires";

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(SetnxExpire(RedisNode::new(link, settings)))
}

struct SetnxExpire(RedisNode);

impl Recipe for SetnxExpire {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let node = &self.0;
        let seconds = node.ttl.as_millis().div_ceil(1_000) as u64;
        node.retry(timeout, BACK_OFF, async move |asked| {
            if !node.setnx(1).await? {
                return Ok(None);
            }
            let mut expire = command("EXPIRE");
            expire.arg(&node.key).arg(seconds);
            // Whatever became of it, the key stands in this client's name.
            let expiring = node.call::<bool>(expire).await;
            expiring.map_err(|error| CallError::Unknown(error.to_string()))?;
            let expires = Some(asked + Duration::from_secs(seconds));
            Ok(Some(Grant { expires, ..Grant::default() }))
        })
        .await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.0.free_any().await
    }
}
