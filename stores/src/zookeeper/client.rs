//! A typed face of a session, so that recipes read as they do in books.
//!
//! A request is made when its method is called, not when the future is first polled; dropping the
//! future does not withdraw it.

use super::{
    CreateMode, Refusal, Reply, Request, SessionState, Signal, WatchEvent, WatchId, ZooKeeper, path,
};
use base::{CallError, Link, Wakeups, World};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The result of a call.
pub type CallResult<T> = std::result::Result<T, CallError<Refusal>>;

/// A session. Clones are the same session; make one `Client` for a link and clone it, else two
/// would give the same numbers to different watches.
#[derive(Clone)]
pub struct Client {
    session: Rc<ClientParts>,
    wakeups: Wakeups,
    /// The number of calls whose outcome a recipe has found to be unknown.
    doubts: Rc<Cell<u64>>,
}

struct ClientParts {
    link: Rc<dyn Link<ZooKeeper>>,
    /// The number of the next watch.
    watches: Cell<WatchId>,
    session: RefCell<SessionStanding>,
}

/// The session, as far as its signals have reported it.
#[derive(Default)]
struct SessionStanding {
    id: i64,
    state: Option<SessionState>,
    disconnects: u64,
    /// Counts the changes of the state.
    changes: u64,
    /// The watches that have fired and that nobody has asked about yet.
    fired: BTreeMap<WatchId, WatchEvent>,
    /// Each signal wakes all that wait for any: they may have seen less than there is.
    waiting: Vec<Waker>,
}

impl SessionStanding {
    fn take_in(&mut self, signal: Signal) {
        match signal {
            Signal::State { state, session } => {
                self.disconnects += u64::from(self.state == Some(SessionState::Connected));
                (self.state, self.id) = (Some(state), session);
                self.changes += 1;
            }
            Signal::Fired { watch, event } => {
                self.fired.insert(watch, event);
            }
        }
    }
}

impl ClientParts {
    /// Takes in every signal that has come.
    fn hear(&self) {
        let mut session = self.session.borrow_mut();
        let mut fresh = false;
        while let Some(signal) = self.link.signal() {
            session.take_in(signal);
            fresh = true;
        }
        if fresh {
            session.waiting.drain(..).for_each(Waker::wake);
        }
    }

    /// Returns what it looks for in the session as it is now.
    fn look<T>(&self, at: impl FnOnce(&mut SessionStanding) -> T) -> T {
        self.hear();
        at(&mut self.session.borrow_mut())
    }

    /// Waits until it is found in the session.
    fn until<T>(
        &self,
        find: impl Fn(&mut SessionStanding) -> Option<T>,
    ) -> impl Future<Output = T> {
        poll_fn(move |cx| {
            if let Some(found) = self.look(&find) {
                return Poll::Ready(found);
            }
            self.link.wake_on_signal(cx.waker());
            let waiting = &mut self.session.borrow_mut().waiting;
            if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
    }
}

/// A node that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// The path of the node, with the sequence number.
    pub path: String,
    /// The transaction that created it. Later ones are greater: a fencing token.
    pub czxid: i64,
}

/// A watch that is set.
pub struct Watch {
    session: Rc<ClientParts>,
    id: WatchId,
}

impl Watch {
    /// Waits until it fires; at once if it has.
    pub async fn fired(&self) -> WatchEvent {
        self.session.until(|session| session.fired.get(&self.id).copied()).await
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.session.session.borrow_mut().fired.remove(&self.id);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({})", self.id)
    }
}

impl Client {
    /// Makes the client of this link's session.
    pub fn new(link: Rc<dyn Link<ZooKeeper>>) -> Self {
        let session = ClientParts { link, watches: Cell::new(0), session: RefCell::default() };
        Self { session: Rc::new(session), wakeups: Wakeups::default(), doubts: Rc::default() }
    }

    /// Returns a client of the same session with wake-ups and doubts of its own.
    #[must_use]
    pub fn with_own_wakeups(&self) -> Self {
        let session = self.session.clone();
        Self { session, wakeups: Wakeups::default(), doubts: Rc::default() }
    }

    /// Notes that nobody knows what became of a call.
    pub fn doubt(&self) {
        self.doubts.set(self.doubts.get() + 1);
    }

    /// The number of calls of which that was noted.
    pub fn doubts(&self) -> u64 {
        self.doubts.get()
    }

    /// The clocks, the sleep and the randomness of this client's machine.
    pub fn world(&self) -> &dyn World {
        self.session.link.world()
    }

    /// The wake-ups that a recipe notes when a watch has woken it, and that its client reports.
    pub fn wakeups(&self) -> &Wakeups {
        &self.wakeups
    }

    /// The number of servers in the ensemble.
    pub fn servers(&self) -> usize {
        self.session.link.servers()
    }

    /// The session's number; 0 while there is none.
    pub fn id(&self) -> i64 {
        self.session.look(|session| session.id)
    }

    /// The state of the session, as far as this client knows it. Before its first connection a
    /// session is as good as disconnected.
    pub fn state(&self) -> SessionState {
        self.session.look(|session| session.state.unwrap_or(SessionState::Disconnected))
    }

    /// The number of times that it has been disconnected so far. If it has not changed since a
    /// grant, the session was never in doubt since then, which the state alone cannot show.
    pub fn disconnects(&self) -> u64 {
        self.session.look(|session| session.disconnects)
    }

    /// Waits until the state changes, or changes and changes back.
    pub fn changed(&self) -> impl Future<Output = SessionState> {
        let seen = self.session.look(|session| session.changes);
        self.session.until(move |session| session.state.filter(|_| session.changes != seen))
    }

    /// Opens a new session if the old one has expired.
    ///
    /// # Errors
    /// Fails when the servers cannot be asked for one.
    pub async fn renew(&self) -> CallResult<()> {
        if self.state() != SessionState::Expired {
            return Ok(());
        }
        self.session.link.renew().await?;
        while self.state() != SessionState::Connected {
            self.changed().await;
        }
        Ok(())
    }

    /// Creates a node.
    pub fn create(
        &self,
        path: &str,
        data: &[u8],
        mode: CreateMode,
    ) -> impl Future<Output = CallResult<Created>> + use<'_> {
        let request = Request::Create { path: path.to_owned(), data: data.to_vec(), mode };
        self.call(request, |reply| match reply {
            Reply::Created { path, czxid } => Some(Created { path, czxid }),
            _ => None,
        })
    }

    /// Creates a node that stays, and its parents, where they are not there yet.
    pub async fn ensure(&self, path: &str) -> CallResult<()> {
        path::check(&Request::Exists { path: path.to_owned(), watch: None })
            .map_err(CallError::Refused)?;
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            match self.create(&path[..end], &[], CreateMode::Persistent).await {
                Ok(_) | Err(CallError::Refused(Refusal::NodeExists)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Deletes a node, of this data version if one is given.
    pub fn delete(
        &self,
        path: &str,
        version: Option<i32>,
    ) -> impl Future<Output = CallResult<()>> + use<'_> {
        let request = Request::Delete { path: path.to_owned(), version };
        self.call(request, |reply| (reply == Reply::Deleted).then_some(()))
    }

    /// Replaces a node's data; returns its new version.
    pub fn set_data(
        &self,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> impl Future<Output = CallResult<i32>> + use<'_> {
        let request = Request::SetData { path: path.to_owned(), data: data.to_vec(), version };
        self.call(request, |reply| match reply {
            Reply::DataSet(version) => Some(version),
            _ => None,
        })
    }

    /// The czxid of a node, if it exists.
    pub fn exists(&self, path: &str) -> impl Future<Output = CallResult<Option<i64>>> + use<'_> {
        self.call(Request::Exists { path: path.to_owned(), watch: None }, into_exists)
    }

    /// Does the same, and watches for its creation, its deletion and changes of its data.
    pub fn exists_watched(
        &self,
        path: &str,
    ) -> impl Future<Output = CallResult<(Option<i64>, Watch)>> + use<'_> {
        let path = path.to_owned();
        self.watched(|watch| Request::Exists { path, watch }, into_exists)
    }

    /// A node's data and its version.
    pub fn get_data(
        &self,
        path: &str,
    ) -> impl Future<Output = CallResult<(Vec<u8>, i32)>> + use<'_> {
        self.call(Request::GetData { path: path.to_owned(), watch: None }, into_data)
    }

    /// Does the same, and watches for its deletion and changes of its data.
    pub fn get_data_watched(
        &self,
        path: &str,
    ) -> impl Future<Output = CallResult<((Vec<u8>, i32), Watch)>> + use<'_> {
        let path = path.to_owned();
        self.watched(|watch| Request::GetData { path, watch }, into_data)
    }

    /// The names of a node's children, in no particular order.
    pub fn get_children(
        &self,
        path: &str,
    ) -> impl Future<Output = CallResult<Vec<String>>> + use<'_> {
        self.call(Request::GetChildren { path: path.to_owned(), watch: None }, into_children)
    }

    /// Does the same, and watches for children that come and go, and for the node's deletion.
    pub fn get_children_watched(
        &self,
        path: &str,
    ) -> impl Future<Output = CallResult<(Vec<String>, Watch)>> + use<'_> {
        let path = path.to_owned();
        self.watched(|watch| Request::GetChildren { path, watch }, into_children)
    }

    /// Brings this client's server up to date with the leader.
    pub fn sync(&self, path: &str) -> impl Future<Output = CallResult<()>> + use<'_> {
        let request = Request::Sync { path: path.to_owned() };
        self.call(request, |reply| (reply == Reply::Synced).then_some(()))
    }

    fn call<T>(
        &self,
        request: Request,
        take: impl Fn(Reply) -> Option<T>,
    ) -> impl Future<Output = CallResult<T>> {
        let reply = self.session.link.call(0, request);
        async move {
            let reply = reply.await?;
            let message = format!("the server answered something else: {reply:?}");
            take(reply).ok_or(CallError::Unknown(message))
        }
    }

    fn watched<T>(
        &self,
        request: impl FnOnce(Option<WatchId>) -> Request,
        take: impl Fn(Reply) -> Option<T>,
    ) -> impl Future<Output = CallResult<(T, Watch)>> {
        let id = self.session.watches.get();
        self.session.watches.set(id + 1);
        let reply = self.call(request(Some(id)), take);
        async move { Ok((reply.await?, Watch { session: Rc::clone(&self.session), id })) }
    }
}

fn into_exists(reply: Reply) -> Option<Option<i64>> {
    match reply {
        Reply::Exists(czxid) => Some(czxid),
        _ => None,
    }
}

fn into_data(reply: Reply) -> Option<(Vec<u8>, i32)> {
    match reply {
        Reply::Data { data, version } => Some((data, version)),
        _ => None,
    }
}

fn into_children(reply: Reply) -> Option<Vec<String>> {
    match reply {
        Reply::Children(names) => Some(names),
        _ => None,
    }
}

/// The number at the end of a sequential node's name: ten digits, whatever comes before them.
pub fn sequence(name: &str) -> Option<u64> {
    let digits = name.get(name.len().checked_sub(10)?..)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_number_is_the_last_ten_digits() {
        assert_eq!(sequence("lock-0000000012"), Some(12));
        assert_eq!(sequence("0000000003"), Some(3));
        assert_eq!(sequence("product7_write_20000000001"), Some(1));
        for name in ["", "lock", "lock-12", "lock-000000001x", "ä00000000012"] {
            let expected = (name == "ä00000000012").then_some(12);
            assert_eq!(sequence(name), expected, "{name}");
        }
    }
}
