//! The real adapter: a connection of `tokio-postgres` for each session.
//!
//! It lives on one thread: make and use it inside a tokio `LocalSet`. It does for a session what
//! the simulated library does: one that has nothing to do is asked for a sign of life, and one that
//! gives none is closed.

use super::driver::PATIENCE;
use super::outcome::{no_connection, outcome};
use super::{Postgres, Refusal, Reply, Request, SessionId, SessionSettings, Signal, Statement};
use crate::real::{MachineClock, RealWorld};
use base::{Answer, CallError, Link, LocalFuture, Mono, World};
use futures_util::FutureExt;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;
use tokio::task::{AbortHandle, spawn_local};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

/// The link of a client to a real server.
pub struct RealLink {
    world: RealWorld,
    servers: Vec<String>,
    password: Option<String>,
    patience: Duration,
    live: Rc<RefCell<LiveSessions>>,
}

/// The sessions that are open, and the signals about those that are not.
#[derive(Default)]
struct LiveSessions {
    sessions: BTreeMap<SessionId, Rc<ServerSession>>,
    signals: VecDeque<Signal>,
    /// Woken when a signal comes.
    waker: Option<Waker>,
}

impl LiveSessions {
    /// Ends a connection in the middle of what it does, without a word to the server. Returns false
    /// if the session is over already.
    fn close(&mut self, session: SessionId) -> bool {
        let known = self.sessions.remove(&session);
        known.is_some_and(|session| {
            session.tasks.borrow().iter().for_each(AbortHandle::abort);
            true
        })
    }

    /// A session is over that its client did not close.
    fn lose(&mut self, session: SessionId) {
        if self.close(session) {
            self.signals.push_back(Signal::Closed { session });
            if let Some(waker) = self.waker.take() {
                waker.wake();
            }
        }
    }
}

struct ServerSession {
    client: Client,
    /// The tasks that carry and watch its connection.
    tasks: RefCell<Vec<AbortHandle>>,
    /// The number of statements that are not answered.
    open: Cell<u32>,
    clock: Rc<MachineClock>,
    /// The time of the last answer, by this clock.
    answered: Cell<Mono>,
}

impl ServerSession {
    async fn execute(&self, statement: &Statement) -> Answer<Postgres> {
        self.open.set(self.open.get() + 1);
        let answer = self.client.simple_query(&statement.sql()).await;
        self.open.set(self.open.get() - 1);
        self.answered.set(self.clock.mono());
        answer.map(|messages| reply(statement, &messages)).map_err(|error| outcome(&error))
    }
}

/// Reads the answer to a statement.
fn reply(statement: &Statement, messages: &[SimpleQueryMessage]) -> Reply {
    let first = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0)),
        _ => None,
    });
    match statement {
        Statement::TryAdvisoryLock { .. }
        | Statement::TryAdvisoryXactLock { .. }
        | Statement::AdvisoryUnlock { .. } => Reply::Answer(first == Some(Some("t"))),
        Statement::LockRow { .. } => Reply::Answer(first.is_some()),
        Statement::AdvisoryLock { .. }
        | Statement::AdvisoryXactLock { .. }
        | Statement::Begin
        | Statement::Commit
        | Statement::Rollback
        | Statement::InsertRow { .. }
        | Statement::Ping => Reply::Done,
    }
}

impl RealLink {
    /// Links to the server at the first of these addresses ("127.0.0.1:5432"). Nothing is connected
    /// yet. A server that is silent is found out within half of a `ttl`.
    pub fn new(servers: Vec<String>, password: Option<String>, ttl: Duration, seed: u64) -> Self {
        let (world, patience) = (RealWorld::new(seed), ttl / PATIENCE);
        Self { world, servers, password, patience, live: Rc::default() }
    }

    async fn connect(&self, id: SessionId, settings: SessionSettings) -> Answer<Postgres> {
        let address = self.servers.first().and_then(|server| server.parse().ok());
        let Some(address) = address else {
            let why = format!("there is no server in {:?}", self.servers);
            return Err(CallError::Refused(Refusal::NoConnection(why)));
        };
        let mut config = config(address, settings);
        if let Some(password) = &self.password {
            config.password(password);
        }
        let opened = config.connect(NoTls).await;
        let (client, connection) = opened.map_err(|error| no_connection(&error))?;
        let session = Rc::new(ServerSession {
            client,
            tasks: RefCell::default(),
            open: Cell::new(0),
            answered: Cell::new(self.world.monotonic()),
            clock: self.world.clock(),
        });
        self.live.borrow_mut().sessions.insert(id, session.clone());
        let live = self.live.clone();
        let carry = spawn_local(async move {
            // However it ends, the session is over; each of its statements gets the error.
            let _ = connection.await;
            live.borrow_mut().lose(id);
        });
        let watch = spawn_local(watch(self.live.clone(), id, self.patience, self.world.clock()));
        let tasks = [carry.abort_handle(), watch.abort_handle()];
        session.tasks.borrow_mut().extend(tasks);
        Ok(Reply::Done)
    }

    async fn execute(&self, id: SessionId, statement: Statement) -> Answer<Postgres> {
        let session = self.live.borrow().sessions.get(&id).cloned();
        match session {
            Some(session) => session.execute(&statement).await,
            None => Err(CallError::Refused(Refusal::NoSession)),
        }
    }
}

impl Drop for RealLink {
    fn drop(&mut self) {
        let mut live = self.live.borrow_mut();
        while let Some(session) = live.sessions.keys().next().copied() {
            live.close(session);
        }
    }
}

fn config(address: SocketAddr, settings: SessionSettings) -> Config {
    let SessionSettings { lock_timeout, idle_in_transaction } = settings;
    let options = format!(
        "-c lock_timeout={} -c idle_in_transaction_session_timeout={}",
        lock_timeout.as_millis(),
        idle_in_transaction.as_millis()
    );
    let mut config = Config::new();
    config.hostaddr(address.ip()).port(address.port()).user("postgres").options(options);
    config
}

/// Asks a session for a sign of life whenever it has had nothing to do, and ends it when it gives
/// none.
async fn watch(
    live: Rc<RefCell<LiveSessions>>,
    id: SessionId,
    patience: Duration,
    clock: Rc<MachineClock>,
) {
    loop {
        clock.sleep_until(clock.mono() + patience / 4).await;
        let Some(session) = live.borrow().sessions.get(&id).cloned() else { return };
        if session.open.get() > 0 || clock.mono().since(session.answered.get()) < patience {
            continue;
        }
        let asked = session.execute(&Statement::Ping);
        if clock.in_time(clock.mono() + patience, asked).await.is_none() {
            live.borrow_mut().lose(id);
            return;
        }
    }
}

impl Link<Postgres> for RealLink {
    fn world(&self) -> &dyn World {
        &self.world
    }

    /// The request leaves now and not when the future is first awaited: the future is polled once
    /// here, which makes the library send.
    fn call(&self, _server: usize, request: Request) -> LocalFuture<'_, Answer<Postgres>> {
        let mut answer: LocalFuture<'_, Answer<Postgres>> = match request {
            Request::Connect { session, settings } => Box::pin(self.connect(session, settings)),
            Request::Execute { session, statement } => Box::pin(self.execute(session, statement)),
            Request::Close { session } => {
                self.live.borrow_mut().close(session);
                Box::pin(ready(Ok(Reply::Done)))
            }
        };
        match answer.as_mut().now_or_never() {
            Some(result) => Box::pin(ready(result)),
            None => answer,
        }
    }

    fn signal(&self) -> Option<Signal> {
        self.live.borrow_mut().signals.pop_front()
    }

    fn wake_on_signal(&self, waker: &Waker) {
        self.live.borrow_mut().waker = Some(waker.clone());
    }

    fn servers(&self) -> usize {
        self.servers.len()
    }
}
