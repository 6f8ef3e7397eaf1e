//! A session with real servers, over the `zookeeper-client` crate.
//!
//! It lives on one thread: make and use it inside a tokio `LocalSet`.

use super::outcome::outcome;
use super::{
    CreateMode, Refusal, Reply, Request, Session, SessionState, WatchEvent, WatchId, ZooKeeper,
};
use crate::real::RealWorld;
use base::{CallError, Link, LocalFuture, Mono, Wall, World};
use futures_util::FutureExt;
use futures_util::future::Shared;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::ready;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;
use zookeeper_client as zk;

/// Why there is no session. The text names the fix.
#[derive(Debug, thiserror::Error)]
#[error("no ZooKeeper session from {servers} within {timeout:?}: {why}; are the servers running?")]
pub struct ConnectError {
    servers: String,
    timeout: Duration,
    why: zk::Error,
}

/// What becomes of a session when its `RealSession` is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is closed, and its ephemeral nodes go at once.
    Closed,
    /// Its client falls silent; the servers find out by themselves.
    Silent,
}

/// A session with real servers.
pub struct RealSession {
    world: RealWorld,
    servers: Vec<String>,
    timeout: Duration,
    ending: Ending,
    live: Rc<RefCell<Live>>,
}

type Fired = Shared<LocalFuture<'static, WatchEvent>>;

/// The library's session as it is now; another one after `renew`.
struct Live {
    client: zk::Client,
    states: zk::StateWatcher,
    state: SessionState,
    disconnects: u64,
    /// Counts the changes of the state.
    changes: watch::Sender<u64>,
    watches: BTreeMap<WatchId, Fired>,
}

impl Live {
    /// Takes in what the library has said of the state. It keeps only the latest word, so that a
    /// state that changed and changed back comes as the same state again: that, too, was a
    /// disconnection.
    fn refresh(&mut self) -> SessionState {
        while let Some(state) = self.states.changed().now_or_never() {
            self.enter(state_of(state));
        }
        self.state
    }

    fn enter(&mut self, state: SessionState) {
        if self.state == SessionState::Connected {
            self.disconnects += 1;
        }
        self.state = state;
        self.changes.send_modify(|changes| *changes += 1);
    }
}

impl RealSession {
    /// Opens a session. `seed` starts the client's randomness.
    ///
    /// # Errors
    /// When no server grants one within the session time-out.
    pub async fn connect(
        servers: Vec<String>,
        session_timeout: Duration,
        seed: u64,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(servers, session_timeout, seed, Ending::Closed).await
    }

    /// The same, and chooses how it ends.
    ///
    /// # Errors
    /// When no server grants one within the session time-out.
    pub async fn connect_with(
        servers: Vec<String>,
        session_timeout: Duration,
        seed: u64,
        ending: Ending,
    ) -> Result<Self, ConnectError> {
        let client = open(&servers, session_timeout, ending).await.map_err(|why| ConnectError {
            servers: servers.join(", "),
            timeout: session_timeout,
            why,
        })?;
        let live = Live {
            states: client.state_watcher(),
            state: state_of(client.state()),
            client,
            disconnects: 0,
            changes: watch::Sender::new(0),
            watches: BTreeMap::new(),
        };
        let live = Rc::new(RefCell::new(live));
        follow(&live);
        let world = RealWorld::new(seed);
        Ok(Self { world, servers, timeout: session_timeout, ending, live })
    }
}

/// Takes in every change of the state when it comes, for those who wait for one.
fn follow(live: &Rc<RefCell<Live>>) {
    let mut states = live.borrow().client.state_watcher();
    let live = Rc::downgrade(live);
    tokio::task::spawn_local(async move {
        loop {
            let state = states.changed().await;
            let Some(live) = live.upgrade() else { return };
            live.borrow_mut().refresh();
            if state.is_terminated() {
                return;
            }
        }
    });
}

async fn open(
    servers: &[String],
    session_timeout: Duration,
    ending: Ending,
) -> Result<zk::Client, zk::Error> {
    let connector = zk::Client::connector().with_session_timeout(session_timeout);
    let connector = match ending {
        Ending::Closed => connector,
        Ending::Silent => connector.with_detached(),
    };
    connector.connect(&servers.join(",")).await
}

impl World for RealSession {
    fn now(&self) -> Wall {
        self.world.now()
    }

    fn monotonic(&self) -> Mono {
        self.world.monotonic()
    }

    fn sleep(&self, duration: Duration) -> LocalFuture<'_, ()> {
        self.world.sleep(duration)
    }

    fn random(&self) -> u64 {
        self.world.random()
    }
}

impl Link<ZooKeeper> for RealSession {
    /// The request leaves now and not when the future is first awaited, so that requests keep the
    /// order in which they were made: the future is polled once here, which makes the library send.
    fn call(
        &self,
        _server: usize,
        request: Request,
    ) -> LocalFuture<'_, Result<Reply, CallError<Refusal>>> {
        let mut live = self.live.borrow_mut();
        if live.refresh() == SessionState::Expired {
            return Box::pin(ready(Err(CallError::Refused(Refusal::SessionExpired))));
        }
        let client = live.client.clone();
        drop(live);
        let mut answer = Box::pin(async move {
            let (reply, watch) =
                perform(&client, request).await.map_err(|error| outcome(&error))?;
            if let Some((id, fired)) = watch {
                self.live.borrow_mut().watches.insert(id, fired);
            }
            Ok(reply)
        });
        match answer.as_mut().now_or_never() {
            Some(result) => Box::pin(ready(result)),
            None => answer,
        }
    }

    fn servers(&self) -> usize {
        self.servers.len()
    }
}

impl Session for RealSession {
    fn id(&self) -> i64 {
        self.live.borrow().client.session_id().0
    }

    fn state(&self) -> SessionState {
        self.live.borrow_mut().refresh()
    }

    fn disconnects(&self) -> u64 {
        let mut live = self.live.borrow_mut();
        live.refresh();
        live.disconnects
    }

    fn changed(&self) -> LocalFuture<'_, SessionState> {
        self.live.borrow_mut().refresh();
        let mut changes = self.live.borrow().changes.subscribe();
        Box::pin(async move {
            // The sender lives as long as this session, which is borrowed here.
            let _ = changes.changed().await;
            self.state()
        })
    }

    fn fired(&self, watch: WatchId) -> LocalFuture<'_, WatchEvent> {
        match self.live.borrow().watches.get(&watch) {
            Some(fired) => Box::pin(fired.clone()),
            None => Box::pin(std::future::pending()),
        }
    }

    fn renew(&self) -> LocalFuture<'_, Result<(), CallError<Refusal>>> {
        Box::pin(async move {
            while self.state() == SessionState::Expired {
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
}

impl RealSession {
    /// Goes on with a new session, unless somebody else has opened one meanwhile.
    fn adopt(&self, client: zk::Client) {
        let mut live = self.live.borrow_mut();
        if live.refresh() != SessionState::Expired {
            return;
        }
        live.states = client.state_watcher();
        let state = state_of(client.state());
        live.client = client;
        live.enter(state);
        drop(live);
        follow(&self.live);
    }
}

type Answer = (Reply, Option<(WatchId, Fired)>);

async fn perform(client: &zk::Client, request: Request) -> Result<Answer, zk::Error> {
    match request {
        Request::Create { path, data, mode } => create(client, path, &data, mode).await,
        Request::Delete { path, version } => {
            client.delete(&path, version).await?;
            Ok((Reply::Deleted, None))
        }
        Request::SetData { path, data, version } => {
            let stat = client.set_data(&path, &data, version).await?;
            Ok((Reply::DataSet(stat.version), None))
        }
        Request::Sync { path } => {
            client.sync(&path).await?;
            Ok((Reply::Synced, None))
        }
        Request::Exists { path, watch: None } => {
            let stat = client.check_stat(&path).await?;
            Ok((Reply::Exists(stat.map(|stat| stat.czxid)), None))
        }
        Request::Exists { path, watch: Some(id) } => {
            let (stat, watcher) = client.check_and_watch_stat(&path).await?;
            Ok((Reply::Exists(stat.map(|stat| stat.czxid)), Some((id, fired(watcher)))))
        }
        Request::GetData { path, watch: None } => {
            let (data, stat) = client.get_data(&path).await?;
            Ok((Reply::Data { data, version: stat.version }, None))
        }
        Request::GetData { path, watch: Some(id) } => {
            let (data, stat, watcher) = client.get_and_watch_data(&path).await?;
            Ok((Reply::Data { data, version: stat.version }, Some((id, fired(watcher)))))
        }
        Request::GetChildren { path, watch: None } => {
            Ok((Reply::Children(client.list_children(&path).await?), None))
        }
        Request::GetChildren { path, watch: Some(id) } => {
            let (children, watcher) = client.list_and_watch_children(&path).await?;
            Ok((Reply::Children(children), Some((id, fired(watcher)))))
        }
    }
}

async fn create(
    client: &zk::Client,
    path: String,
    data: &[u8],
    mode: CreateMode,
) -> Result<Answer, zk::Error> {
    let kind = match mode {
        CreateMode::Persistent => zk::CreateMode::Persistent,
        CreateMode::Ephemeral => zk::CreateMode::Ephemeral,
        CreateMode::EphemeralSequential => zk::CreateMode::EphemeralSequential,
    };
    let options = kind.with_acls(zk::Acls::anyone_all());
    let (stat, sequence) = client.create(&path, data, &options).await?;
    let path = match mode {
        CreateMode::EphemeralSequential => format!("{path}{sequence}"),
        CreateMode::Persistent | CreateMode::Ephemeral => path,
    };
    Ok((Reply::Created { path, czxid: stat.czxid }, None))
}

/// A watch's event. It is read when somebody asks, without a task in between: an event that came
/// before a reply is there when the reply is.
fn fired(watcher: zk::OneshotWatcher) -> Fired {
    let event: LocalFuture<'static, WatchEvent> =
        Box::pin(async move { event_of(watcher.changed().await.event_type) });
    event.shared()
}

const fn event_of(event: zk::EventType) -> WatchEvent {
    match event {
        zk::EventType::NodeCreated => WatchEvent::Created,
        zk::EventType::NodeDeleted => WatchEvent::Deleted,
        zk::EventType::NodeDataChanged => WatchEvent::DataChanged,
        zk::EventType::NodeChildrenChanged => WatchEvent::ChildrenChanged,
        // One-shot watches hear of the session only when it is over.
        zk::EventType::Session => WatchEvent::SessionExpired,
    }
}

const fn state_of(state: zk::SessionState) -> SessionState {
    match state {
        zk::SessionState::SyncConnected | zk::SessionState::ConnectedReadOnly => {
            SessionState::Connected
        }
        zk::SessionState::Disconnected => SessionState::Disconnected,
        zk::SessionState::AuthFailed
        | zk::SessionState::Expired
        | zk::SessionState::Closed => SessionState::Expired,
    }
}
