//! A typed face of a session, so that recipes read as they do in books.
//!
//! A request is made when its method is called, not when the future is first polled; dropping the
//! future does not withdraw it.

use super::{
    Bell, CreateMode, Refusal, Reply, Request, Session, SessionState, WatchEvent, WatchId, path,
};
use base::{CallError, LocalFuture, World};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::rc::Rc;

/// The result of a call.
pub type Result<T> = std::result::Result<T, CallError<Refusal>>;

/// A session, and the numbers of its watches. Clones are the same session; make one `Client` for a
/// session and clone it, else two would give the same numbers to different watches.
#[derive(Clone)]
pub struct Client {
    session: Rc<dyn Session>,
    watches: Rc<Cell<WatchId>>,
    bell: Bell,
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
    session: Rc<dyn Session>,
    id: WatchId,
}

impl Watch {
    /// Waits until it fires; at once if it has.
    pub async fn fired(&self) -> WatchEvent {
        self.session.fired(self.id).await
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({})", self.id)
    }
}

impl Client {
    /// The face of this session.
    pub fn new(session: Rc<dyn Session>) -> Self {
        Self { session, watches: Rc::default(), bell: Bell::default() }
    }

    /// The clocks, the sleep and the randomness of this client's machine.
    pub fn world(&self) -> &dyn World {
        &*self.session
    }

    /// The bell that a recipe rings when a watch has woken it, and that its client listens to.
    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    /// The number of servers in the ensemble.
    pub fn servers(&self) -> usize {
        self.session.servers()
    }

    /// The session's number.
    pub fn id(&self) -> i64 {
        self.session.id()
    }

    /// The state of the session, as far as this client knows it.
    pub fn state(&self) -> SessionState {
        self.session.state()
    }

    /// The number of times that it has been disconnected so far.
    pub fn disconnects(&self) -> u64 {
        self.session.disconnects()
    }

    /// Waits until the state changes.
    pub fn changed(&self) -> LocalFuture<'_, SessionState> {
        self.session.changed()
    }

    /// Opens a new session if the old one has expired.
    pub fn renew(&self) -> LocalFuture<'_, Result<()>> {
        self.session.renew()
    }

    /// Creates a node.
    pub fn create(
        &self,
        path: &str,
        data: &[u8],
        mode: CreateMode,
    ) -> impl Future<Output = Result<Created>> + use<'_> {
        let request = Request::Create { path: path.to_owned(), data: data.to_vec(), mode };
        self.call(request, |reply| match reply {
            Reply::Created { path, czxid } => Some(Created { path, czxid }),
            _ => None,
        })
    }

    /// Creates a node that stays, and its parents, where they are not there yet.
    pub async fn ensure(&self, path: &str) -> Result<()> {
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
    ) -> impl Future<Output = Result<()>> + use<'_> {
        let request = Request::Delete { path: path.to_owned(), version };
        self.call(request, |reply| (reply == Reply::Deleted).then_some(()))
    }

    /// Replaces a node's data; returns its new version.
    pub fn set_data(
        &self,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> impl Future<Output = Result<i32>> + use<'_> {
        let request = Request::SetData { path: path.to_owned(), data: data.to_vec(), version };
        self.call(request, |reply| match reply {
            Reply::DataSet(version) => Some(version),
            _ => None,
        })
    }

    /// The czxid of a node, if it exists.
    pub fn exists(&self, path: &str) -> impl Future<Output = Result<Option<i64>>> + use<'_> {
        self.call(Request::Exists { path: path.to_owned(), watch: None }, into_exists)
    }

    /// Does the same, and watches for its creation, its deletion and changes of its data.
    pub fn exists_watched(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<(Option<i64>, Watch)>> + use<'_> {
        let path = path.to_owned();
        self.watched(|watch| Request::Exists { path, watch }, into_exists)
    }

    /// A node's data and its version.
    pub fn get_data(&self, path: &str) -> impl Future<Output = Result<(Vec<u8>, i32)>> + use<'_> {
        self.call(Request::GetData { path: path.to_owned(), watch: None }, into_data)
    }

    /// Does the same, and watches for its deletion and changes of its data.
    pub fn get_data_watched(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<((Vec<u8>, i32), Watch)>> + use<'_> {
        let path = path.to_owned();
        self.watched(|watch| Request::GetData { path, watch }, into_data)
    }

    /// The names of a node's children, in no particular order.
    pub fn get_children(&self, path: &str) -> impl Future<Output = Result<Vec<String>>> + use<'_> {
        self.call(Request::GetChildren { path: path.to_owned(), watch: None }, into_children)
    }

    /// Does the same, and watches for children that come and go, and for the node's deletion.
    pub fn get_children_watched(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<(Vec<String>, Watch)>> + use<'_> {
        let path = path.to_owned();
        self.watched(|watch| Request::GetChildren { path, watch }, into_children)
    }

    /// Brings this client's server up to date with the leader.
    pub fn sync(&self, path: &str) -> impl Future<Output = Result<()>> + use<'_> {
        let request = Request::Sync { path: path.to_owned() };
        self.call(request, |reply| (reply == Reply::Synced).then_some(()))
    }

    fn call<T>(
        &self,
        request: Request,
        take: impl Fn(Reply) -> Option<T>,
    ) -> impl Future<Output = Result<T>> {
        let reply = self.session.call(0, request);
        async move {
            let reply = reply.await?;
            let said = format!("the server answered something else: {reply:?}");
            take(reply).ok_or(CallError::Unknown(said))
        }
    }

    fn watched<T>(
        &self,
        request: impl FnOnce(Option<WatchId>) -> Request,
        take: impl Fn(Reply) -> Option<T>,
    ) -> impl Future<Output = Result<(T, Watch)>> {
        let id = self.watches.get();
        self.watches.set(id + 1);
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
