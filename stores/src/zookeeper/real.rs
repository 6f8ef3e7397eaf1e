//! A session with real servers, over the `zookeeper-client` crate.
//!
//! It lives on one thread: make and use it inside a tokio `LocalSet`.

mod requests;

use super::outcome::outcome;
use super::{Refusal, Request, SessionState, Signal, WatchId, ZooKeeper};
use crate::real::RealWorld;
use base::{Answer, CallError, Link, LocalFuture, World};
use futures_util::FutureExt;
use requests::{FiredWatch, perform};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;
use zookeeper_client as zk;

/// A failure to open a session. The text names the fix.
#[derive(Debug, thiserror::Error)]
#[error("no ZooKeeper session from {servers} within {timeout:?}: {why}; are the servers running?")]
pub struct OpenSessionError {
    servers: String,
    timeout: Duration,
    why: zk::Error,
}

/// The fate of a session when its `RealSession` is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FateOnDrop {
    /// The session is closed, and its ephemeral nodes go at once.
    Closed,
    /// The client falls silent; the servers find out by themselves.
    Silent,
}

/// A session with real servers.
pub struct RealSession {
    world: RealWorld,
    servers: Vec<String>,
    timeout: Duration,
    ending: FateOnDrop,
    live: Rc<RefCell<LiveSession>>,
}

/// The library's session as it is now; another one after `renew`.
struct LiveSession {
    client: zk::Client,
    states: zk::StateWatcher,
    state: SessionState,
    /// The signals that were not taken yet.
    signals: VecDeque<Signal>,
    /// The watches that have not fired yet.
    watches: BTreeMap<WatchId, FiredWatch>,
    /// Woken when a signal may have come.
    waker: Option<Waker>,
}

impl LiveSession {
    fn of(client: zk::Client) -> Self {
        let mut live = Self {
            states: client.state_watcher(),
            state: state_of(client.state()),
            client,
            signals: VecDeque::new(),
            watches: BTreeMap::new(),
            waker: None,
        };
        live.enter(live.state);
        live
    }

    /// Takes in what the library has reported of the state. It keeps only the latest, so that a
    /// state that changed and changed back comes as the same state again: that, too, was a
    /// disconnection.
    fn refresh(&mut self) -> SessionState {
        while let Some(state) = self.states.changed().now_or_never() {
            self.enter(state_of(state));
        }
        self.state
    }

    fn enter(&mut self, state: SessionState) {
        self.state = state;
        self.signals.push_back(Signal::State { state, session: self.client.session_id().0 });
    }

    /// Takes in the events of watches. They are read when somebody asks, without a task in between:
    /// an event that came before a reply is there when the reply is.
    fn look_at_watches(&mut self) {
        let signals = &mut self.signals;
        self.watches.retain(|watch, fired| match fired.clone().now_or_never() {
            Some(event) => {
                signals.push_back(Signal::Fired { watch: *watch, event });
                false
            }
            None => true,
        });
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl RealSession {
    /// Opens a session. `seed` starts the client's randomness.
    ///
    /// # Errors
    /// Fails when no server grants one within the session time-out.
    pub async fn connect(
        servers: Vec<String>,
        session_timeout: Duration,
        seed: u64,
    ) -> Result<Self, OpenSessionError> {
        Self::connect_with(servers, session_timeout, seed, FateOnDrop::Closed).await
    }

    /// Does the same, and chooses how the session ends.
    ///
    /// # Errors
    /// Fails when no server grants one within the session time-out.
    pub async fn connect_with(
        servers: Vec<String>,
        session_timeout: Duration,
        seed: u64,
        ending: FateOnDrop,
    ) -> Result<Self, OpenSessionError> {
        let client = open(&servers, session_timeout, ending).await.map_err(|why| {
            OpenSessionError { servers: servers.join(", "), timeout: session_timeout, why }
        })?;
        let live = Rc::new(RefCell::new(LiveSession::of(client)));
        follow(&live);
        let world = RealWorld::new(seed);
        Ok(Self { world, servers, timeout: session_timeout, ending, live })
    }
}

/// Wakes whoever waits for a signal at every change of the state.
fn follow(live: &Rc<RefCell<LiveSession>>) {
    let mut states = live.borrow().client.state_watcher();
    let live = Rc::downgrade(live);
    tokio::task::spawn_local(async move {
        loop {
            let state = states.changed().await;
            let Some(live) = live.upgrade() else { return };
            live.borrow_mut().wake();
            if state.is_terminated() {
                return;
            }
        }
    });
}

/// Sets a watch, and wakes whoever waits for a signal when it fires.
fn watch(live: &Rc<RefCell<LiveSession>>, id: WatchId, fired: FiredWatch) {
    live.borrow_mut().watches.insert(id, fired.clone());
    let live = Rc::downgrade(live);
    tokio::task::spawn_local(async move {
        fired.await;
        if let Some(live) = live.upgrade() {
            live.borrow_mut().wake();
        }
    });
}

async fn open(
    servers: &[String],
    session_timeout: Duration,
    ending: FateOnDrop,
) -> Result<zk::Client, zk::Error> {
    let connector = zk::Client::connector().with_session_timeout(session_timeout);
    let connector = match ending {
        FateOnDrop::Closed => connector,
        FateOnDrop::Silent => connector.with_detached(),
    };
    connector.connect(&servers.join(",")).await
}

impl Link<ZooKeeper> for RealSession {
    fn world(&self) -> &dyn World {
        &self.world
    }

    /// The request leaves now and not when the future is first awaited, so that requests keep the
    /// order in which they were made: the future is polled once here, which makes the library send.
    fn call(&self, _server: usize, request: Request) -> LocalFuture<'_, Answer<ZooKeeper>> {
        let mut live = self.live.borrow_mut();
        if live.refresh() == SessionState::Expired {
            return Box::pin(ready(Err(CallError::Refused(Refusal::SessionExpired))));
        }
        let client = live.client.clone();
        drop(live);
        let mut answer = Box::pin(async move {
            let (reply, set) = perform(&client, request).await.map_err(|error| outcome(&error))?;
            if let Some((id, fired)) = set {
                watch(&self.live, id, fired);
            }
            Ok(reply)
        });
        match answer.as_mut().now_or_never() {
            Some(result) => Box::pin(ready(result)),
            None => answer,
        }
    }

    fn signal(&self) -> Option<Signal> {
        let mut live = self.live.borrow_mut();
        live.refresh();
        live.look_at_watches();
        live.signals.pop_front()
    }

    fn wake_on_signal(&self, waker: &Waker) {
        self.live.borrow_mut().waker = Some(waker.clone());
    }

    fn renew(&self) -> LocalFuture<'_, Result<(), CallError<Refusal>>> {
        Box::pin(async move {
            while self.live.borrow_mut().refresh() == SessionState::Expired {
                match open(&self.servers, self.timeout, self.ending).await {
                    Ok(client) => self.adopt(client),
                    // It gives up after a session time-out; who asked decides when to stop.
                    Err(zk::Error::Timeout) => {}
                    Err(error) => return Err(outcome(&error)),
                }
            }
            Ok(())
        })
    }

    fn servers(&self) -> usize {
        self.servers.len()
    }
}

impl RealSession {
    /// The event of a watch that nobody has taken as a signal; `None`: there is no such watch.
    pub(super) fn watch(&self, watch: WatchId) -> Option<FiredWatch> {
        self.live.borrow().watches.get(&watch).cloned()
    }

    /// Goes on with a new session, unless another task has opened one meanwhile.
    fn adopt(&self, client: zk::Client) {
        let mut live = self.live.borrow_mut();
        if live.refresh() != SessionState::Expired {
            return;
        }
        live.states = client.state_watcher();
        let state = state_of(client.state());
        live.client = client;
        live.enter(state);
        live.wake();
        drop(live);
        follow(&self.live);
    }
}

const fn state_of(state: zk::SessionState) -> SessionState {
    match state {
        zk::SessionState::SyncConnected | zk::SessionState::ConnectedReadOnly => {
            SessionState::Connected
        }
        zk::SessionState::Disconnected => SessionState::Disconnected,
        zk::SessionState::AuthFailed | zk::SessionState::Expired | zk::SessionState::Closed => {
            SessionState::Expired
        }
    }
}
