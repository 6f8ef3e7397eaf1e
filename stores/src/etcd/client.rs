//! A typed face of a link, so that recipes read as they do in books.
//!
//! A request is sent when its method is called, not when the future is first polled; dropping the
//! future does not withdraw it.

use super::{DeletionWatchId, Etcd, KeyValue, LeaseId, Refusal, Reply, Request, Revision, Signal};
use base::{CallError, Link, Wakeups, World};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The result of a call.
pub type CallResult<T> = std::result::Result<T, CallError<Refusal>>;

/// A client of the members. Clones are the same; make one for a link and clone it, else two would
/// give the same numbers to different watches.
#[derive(Clone)]
pub struct Client {
    linked: Rc<LinkedClient>,
    wakeups: Wakeups,
}

struct LinkedClient {
    link: Rc<dyn Link<Etcd>>,
    /// The number of the last watch.
    watches: Cell<DeletionWatchId>,
    /// The watches that are over and that somebody still asks about: true if the key was deleted.
    over: RefCell<BTreeMap<DeletionWatchId, Option<bool>>>,
    /// Each signal wakes all that wait for any.
    waiting: RefCell<Vec<Waker>>,
}

impl LinkedClient {
    /// Takes in every signal that has come.
    fn hear(&self) {
        while let Some(signal) = self.link.signal() {
            let (watch, deleted) = match signal {
                Signal::Deleted { watch } => (watch, true),
                Signal::Ended { watch } => (watch, false),
            };
            if let Some(known) = self.over.borrow_mut().get_mut(&watch) {
                *known = Some(deleted);
            }
            self.waiting.borrow_mut().drain(..).for_each(Waker::wake);
        }
    }

    fn over(&self, watch: DeletionWatchId) -> Option<bool> {
        self.hear();
        self.over.borrow().get(&watch).copied().flatten()
    }
}

impl Client {
    /// Makes the client of this link.
    pub fn new(link: Rc<dyn Link<Etcd>>) -> Self {
        let linked = LinkedClient {
            link,
            watches: Cell::new(0),
            over: RefCell::default(),
            waiting: RefCell::default(),
        };
        Self { linked: Rc::new(linked), wakeups: Wakeups::default() }
    }

    /// Returns a client of the same link with wake-ups of its own.
    #[must_use]
    pub fn with_own_wakeups(&self) -> Self {
        Self { linked: self.linked.clone(), wakeups: Wakeups::default() }
    }

    /// The clocks, the sleep and the randomness of this client's machine.
    pub fn world(&self) -> &dyn World {
        self.linked.link.world()
    }

    /// The wake-ups that a recipe notes when a watch has woken it.
    pub fn wakeups(&self) -> &Wakeups {
        &self.wakeups
    }

    /// Makes a lease that lives for so many seconds. Returns the number that it was granted.
    pub fn grant(&self, lease: LeaseId, ttl: i64) -> impl Future<Output = CallResult<i64>> {
        self.call(Request::LeaseGrant { lease, ttl }, into_ttl)
    }

    /// Has a lease live for its whole time anew: so many seconds, or none if it is over.
    pub fn keep_alive(&self, lease: LeaseId) -> impl Future<Output = CallResult<i64>> {
        self.call(Request::LeaseKeepAlive { lease }, into_ttl)
    }

    /// Ends a lease, and deletes its keys.
    pub fn revoke(&self, lease: LeaseId) -> impl Future<Output = CallResult<()>> {
        self.call(Request::LeaseRevoke { lease }, |reply| (reply == Reply::Revoked).then_some(()))
    }

    /// Creates a key that goes with a lease, if there is none. Returns the reply: `Created` or
    /// `Found`.
    pub fn create(
        &self,
        key: &str,
        value: &str,
        lease: LeaseId,
    ) -> impl Future<Output = CallResult<Reply>> {
        self.call(Request::Create { key: key.into(), value: value.into(), lease }, Some)
    }

    /// Deletes a key if it was created at this revision. Returns true if it was.
    pub fn delete(&self, key: &str, created: Revision) -> impl Future<Output = CallResult<bool>> {
        self.call(Request::Delete { key: key.into(), created }, |reply| match reply {
            Reply::Deleted(deleted) => Some(deleted),
            _ => None,
        })
    }

    /// Reads a key.
    pub fn get(&self, key: &str) -> impl Future<Output = CallResult<Option<KeyValue>>> {
        self.call(Request::Get { key: key.into() }, |reply| match reply {
            Reply::Found { found, .. } => Some(found),
            _ => None,
        })
    }

    /// Reads the key that was created last before a revision, of those whose names begin alike,
    /// and the revision at which it is so.
    pub fn get_last(
        &self,
        prefix: &str,
        before: Revision,
    ) -> impl Future<Output = CallResult<(Option<KeyValue>, Revision)>> {
        self.call(Request::GetLast { prefix: prefix.into(), before }, |reply| match reply {
            Reply::Found { found, revision } => Some((found, revision)),
            _ => None,
        })
    }

    /// Watches for the deletion of a key, at or after a revision.
    pub async fn watch(&self, key: &str, from: Revision) -> CallResult<DeletionWatch> {
        let id = self.linked.watches.get() + 1;
        self.linked.watches.set(id);
        self.linked.over.borrow_mut().insert(id, None);
        // Made before it is set, so that it is ended if nobody waits for that.
        let watch = DeletionWatch { linked: self.linked.clone(), id };
        let request = Request::Watch { key: key.into(), from, watch: id };
        self.call(request, |reply| (reply == Reply::Watching).then_some(())).await?;
        Ok(watch)
    }

    fn call<T>(
        &self,
        request: Request,
        take: impl Fn(Reply) -> Option<T>,
    ) -> impl Future<Output = CallResult<T>> {
        let reply = self.linked.link.call(0, request);
        async move {
            let reply = reply.await?;
            let message = format!("the server answered something else: {reply:?}");
            take(reply).ok_or(CallError::Unknown(message))
        }
    }
}

fn into_ttl(reply: Reply) -> Option<i64> {
    match reply {
        Reply::Leased { ttl } => Some(ttl),
        _ => None,
    }
}

/// A watch for the deletion of a key, which ends when it is dropped.
pub struct DeletionWatch {
    linked: Rc<LinkedClient>,
    id: DeletionWatchId,
}

impl DeletionWatch {
    /// Waits until it is over. Returns true if the key was deleted; otherwise it may have been.
    pub async fn over(&self) -> bool {
        poll_fn(|cx| {
            if let Some(deleted) = self.linked.over(self.id) {
                return Poll::Ready(deleted);
            }
            self.linked.link.wake_on_signal(cx.waker());
            let mut waiting = self.linked.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

impl Drop for DeletionWatch {
    fn drop(&mut self) {
        self.linked.hear();
        if self.linked.over.borrow_mut().remove(&self.id) == Some(None) {
            drop(self.linked.link.call(0, Request::Unwatch { watch: self.id }));
        }
    }
}
