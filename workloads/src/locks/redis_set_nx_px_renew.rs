//! `redis-set-nx-px-renew`: the reference lock with a watchdog that renews it, which seed 000 asks
//! for in section 4.3.
//!
//! Every third of a ttl a script sets the key's time to live anew if its value is still the
//! owner's. A watchdog that has not had an answer for a ttl, or finds another's value, reports the
//! grant as lost. So the work may take longer than the ttl (H8); a client that is paused has a
//! watchdog that is paused (H7).

use base::{
    AcquireError, Cause, Grant, Link, LocalFuture, Lock, Mode, Mono, Recipe, ReleaseError, Removed,
};
use futures_util::future::{Either, select};
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;

use super::known::{OVERLAP, TTL, breaks};
use super::redis_node::{BACK_OFF, EXPIRING, RedisNode};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "redis-set-nx-px-renew",
    summary: "SET NX PX with a unique value, renewed by a watchdog for as long as it is held",
    promises: EXPIRING,
    breaks: &[&[breaks(&[Cause::ClientClock], OVERLAP, FROZEN)], TTL],
    longest_hold: BEYOND_SESSION,
    open: &On::<Redis>::one(open),
};

const FROZEN: &str = "the watchdog of a client whose clock stands still, or is slow, renews too late and \
     does not know";

/// The renewals in a ttl.
const RENEWALS: u32 = 3;

fn open(link: Rc<dyn Link<Redis>>, settings: LockSettings) -> Box<dyn Lock> {
    let node = Rc::new(RedisNode::new(link, settings));
    Box::new(Renewed { node, value: String::new(), watchdog: RefCell::new(Box::pin(pending())) })
}

struct Renewed {
    node: Rc<RedisNode>,
    /// The value of the last try, which is the owner's.
    value: String,
    /// The watchdog of the grant, which ends when the grant may be gone. It is kept here and not
    /// made for each call of `lost`, because a renewal goes on while its client does something
    /// else.
    watchdog: RefCell<LocalFuture<'static, String>>,
}

impl Recipe for Renewed {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        self.value = self.node.unique();
        let grant = self.node.set_nx_px(&self.value, timeout).await?;
        if let Some(asked) = grant.asked {
            let watchdog = watch(self.node.clone(), self.value.clone(), asked);
            *self.watchdog.get_mut() = Box::pin(watchdog);
        }
        Ok(Grant { expires: None, ..grant })
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        *self.watchdog.get_mut() = Box::pin(pending());
        self.node.compare_and_delete(&self.value).await
    }

    async fn held(&self) -> Option<bool> {
        self.node.stands(&self.value).await
    }

    async fn lost(&self) -> String {
        poll_fn(|cx| self.watchdog.borrow_mut().as_mut().poll(cx)).await
    }
}

/// Renews the lock that was asked for at this time, until that fails. Returns the reason.
async fn watch(node: Rc<RedisNode>, value: String, mut asked: Mono) -> String {
    loop {
        let left = |since: Mono| (since + node.ttl).since(node.link.world().monotonic());
        let pause = left(asked).saturating_sub(node.ttl - node.ttl / RENEWALS);
        node.link.world().sleep(pause).await;
        let end = pin!(node.link.world().sleep(left(asked)));
        match select(end, pin!(renew(&node, &value))).await {
            Either::Left(_) => return "it was not renewed within its ttl".into(),
            Either::Right((None, _)) => return "its key is not this client's any more".into(),
            Either::Right((Some(renewed), _)) => asked = renewed,
        }
    }
}

/// Renews the lock once, however often its call fails. Returns the time at which it was asked to;
/// `None` if the lock is not this client's any more.
async fn renew(node: &RedisNode, value: &str) -> Option<Mono> {
    loop {
        let asked = node.link.world().monotonic();
        match node.compare_and_renew(value).await {
            Ok(0) => return None,
            Ok(_) => return Some(asked),
            Err(_) => node.back_off(&BACK_OFF).await,
        }
    }
}
