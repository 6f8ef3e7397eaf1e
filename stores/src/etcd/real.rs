//! The real adapter: etcd's own JSON gateway, over connections of `hyper`.
//!
//! The crates that speak etcd's gRPC make their code from its definitions with `protoc`, a program
//! that whoever builds picklock would have to install, and they balance, reconnect and send again
//! by themselves. The gateway is the same server: every member serves it on the port for clients,
//! and hands each request to the function that gRPC would. Here a connection carries one request at
//! a time, nothing is sent twice, and no address that a member tells is followed.
//!
//! A link goes to one member at a time, and on to the next one when a connection is lost or
//! refused, or a call had no answer in time: as the simulated library does. It lives on one thread:
//! make and use it inside a tokio `LocalSet`.

mod connection;
pub mod messages;

use super::{DeletionWatchId, Etcd, Refusal, Reply, Request, Signal};
use crate::real::RealWorld;
use base::{Answer, CallError, Link, LocalFuture, Rng, World};
use connection::{AnswerBody, MemberConnection};
use futures_util::FutureExt;
use messages::WatchLine;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;
use tokio::task::{AbortHandle, spawn_local};

/// The link of a client to real members.
pub struct RealLink {
    world: RealWorld,
    call_timeout: Duration,
    shared: Rc<RefCell<LinkState>>,
}

/// The connections of a link, and the signals about them.
struct LinkState {
    servers: Vec<String>,
    /// The member that it goes to.
    server: usize,
    /// Counts the members that it has gone to.
    visit: u64,
    /// The connections to it that carry nothing.
    idle: Vec<MemberConnection>,
    /// The tasks that read watches.
    watches: BTreeMap<DeletionWatchId, AbortHandle>,
    signals: VecDeque<Signal>,
    /// Woken when a signal comes.
    waker: Option<Waker>,
}

impl LinkState {
    /// Goes on to another member, unless it has gone on already: watches are over.
    fn lose(&mut self, visit: u64) {
        if visit != self.visit {
            return;
        }
        self.visit += 1;
        self.server = (self.server + 1) % self.servers.len().max(1);
        self.idle.clear();
        for (watch, task) in std::mem::take(&mut self.watches) {
            task.abort();
            self.signal(Signal::Ended { watch });
        }
    }

    fn signal(&mut self, signal: Signal) {
        self.signals.push_back(signal);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl RealLink {
    /// Links to the members at these addresses ("127.0.0.1:2379"). Nothing is connected yet. A call
    /// takes at most `call_timeout`, opening the connection included.
    pub fn new(servers: Vec<String>, call_timeout: Duration, seed: u64) -> Self {
        let server = Rng::new(seed).below(servers.len().max(1) as u64) as usize;
        let state = LinkState {
            servers,
            server,
            visit: 0,
            idle: Vec::new(),
            watches: BTreeMap::new(),
            signals: VecDeque::new(),
            waker: None,
        };
        Self { world: RealWorld::new(seed), call_timeout, shared: Rc::new(RefCell::new(state)) }
    }

    /// Asks the member that the link goes to.
    async fn ask(&self, request: Request) -> Answer<Etcd> {
        let deadline = self.world.monotonic() + self.call_timeout;
        let visit = self.shared.borrow().visit;
        let answer = match self.world.in_time(deadline, self.connected(visit)).await {
            Some(Ok(connection)) => {
                let asked = self.ask_over(connection, visit, &request);
                let late = || Err(CallError::Unknown("no reply in time".into()));
                self.world.in_time(deadline, asked).await.unwrap_or_else(late)
            }
            Some(Err(error)) => Err(no_connection(error)),
            None => Err(no_connection("no connection in time".into())),
        };
        if matches!(
            answer,
            Err(CallError::Unknown(_) | CallError::Refused(Refusal::NoConnection(_)))
        ) {
            self.shared.borrow_mut().lose(visit);
        }
        answer
    }

    /// A connection that carries nothing: one that is open already, or a new one.
    async fn connected(&self, visit: u64) -> Result<MemberConnection, String> {
        let (idle, address) = {
            let mut shared = self.shared.borrow_mut();
            (shared.idle.pop(), shared.servers.get(shared.server).cloned())
        };
        if let Some(connection) = idle {
            return Ok(connection);
        }
        let address = address.ok_or("there is no server")?;
        let shared = self.shared.clone();
        MemberConnection::open(&address, move || shared.borrow_mut().lose(visit)).await
    }

    async fn ask_over(
        &self,
        mut connection: MemberConnection,
        visit: u64,
        request: &Request,
    ) -> Answer<Etcd> {
        let (path, body) = messages::written(request);
        let (status, mut answer) = connection.send(path, body).await?;
        if let Request::Watch { watch, .. } = request {
            return self.watch(connection, answer, *watch).await;
        }
        let text = answer.all().await?;
        let mut shared = self.shared.borrow_mut();
        if shared.visit == visit {
            shared.idle.push(connection);
        }
        messages::read(request, status, &text)
    }

    /// Reads a watch, which has its connection to itself, until it is over.
    async fn watch(
        &self,
        connection: MemberConnection,
        mut lines: AnswerBody,
        watch: DeletionWatchId,
    ) -> Answer<Etcd> {
        match messages::watch_line(&lines.line().await?) {
            WatchLine::Created => {}
            WatchLine::Ended(error) => return Err(error),
            WatchLine::Deleted | WatchLine::Nothing => {
                return Err(CallError::Unknown("the server answered something else".into()));
            }
        }
        let shared = self.shared.clone();
        let task = spawn_local(async move {
            // Closed when the watch is over.
            let _connection = connection;
            let signal = until_over(&mut lines, watch).await;
            let mut shared = shared.borrow_mut();
            shared.watches.remove(&watch);
            shared.signal(signal);
        });
        self.shared.borrow_mut().watches.insert(watch, task.abort_handle());
        Ok(Reply::Watching)
    }

    /// Asks the member whether it leads; `None` if it does not answer.
    pub async fn leads(&self) -> Option<bool> {
        let visit = self.shared.borrow().visit;
        let asked = async {
            let mut connection = self.connected(visit).await.ok()?;
            let (_, mut answer) = connection.send(messages::STATUS, "{}".into()).await.ok()?;
            messages::leads(&answer.all().await.ok()?)
        };
        self.world.in_time(self.world.monotonic() + self.call_timeout, asked).await?
    }

    fn unwatch(&self, watch: DeletionWatchId) {
        if let Some(task) = self.shared.borrow_mut().watches.remove(&watch) {
            task.abort();
        }
    }
}

async fn until_over(lines: &mut AnswerBody, watch: DeletionWatchId) -> Signal {
    while let Ok(line) = lines.line().await {
        match messages::watch_line(&line) {
            WatchLine::Deleted => return Signal::Deleted { watch },
            WatchLine::Ended(_) => break,
            WatchLine::Created | WatchLine::Nothing => {}
        }
    }
    Signal::Ended { watch }
}

/// Asks a member over a connection of its own.
///
/// # Errors
/// Fails with the reason when it cannot be asked, or answers with an error.
pub async fn ask(address: &str, path: &'static str, body: Value) -> Result<Value, String> {
    let mut connection = MemberConnection::open(address, || ()).await?;
    let sent = connection.send(path, body.to_string()).await;
    let (status, mut answer) = sent.map_err(|error| error.to_string())?;
    let text = answer.all().await.map_err(|error| error.to_string())?;
    match status {
        200 => serde_json::from_str(&text).map_err(|error| error.to_string()),
        _ => Err(text),
    }
}

fn no_connection(error: String) -> CallError<Refusal> {
    CallError::Refused(Refusal::NoConnection(error))
}

impl Drop for RealLink {
    fn drop(&mut self) {
        let mut shared = self.shared.borrow_mut();
        shared.idle.clear();
        std::mem::take(&mut shared.watches).into_values().for_each(|task| task.abort());
    }
}

impl Link<Etcd> for RealLink {
    fn world(&self) -> &dyn World {
        &self.world
    }

    /// The request leaves now and not when the future is first awaited: the future is polled once
    /// here, which makes the library send.
    fn call(&self, _server: usize, request: Request) -> LocalFuture<'_, Answer<Etcd>> {
        if let Request::Unwatch { watch } = request {
            self.unwatch(watch);
            return Box::pin(ready(Ok(Reply::Unwatched)));
        }
        let mut answer = Box::pin(self.ask(request));
        match answer.as_mut().now_or_never() {
            Some(result) => Box::pin(ready(result)),
            None => answer,
        }
    }

    fn signal(&self) -> Option<Signal> {
        self.shared.borrow_mut().signals.pop_front()
    }

    fn wake_on_signal(&self, waker: &Waker) {
        self.shared.borrow_mut().waker = Some(waker.clone());
    }

    fn servers(&self) -> usize {
        self.shared.borrow().servers.len()
    }
}
