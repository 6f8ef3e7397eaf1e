//! The client: answers the harness's requests with a lock. The same code runs as an operating
//! system process on real servers and as a task in the simulator.

use base::{
    Acquire, AcquireError, Command, Facts, Grant, Init, Key, Lock, Mailbox, Mono, ReleaseError,
    Reply, Request, Response, World,
};
use futures_util::future::{Either, select};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::Redis;
use stores::zookeeper::{Bell, Client, SessionState};

use crate::locks::{LockSpec, Open, Settings};

/// A client's link to its servers, by store.
pub enum AnyLink {
    /// A link to Redis servers.
    Redis(Rc<dyn base::Link<Redis>>),
    /// A session with a ZooKeeper ensemble.
    ZooKeeper(Client),
}

impl AnyLink {
    fn world(&self) -> &dyn World {
        match self {
            Self::Redis(link) => link.as_ref(),
            Self::ZooKeeper(client) => client.world(),
        }
    }

    /// The bell that rings when the store has woken the client. Redis locks ask again and again
    /// instead.
    fn bell(&self) -> Option<&Bell> {
        match self {
            Self::Redis(_) => None,
            Self::ZooKeeper(client) => Some(client.bell()),
        }
    }

    /// Resolves when the servers can be asked for a lock.
    async fn ready(&self) {
        if let Self::ZooKeeper(client) = self {
            while client.state() != SessionState::Connected {
                client.changed().await;
            }
        }
    }

    fn open(&self, spec: &LockSpec, settings: Settings) -> Box<dyn Lock> {
        match (self, spec.open) {
            (Self::Redis(link), Open::Redis(open) | Open::RedisServers(_, open)) => {
                open(link.clone(), settings)
            }
            (Self::Redis(link), Open::RedisFor(ttl, open)) => {
                open(link.clone(), Settings { ttl, ..settings })
            }
            (Self::ZooKeeper(client), Open::ZooKeeper(open)) => open(client.clone(), settings),
            _ => unreachable!("the harness links a client to its lock's own store"),
        }
    }
}

/// Serves the harness until it says `exit` or hangs up.
pub async fn serve(spec: &LockSpec, link: AnyLink, mut mailbox: Box<dyn Mailbox>) {
    let mut session =
        Conversation { spec, link: &link, locks: Vec::new(), held: None, ttl: 0, call_timeout: 0 };
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

struct Conversation<'a> {
    spec: &'a LockSpec,
    link: &'a AnyLink,
    /// The locks that were asked for, which are few: most clients have one key.
    locks: Vec<(Key, Box<dyn Lock>)>,
    held: Option<Held>,
    ttl: u64,
    call_timeout: u64,
}

impl Conversation<'_> {
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
            let at_ns = self.link.world().monotonic().nanos();
            let reply = Reply::Lost { key: held.key, at_ns, error };
            mailbox.say(Response { id: None, reply });
        }
        poll_fn(|cx| mailbox.poll_next(cx)).await
    }

    async fn begin(&mut self, init: &Init) -> Reply {
        self.ttl = init.ttl_ns;
        self.call_timeout = init.call_timeout_ns;
        self.link.ready().await;
        Reply::ok()
    }

    async fn acquire(&mut self, wanted: Acquire, mailbox: &mut dyn Mailbox) -> Reply {
        let Acquire { key, mode, patience_ns: patience } = wanted;
        let patience = Duration::from_nanos(patience);
        let place = self.lock(key);
        let lock = &mut self.locks[place].1;
        // Some recipes know no patience and some forget it while they clean up: after twice the
        // time nobody waits any longer, and nobody knows what the store will make of it.
        let deadline = self.link.world().sleep(patience * 2);
        let acquire = async {
            match select(lock.acquire(mode, patience), deadline).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(_) => Err(AcquireError::Unknown("never came back".into())),
            }
        };
        let outcome = listening(acquire, self.link.bell(), || {
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
            let settings = Settings { key, ttl: Duration::from_nanos(self.ttl) };
            self.locks.push((key, self.link.open(self.spec, settings)));
            self.locks.len() - 1
        })
    }

    /// Asks the store, after an acquire that failed, if this client is the holder all the same.
    /// Asks no longer than one call may take; `None` if there is no answer by then.
    async fn phantom(&self, lock: usize) -> Option<Box<Facts>> {
        let lock = &self.locks[lock].1;
        let deadline = self.link.world().sleep(Duration::from_nanos(self.call_timeout));
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

/// Waits for `work`, and calls `notified` for every ring of the bell meanwhile.
async fn listening<T>(
    work: impl Future<Output = T>,
    bell: Option<&Bell>,
    mut notified: impl FnMut(),
) -> T {
    let Some(bell) = bell else { return work.await };
    let mut work = pin!(work);
    loop {
        let heard = pin!(bell.heard());
        match select(work.as_mut(), heard).await {
            Either::Right(_) => notified(),
            Either::Left((outcome, _)) => {
                // What rang in the same moment was before the answer.
                while bell.take() {
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
