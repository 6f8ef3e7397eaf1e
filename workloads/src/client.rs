//! The client: answers the harness's requests with a lock. The same code runs as an operating
//! system process on real servers and as a task in the simulator.

use base::{
    Acquire, AcquireError, Command, Facts, Grant, Init, Key, Link, Lock, Mailbox, Mono,
    ReleaseError, Reply, Request, Response, Wakeups,
};
use futures_util::future::{Either, select};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use stores::{Store, StoreClient};

use crate::locks::{LockSpec, On, Settings};

/// Serves the harness until it says `exit` or hangs up.
///
/// # Panics
/// Panics when the lock is built on another store.
pub async fn serve<S: Store>(
    spec: &LockSpec,
    link: Rc<dyn Link<S>>,
    mut mailbox: Box<dyn Mailbox>,
) {
    let mut session = Conversation::<S> {
        spec,
        open: spec.open.on().expect("the harness links a client to its lock's own store"),
        client: S::client(link),
        locks: Vec::new(),
        held: None,
        ttl: Duration::ZERO,
        call_timeout: Duration::ZERO,
    };
    while let Some(request) = session.next(mailbox.as_mut()).await {
        let reply = match request.command {
            Command::Init(init) => session.begin(&init).await,
            Command::Acquire(wanted) => session.acquire(*wanted, mailbox.as_mut()).await,
            Command::Touch { key } => session.touch(key),
            Command::Release { key } => session.release(key).await,
            Command::Exit => return,
        };
        mailbox.say(Response { id: Some(request.id), reply });
    }
}

/// A grant that the client has not released yet.
struct Held {
    key: Key,
    /// The index of its lock in `Conversation::locks`.
    lock: usize,
    grant: Grant,
    /// True once the lock has reported that the grant may be gone.
    lost: bool,
}

struct Conversation<'a, S: Store> {
    spec: &'a LockSpec,
    open: &'static On<S>,
    client: S::Client,
    /// The locks that were asked for, which are few: most clients have one key.
    locks: Vec<(Key, Box<dyn Lock>)>,
    held: Option<Held>,
    ttl: Duration,
    call_timeout: Duration,
}

impl<S: Store> Conversation<'_, S> {
    /// The next request. While the client holds a lock it listens to the lock as well, and reports
    /// to the harness when the lock is lost.
    async fn next(&mut self, mailbox: &mut dyn Mailbox) -> Option<Request> {
        if let Some(held) = self.held.as_mut().filter(|held| !held.lost) {
            let lock = &self.locks[held.lock].1;
            let error = match select(poll_fn(|cx| mailbox.poll_next(cx)), lock.lost()).await {
                Either::Left((request, _)) => return request,
                Either::Right((error, _)) => error,
            };
            held.lost = true;
            let at_ns = self.client.world().monotonic().nanos();
            let reply = Reply::Lost { key: held.key, at_ns, error };
            mailbox.say(Response { id: None, reply });
        }
        poll_fn(|cx| mailbox.poll_next(cx)).await
    }

    async fn begin(&mut self, init: &Init) -> Reply {
        self.ttl = Duration::from_nanos(init.ttl_ns);
        self.call_timeout = Duration::from_nanos(init.call_timeout_ns);
        self.client.ready().await;
        Reply::ok()
    }

    async fn acquire(&mut self, wanted: Acquire, mailbox: &mut dyn Mailbox) -> Reply {
        let Acquire { key, mode, patience_ns: patience } = wanted;
        let patience = Duration::from_nanos(patience);
        let place = self.lock(key);
        let lock = &mut self.locks[place].1;
        // Some recipes know no patience and some forget it while they clean up: after twice the
        // time nobody waits any longer, and nobody knows what the store will make of it.
        let deadline = self.client.world().sleep(patience * 2);
        let acquire = async {
            match select(lock.acquire(mode, patience), deadline).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(_) => Err(AcquireError::Unknown("never came back".into())),
            }
        };
        let outcome = listening(acquire, self.client.wakeups(), || {
            mailbox.say(Response { id: None, reply: Reply::Notified { key } });
        });
        match outcome.await {
            Ok(grant) => {
                let (token, facts) = (grant.token, facts_of(&grant));
                self.held = Some(Held { key, lock: place, grant, lost: false });
                Reply::Ok { token, facts }
            }
            Err(AcquireError::Failed(error)) => {
                Reply::Fail { error, facts: self.phantom(place).await }
            }
            Err(AcquireError::Unknown(error)) => Reply::Info { error },
        }
    }

    /// The index of a key's lock, which is opened when it is asked for the first time.
    fn lock(&mut self, key: Key) -> usize {
        let known = self.locks.iter().position(|(known, _)| *known == key);
        known.unwrap_or_else(|| {
            let ttl = self.spec.own_ttl().unwrap_or(self.ttl);
            let lock = (self.open.open)(self.client.clone(), Settings { key, ttl });
            self.locks.push((key, lock));
            self.locks.len() - 1
        })
    }

    /// Asks the store, after an acquire that failed, if this client is the holder all the same.
    /// Asks no longer than one call may take; `None` if there is no answer by then.
    async fn phantom(&self, lock: usize) -> Option<Box<Facts>> {
        let lock = &self.locks[lock].1;
        let deadline = self.client.world().sleep(self.call_timeout);
        match select(lock.held(), deadline).await {
            Either::Left((held, _)) => boxed(Facts { held, ..Facts::default() }),
            Either::Right(_) => None,
        }
    }

    fn touch(&self, key: Key) -> Reply {
        match &self.held {
            Some(held) if held.key == key && !held.lost => Reply::ok(),
            _ => Reply::fail("lost"),
        }
    }

    async fn release(&mut self, key: Key) -> Reply {
        let Some(held) = self.held.take_if(|held| held.key == key) else {
            return Reply::fail("not held");
        };
        match self.locks[held.lock].1.release(held.grant).await {
            Ok(removed) => {
                let facts = boxed(Facts { removed: Some(removed), ..Facts::default() });
                Reply::Ok { token: None, facts }
            }
            Err(ReleaseError::NotHeld(error)) => Reply::fail(error),
            Err(ReleaseError::Unknown(error)) => Reply::Info { error },
        }
    }
}

/// Waits for `work`, and calls `notified` for every wake-up meanwhile.
async fn listening<T>(
    work: impl Future<Output = T>,
    wakeups: Option<&Wakeups>,
    mut notified: impl FnMut(),
) -> T {
    let Some(wakeups) = wakeups else { return work.await };
    let mut work = pin!(work);
    loop {
        let next = pin!(wakeups.next());
        match select(work.as_mut(), next).await {
            Either::Right(_) => notified(),
            Either::Left((outcome, _)) => {
                // A wake-up in the same moment was before the answer.
                while wakeups.take() {
                    notified();
                }
                return outcome;
            }
        }
    }
}

fn facts_of(grant: &Grant) -> Option<Box<Facts>> {
    boxed(Facts {
        asked_ns: grant.asked.map(Mono::nanos),
        expires_ns: grant.expires.map(Mono::nanos),
        place: grant.place,
        ..Facts::default()
    })
}

fn boxed(facts: Facts) -> Option<Box<Facts>> {
    (!facts.is_empty()).then(|| Box::new(facts))
}
