//! The common part of the recipes on etcd: a key that goes with a lease, which is its acquire's own
//! and is kept alive from the acquire to the release.

use base::{
    AcquireError, CallError, Cause, Grant, LocalFuture, Lock, Mode, Mono, Pace, Promises, Recipe,
    ReleaseError, Removed,
};
use futures_util::future::{Either, select};
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::marker::PhantomData;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use stores::etcd::{Client, LeaseId, Refusal, Reply, Revision, whole_seconds};

use super::LockSettings;
use super::known::{Breaks, breaks, why};
use super::redis_node::SECOND;

/// The keep-alives in a ttl.
const KEEP_ALIVES: u32 = 3;

/// The longest pause after a call that came to nothing.
const BACK_OFF: Duration = Duration::from_millis(50);

/// The promises of a lock that lives as long as a lease, with a revision as its fencing token.
pub const ON_LEASE: Promises = Promises {
    fenced: true,
    available: true,
    recovers: Some(2),
    pace: Pace { grain_ns: SECOND, round_trips: 4, ..Pace::EXACT },
    ..Promises::MUTEX
};

/// The rows of such a lock.
pub const LEASE: &[Breaks] = &[
    breaks(&[Cause::HolderPaused], &["double hold"], PAUSED),
    breaks(&[Cause::ClientClock, Cause::ServerClock], &["double hold"], why::SESSION_FROZEN),
];

const PAUSED: &str = "H44: a holder that is paused sends no keep-alives, and does not know that its lease \
     ran out; only a fencing token that the resource checks can stop its write";

/// The reason of an acquire whose lease has run out.
pub const OVER: &str = "its lease is over";

/// The rule in which such locks differ.
pub trait LeaseRule {
    /// The key of an acquire with this lease, for a lock of this name.
    fn key(name: &str, lease: LeaseId) -> String;

    /// Creates the key, and waits until it is the lock's. Returns the reason if the lease is over
    /// before.
    async fn take(node: &LeaseNode) -> Result<Grant, String>;
}

/// The name of a lock, and the key and the lease of an acquire.
#[derive(Clone)]
pub struct LeaseNode {
    pub client: Client,
    pub name: String,
    pub key: String,
    pub lease: LeaseId,
    /// True once a call that makes the lease has not been answered: it may be made late, when it
    /// was revoked already, and then the key with it.
    in_doubt: Rc<Cell<bool>>,
    /// True for an acquire that does not wait for others.
    tries_once: bool,
}

/// The longest time for which an acquire that does not wait for others waits for the servers.
const A_TRY: Duration = Duration::from_secs(1);

/// The reason of an acquire that others were before.
const BUSY: &str = "held by others";

/// The grant of a key that was asked for at a time and created at a revision, its fencing token.
pub fn granted(created: Revision, asked: Mono) -> Grant {
    Grant { token: Some(created.unsigned_abs()), asked: Some(asked), ..Grant::default() }
}

/// A key that was to be created.
pub enum CreatedKey {
    /// It was, with this lease, at this revision.
    Own(Revision),
    /// Another's was there, when the store had this revision.
    Others { seen: Revision },
}

/// A lock whose key goes with a lease.
pub struct LeaseLock<R> {
    rule: PhantomData<R>,
    node: LeaseNode,
    /// The time for which a lease lives, in seconds.
    ttl: i64,
    /// The revision at which the key was created that is the grant.
    revision: Revision,
    /// Keeps the lease of the grant alive, and ends when it may be over. It is kept here and not
    /// made for each call of `lost`, because a keep-alive goes on while its client does something
    /// else.
    keeper: RefCell<Keeper>,
}

/// The future that keeps a lease alive. It returns the reason why it cannot.
type Keeper = LocalFuture<'static, String>;

impl LeaseNode {
    pub fn now(&self) -> Mono {
        self.client.world().monotonic()
    }

    /// Waits a little, so that nobody asks in vain all the time.
    pub async fn back_off(&self) {
        let world = self.client.world();
        let pause =
            BACK_OFF / 5 + Duration::from_nanos(world.random() % (BACK_OFF.as_nanos() as u64));
        world.sleep(pause).await;
    }

    /// Makes the lease. Returns when it began, at the earliest, and the time for which it lives.
    async fn make_lease(&self, ttl: i64) -> (Mono, Duration) {
        let life = |seconds: i64| Duration::from_secs(seconds.unsigned_abs());
        loop {
            let asked = self.now();
            let in_doubt = self.in_doubt.replace(true);
            let made = self.client.grant(self.lease, ttl).await;
            self.in_doubt.set(in_doubt || matches!(made, Err(CallError::Unknown(_))));
            match made {
                Ok(seconds) => return (asked, life(seconds)),
                // By an earlier try of which nothing was heard; nobody knows since when.
                Err(CallError::Refused(Refusal::LeaseExists)) => {
                    if let Some(kept) = self.keep_once().await {
                        return (kept, life(ttl));
                    }
                }
                Err(_) => self.back_off().await,
            }
        }
    }

    /// Creates the key unless it is there, and returns whose it is; the reason if the lease is
    /// over.
    pub async fn create(&self) -> Result<CreatedKey, String> {
        loop {
            match self.client.create(&self.key, &self.key, self.lease).await {
                Ok(Reply::Created { revision }) => return Ok(CreatedKey::Own(revision)),
                Ok(Reply::Found { found: Some(found), revision }) => {
                    return Ok(match found.lease == self.lease {
                        true => CreatedKey::Own(found.created),
                        false => CreatedKey::Others { seen: revision },
                    });
                }
                Err(CallError::Refused(Refusal::LeaseNotFound)) => return Err(OVER.into()),
                Ok(_) | Err(_) => self.back_off().await,
            }
        }
    }

    /// Waits until a key is deleted, at or after a revision, or until that cannot be known any
    /// more; not if the acquire waits for nobody.
    pub async fn wait_for_deletion(&self, key: &str, from: Revision) -> Result<(), String> {
        if self.tries_once {
            return Err(BUSY.into());
        }
        match self.client.watch(key, from).await {
            Ok(watch) => {
                if watch.over().await {
                    self.client.wakeups().notify();
                }
            }
            Err(_) => self.back_off().await,
        }
        Ok(())
    }

    /// Ends the lease, and with it all that the acquire has left.
    async fn revoke(&self) -> Result<(), CallError<Refusal>> {
        match self.client.revoke(self.lease).await {
            Ok(()) | Err(CallError::Refused(Refusal::LeaseNotFound)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Keeps a lease alive that began at a time and lives for so long, until it may be over.
    async fn keep(self, mut begun: Mono, life: Duration) -> String {
        loop {
            let left = |since: Mono| (since + life).since(self.now());
            let pause = left(begun).saturating_sub(life - life / KEEP_ALIVES);
            self.client.world().sleep(pause).await;
            let end = pin!(self.client.world().sleep(left(begun)));
            match select(end, pin!(self.keep_once())).await {
                Either::Left(_) => return "its lease was not kept alive within its ttl".into(),
                Either::Right((None, _)) => return OVER.into(),
                Either::Right((Some(kept), _)) => begun = kept,
            }
        }
    }

    /// Keeps the lease alive once, however often its call fails. Returns the time at which it was
    /// asked to; `None` if it is over.
    async fn keep_once(&self) -> Option<Mono> {
        loop {
            let asked = self.now();
            match self.client.keep_alive(self.lease).await {
                Ok(0) => return None,
                Ok(_) => return Some(asked),
                Err(_) => self.back_off().await,
            }
        }
    }
}

impl<R: LeaseRule + 'static> LeaseLock<R> {
    /// The lock that this rule takes.
    pub fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
        let (name, key) = (format!("lock/{}", settings.key), String::new());
        let in_doubt = Rc::default();
        let node = LeaseNode { client, name, key, lease: 0, in_doubt, tries_once: false };
        Box::new(Self {
            rule: PhantomData,
            node,
            ttl: whole_seconds(settings.ttl),
            revision: 0,
            keeper: RefCell::new(Box::pin(pending())),
        })
    }

    /// Waits for the lock, and keeps the lease alive meanwhile.
    async fn take(&self) -> Result<(Grant, Keeper), String> {
        let (begun, life) = self.node.make_lease(self.ttl).await;
        let keeper: Keeper = Box::pin(self.node.clone().keep(begun, life));
        match select(pin!(R::take(&self.node)), keeper).await {
            Either::Left((grant, keeper)) => Ok((grant?, keeper)),
            Either::Right((why, _)) => Err(why),
        }
    }

    /// Deletes the key, if it is still the one of the grant, however often its call fails.
    async fn free(&self) -> Result<Removed, ReleaseError> {
        let mut in_doubt = false;
        loop {
            match self.node.client.delete(&self.node.key, self.revision).await {
                Ok(true) => return Ok(Removed::Own),
                Ok(false) if in_doubt => return self.find_out().await,
                Ok(false) => return Err(ReleaseError::NotHeld("its lease was over".into())),
                Err(CallError::Unknown(_)) => in_doubt = true,
                Err(CallError::Refused(_)) => {}
            }
            self.node.back_off().await;
        }
    }

    /// Finds out what an unanswered deletion did: nobody else deletes the key while its lease
    /// lives.
    async fn find_out(&self) -> Result<Removed, ReleaseError> {
        match self.node.keep_once().await {
            Some(_) => Ok(Removed::Own),
            None => Err(ReleaseError::Unknown("its lease is over, too".into())),
        }
    }
}

impl<R: LeaseRule + 'static> Recipe for LeaseLock<R> {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let world = self.node.client.world();
        // Any positive number.
        self.node.lease = (world.random() >> 1) as i64 | 1;
        self.node.key = R::key(&self.node.name, self.node.lease);
        self.node.in_doubt.set(false);
        self.node.tries_once = timeout.is_zero();
        let patience = if timeout.is_zero() { A_TRY } else { timeout };
        let end = self.node.client.world().sleep(patience);
        let taken = match select(pin!(self.take()), end).await {
            Either::Left((taken, _)) => taken,
            Either::Right(_) => Err(BUSY.into()),
        };
        let reason = match taken {
            Ok((grant, keeper)) => {
                self.revision = grant.token.unwrap_or_default() as i64;
                *self.keeper.get_mut() = keeper;
                return Ok(grant);
            }
            Err(reason) => reason,
        };
        match self.node.revoke().await {
            Ok(()) if self.node.in_doubt.get() => {
                Err(AcquireError::Unknown(format!("{reason}; the lease may be made late")))
            }
            Ok(()) => Err(AcquireError::Failed(reason)),
            Err(error) => Err(AcquireError::Unknown(format!("{reason}; {error}"))),
        }
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        *self.keeper.get_mut() = Box::pin(pending());
        let life = Duration::from_secs(self.ttl.unsigned_abs());
        match select(pin!(self.free()), self.node.client.world().sleep(life)).await {
            Either::Left((freed, _)) => {
                // Without its key it binds nothing, and runs out if nobody hears this.
                drop(self.node.revoke().await);
                freed
            }
            Either::Right(_) => Err(ReleaseError::Unknown("no member answers".into())),
        }
    }

    async fn held(&self) -> Option<bool> {
        let found = self.node.client.get(&self.node.key).await.ok()?;
        Some(found.is_some_and(|found| found.lease == self.node.lease))
    }

    async fn lost(&self) -> String {
        poll_fn(|cx| self.keeper.borrow_mut().as_mut().poll(cx)).await
    }
}
