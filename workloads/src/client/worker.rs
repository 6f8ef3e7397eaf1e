//! One worker of a client: its conversation with the harness, its locks and its grants.

use base::{
    Acquire, AcquireError, CANCELLED, ClientReply, ClientRequest, Command, Facts, Grant, HOLDS,
    Key, Lock, LossLevel, Mailbox, Mode, Mono, ReleaseError, Response, Wakeups,
};
use futures_util::future::{Either, select};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use stores::{CallNames, Store, StoreClient};

use super::SharedParts;
use crate::locks::LockSettings;

/// A lock that was asked for.
struct Opened {
    key: Key,
    /// The hold that it serves; 0 for one that serves all holds of its key.
    hold: usize,
    /// `None` while it works.
    lock: Option<Box<dyn Lock>>,
}

/// A grant that was not released yet.
struct HeldGrant {
    key: Key,
    /// The index of its lock.
    lock: usize,
    grant: Grant,
    /// True once the lock has reported that the grant may be gone.
    lost: bool,
}

pub struct Worker<S: Store> {
    process: Rc<SharedParts<S>>,
    client: S::Client,
    /// Its number in the history, as the last request gave it.
    number: u32,
    /// The number of that request.
    request: u64,
    /// The locks that were asked for, which are few: most clients have one key.
    locks: Vec<Opened>,
    holds: [Option<HeldGrant>; HOLDS],
}

impl<S: Store> Worker<S> {
    pub(super) fn new(process: Rc<SharedParts<S>>) -> Self {
        let client = process.client.for_worker();
        let (number, request, locks) = (0, 0, Vec::new());
        Self { process, client, number, request, locks, holds: [const { None }; HOLDS] }
    }

    /// Serves the harness until it says `exit` or hangs up.
    pub async fn serve(mut self, mailbox: &mut dyn Mailbox) {
        while let Some(request) = self.next(mailbox).await {
            (self.number, self.request) = (request.worker, request.id);
            let reply = match request.command {
                Command::Acquire(wanted) => self.acquire(*wanted, mailbox).await,
                Command::Touch { hold } => self.touch(hold),
                Command::Convert { hold, mode } => self.change(hold, Some(mode), mailbox).await,
                Command::Extend { hold } => self.change(hold, None, mailbox).await,
                Command::Held { hold, .. } => self.held(hold).await,
                Command::Release { hold } => self.release(hold, mailbox).await,
                // It came too late.
                Command::Cancel { .. } => continue,
                Command::Init(_) => ClientReply::fail("the client has begun"),
                Command::Clock(_) => ClientReply::fail("no worker has clocks of its own"),
                Command::Exit => return,
            };
            self.say(Some(request.id), reply, mailbox);
        }
    }

    /// The next request. While the worker holds a lock it listens to the lock as well.
    async fn next(&mut self, mailbox: &mut dyn Mailbox) -> Option<ClientRequest> {
        loop {
            let next = {
                let mut losses = losses(&self.locks, &self.holds);
                poll_fn(|cx| match mailbox.poll_next(cx) {
                    Poll::Ready(request) => Poll::Ready(Either::Left(request)),
                    Poll::Pending => losses.poll(cx).map(Either::Right),
                })
                .await
            };
            match next {
                Either::Left(request) => return request,
                Either::Right((key, error)) => self.lost(key, error, mailbox),
            }
        }
    }

    /// Waits for the work of one lock, unless the harness cancels it: then it is dropped where it
    /// stands. Listens meanwhile to the others that are held, and to the store, which may wake the
    /// recipe that waits for this key.
    async fn listening<T, E>(
        &mut self,
        work: impl Future<Output = Result<T, E>>,
        cancelled: fn(String) -> E,
        waits_for: Option<&Key>,
        mailbox: &mut dyn Mailbox,
    ) -> Result<T, E> {
        let client = self.client.clone();
        let wakeups = waits_for.and_then(|_| client.wakeups());
        let notified = || waits_for.cloned().map(|key| ClientReply::Notified { key });
        let process = self.process.clone();
        let calls = process.calls.as_ref();
        // What was sent between two operations belongs to none.
        while calls.and_then(CallNames::take).is_some() {}
        let mut work = pin!(work);
        let request = self.request;
        loop {
            let next = {
                let mut losses = losses(&self.locks, &self.holds);
                poll_fn(|cx| match poll_next(work.as_mut(), &mut losses, wakeups, calls, cx) {
                    Poll::Pending => {
                        mailbox.poll_cancel(request, cx).map(|()| WorkerEvent::Cancelled)
                    }
                    event => event,
                })
                .await
            };
            match next {
                WorkerEvent::Done(done) => {
                    while let Some(command) = calls.and_then(CallNames::take) {
                        self.say(None, ClientReply::Calls { command }, mailbox);
                    }
                    // A wake-up in the same moment was before the answer.
                    while wakeups.is_some_and(Wakeups::take)
                        && let Some(notified) = notified()
                    {
                        self.say(None, notified, mailbox);
                    }
                    return done;
                }
                WorkerEvent::Called(command) => {
                    self.say(None, ClientReply::Calls { command }, mailbox);
                }
                WorkerEvent::Lost(key, error) => self.lost(key, error, mailbox),
                WorkerEvent::Cancelled => return Err(cancelled(CANCELLED.into())),
                WorkerEvent::Woken => {
                    if let Some(notified) = notified() {
                        self.say(None, notified, mailbox);
                    }
                }
            }
        }
    }

    fn say(&self, id: Option<u64>, reply: ClientReply, mailbox: &mut dyn Mailbox) {
        mailbox.say(Response { id, worker: self.number, reply });
    }

    /// Tells the harness that a lock is lost.
    fn lost(&mut self, key: Key, error: String, mailbox: &mut dyn Mailbox) {
        for held in self.holds.iter_mut().flatten().filter(|held| held.key == key) {
            held.lost = true;
        }
        let at_ns = self.client.world().monotonic().nanos();
        let lost =
            ClientReply::Lost { key: Some(key), level: LossLevel::Lost, at_ns: Some(at_ns), error };
        self.say(None, lost, mailbox);
    }

    async fn acquire(&mut self, wanted: Acquire, mailbox: &mut dyn Mailbox) -> ClientReply {
        let Acquire { hold, .. } = wanted;
        if self.holds.get(hold).is_none_or(Option::is_some) {
            return ClientReply::fail("the number of this hold is taken, or too high");
        }
        let place = self.place(&wanted.key, hold);
        let Some(mut lock) = self.locks[place].lock.take() else {
            return ClientReply::fail("the lock is at work");
        };
        let asked = self.ask(lock.as_mut(), &wanted, mailbox).await;
        let reply = match asked {
            Ok(grant) => {
                let (token, facts) = (grant.token, facts_of(&grant));
                let key = wanted.key;
                self.holds[hold] = Some(HeldGrant { key, lock: place, grant, lost: false });
                ClientReply::done(token, facts)
            }
            Err(AcquireError::Failed(error)) => {
                ClientReply::Fail { error, code: None, facts: self.phantom(lock.as_ref()).await }
            }
            Err(AcquireError::Unknown(error)) => ClientReply::info(error),
        };
        self.locks[place].lock = Some(lock);
        reply
    }

    async fn ask(
        &mut self,
        lock: &mut dyn Lock,
        wanted: &Acquire,
        mailbox: &mut dyn Mailbox,
    ) -> Result<Grant, AcquireError> {
        let acquire_timeout = Duration::from_nanos(wanted.acquire_timeout_ns);
        let client = self.client.clone();
        // Some recipes know no timeout and some forget it while they clean up: after twice the
        // time nobody waits any longer, and nobody knows what the store will make of it.
        let deadline = client.world().sleep(acquire_timeout.max(self.process.ttl) * 2);
        let granted = match wanted.permits {
            1 => lock.acquire(wanted.mode, acquire_timeout),
            several => lock.acquire_permits(several, acquire_timeout),
        };
        let acquire = async {
            match select(granted, deadline).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(_) => Err(AcquireError::Unknown("never came back".into())),
            }
        };
        self.listening(acquire, AcquireError::Unknown, Some(&wanted.key), mailbox).await
    }

    /// The index of the lock for a hold of a key, which is opened when it is asked for the first
    /// time.
    fn place(&mut self, key: &Key, hold: usize) -> usize {
        let lock = &self.process.lock;
        let hold = if lock.promises.reentrant { 0 } else { hold };
        let known = self.locks.iter().position(|it| it.key == *key && it.hold == hold);
        known.unwrap_or_else(|| {
            let ttl = lock.own_ttl_ns.map_or(self.process.ttl, Duration::from_nanos);
            let settings =
                LockSettings { key: key.clone(), ttl, process: self.process.fields.clone() };
            let lock = Some(self.process.on.open(self.client.clone(), settings));
            self.locks.push(Opened { key: key.clone(), hold, lock });
            self.locks.len() - 1
        })
    }

    /// Asks the store, after an acquire that failed, if this client is the holder all the same.
    async fn phantom(&self, lock: &dyn Lock) -> Option<Box<Facts>> {
        boxed(Facts { held: self.claims(lock).await, ..Facts::default() })
    }

    /// The same for as long as one call may take; `None` if there is no answer by then.
    async fn claims(&self, lock: &dyn Lock) -> Option<bool> {
        let deadline = self.client.world().sleep(self.process.call_timeout);
        match select(lock.held(), deadline).await {
            Either::Left((held, _)) => held,
            Either::Right(_) => None,
        }
    }

    fn touch(&self, hold: usize) -> ClientReply {
        match self.holds.get(hold) {
            Some(Some(held)) if !held.lost => ClientReply::ok(),
            _ => ClientReply::fail("lost"),
        }
    }

    /// Converts a grant to a mode, or else has its time begin anew.
    async fn change(
        &mut self,
        hold: usize,
        mode: Option<Mode>,
        mailbox: &mut dyn Mailbox,
    ) -> ClientReply {
        let Some((place, grant)) = self.of_hold(hold) else { return ClientReply::fail("not held") };
        let Some(mut lock) = self.locks[place].lock.take() else {
            return ClientReply::fail("the lock is at work");
        };
        let change = match mode {
            Some(mode) => lock.convert(grant, mode),
            None => lock.extend(grant),
        };
        let changed = self.listening(change, AcquireError::Unknown, None, mailbox).await;
        self.locks[place].lock = Some(lock);
        self.changed(hold, changed)
    }

    /// Notes what became of a grant.
    fn changed(&mut self, hold: usize, grant: Result<Grant, AcquireError>) -> ClientReply {
        match grant {
            Ok(grant) => {
                let (token, facts) = (grant.token, facts_of(&grant));
                if let Some(held) = &mut self.holds[hold] {
                    held.grant = grant;
                }
                ClientReply::done(token, facts)
            }
            Err(AcquireError::Failed(error)) => ClientReply::fail(error),
            Err(AcquireError::Unknown(error)) => ClientReply::info(error),
        }
    }

    /// Asks the store whether a grant still stands.
    async fn held(&self, hold: usize) -> ClientReply {
        let Some((place, _)) = self.of_hold(hold) else { return ClientReply::fail("not held") };
        let Some(lock) = &self.locks[place].lock else {
            return ClientReply::fail("the lock is at work");
        };
        match self.claims(lock.as_ref()).await {
            Some(true) => ClientReply::ok(),
            Some(false) => ClientReply::fail("the store says otherwise"),
            None => ClientReply::info("the store says nothing"),
        }
    }

    /// The index of the lock and the grant of a hold.
    fn of_hold(&self, hold: usize) -> Option<(usize, Grant)> {
        let held = self.holds.get(hold)?.as_ref()?;
        Some((held.lock, held.grant.clone()))
    }

    async fn release(&mut self, hold: usize, mailbox: &mut dyn Mailbox) -> ClientReply {
        let Some(held) = self.holds.get_mut(hold).and_then(Option::take) else {
            return ClientReply::fail("not held");
        };
        let Some(mut lock) = self.locks[held.lock].lock.take() else {
            return ClientReply::fail("the lock is at work");
        };
        let release = lock.release(held.grant);
        let released = self.listening(release, ReleaseError::Unknown, None, mailbox).await;
        self.locks[held.lock].lock = Some(lock);
        match released {
            Ok(removed) => {
                let facts = boxed(Facts { removed: Some(removed), ..Facts::default() });
                ClientReply::done(None, facts)
            }
            Err(ReleaseError::NotHeld(error)) => ClientReply::fail(error),
            Err(ReleaseError::Unknown(error)) => ClientReply::info(error),
        }
    }
}

/// The losses that the locks of live holds may report.
struct ReportableLosses<'a>([Option<(&'a Key, base::LocalFuture<'a, String>)>; HOLDS]);

impl ReportableLosses<'_> {
    /// Returns the key of a lock that is lost, with the sign of it.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(Key, String)> {
        for (key, loss) in self.0.iter_mut().flatten() {
            if let Poll::Ready(error) = loss.as_mut().poll(cx) {
                return Poll::Ready(((*key).clone(), error));
            }
        }
        Poll::Pending
    }
}

fn losses<'a>(locks: &'a [Opened], holds: &'a [Option<HeldGrant>; HOLDS]) -> ReportableLosses<'a> {
    ReportableLosses(holds.each_ref().map(|held| {
        let held = held.as_ref().filter(|held| !held.lost)?;
        Some((&held.key, locks[held.lock].lock.as_ref()?.lost()))
    }))
}

/// An event for a worker that waits for the work of a lock.
enum WorkerEvent<T> {
    Done(T),
    /// The work sent this command to a server.
    Called(String),
    Lost(Key, String),
    /// The harness does not wait for it any more.
    Cancelled,
    Woken,
}

// Every event at a client passes here.
#[inline(always)]
fn poll_next<T>(
    work: Pin<&mut impl Future<Output = T>>,
    losses: &mut ReportableLosses<'_>,
    wakeups: Option<&Wakeups>,
    calls: Option<&CallNames>,
    cx: &mut Context<'_>,
) -> Poll<WorkerEvent<T>> {
    if let Poll::Ready(done) = work.poll(cx) {
        return Poll::Ready(WorkerEvent::Done(done));
    }
    if let Some(command) = calls.and_then(CallNames::take) {
        return Poll::Ready(WorkerEvent::Called(command));
    }
    if let Poll::Ready((key, error)) = losses.poll(cx) {
        return Poll::Ready(WorkerEvent::Lost(key, error));
    }
    match wakeups {
        Some(wakeups) => wakeups.poll(cx).map(|()| WorkerEvent::Woken),
        None => Poll::Pending,
    }
}

fn facts_of(grant: &Grant) -> Option<Box<Facts>> {
    boxed(Facts {
        asked_ns: grant.asked.map(Mono::nanos),
        expires_ns: grant.expires.map(Mono::nanos),
        place: grant.place,
        recovered: grant.recovered,
        ..Facts::default()
    })
}

fn boxed(facts: Facts) -> Option<Box<Facts>> {
    (!facts.is_empty()).then(|| Box::new(facts))
}
