//! The interface of real servers, in containers or as processes, to the testbed: all that it has to
//! know of what they run in.

use base::{BackendError, Direction};
use futures_util::Stream;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stores::{Cluster, StoreId};

use super::broken;

/// The servers of one run. They have to be removed with `remove`.
pub trait Servers: Sized + 'static {
    /// The name of their backend, as `--backend` takes it.
    const BACKEND: &'static str;
    /// The interval between two looks whether somebody else has done something to a server.
    const LOOKS: Duration;

    /// The type of one started server.
    type Server: StartedServer;

    /// Starts them and waits until they all serve; `progress` is told what goes on, line by line.
    /// When one cannot be started, none is left. First removes what killed runs left behind.
    fn start(
        store: StoreId,
        cluster: Cluster,
        progress: &dyn Fn(&str),
    ) -> impl Future<Output = Result<Self, BackendError>>;

    /// The servers, by number.
    fn all(&self) -> &[Arc<Self::Server>];

    /// The actions of somebody else on them that are reported as they happen, in words.
    fn reports(&self) -> impl Stream<Item = String> + Send + 'static;

    /// Removes them, and all that was made for them. Nobody else may hold one of them any more.
    fn remove(self) -> impl Future<Output = Result<(), BackendError>>;
}

/// A server, with what faults do to it.
pub trait StartedServer: Send + Sync + 'static {
    /// A link between two servers that is cut.
    type Cut: Send;
    /// The measure of a cut between servers, in words.
    const CUT: &'static str;

    /// The number of the server, from 0.
    fn number(&self) -> u32;

    /// The address at which it was last seen to serve.
    ///
    /// # Errors
    /// Fails when it has not served yet.
    fn address(&self) -> Result<SocketAddr, BackendError>;

    /// Returns true if it should be running and nothing is being done to it.
    fn is_running(&self) -> bool;

    /// Returns true if it should be there: it was not killed, or was started again.
    fn is_up(&self) -> bool;

    /// Stops it running, with everything that it has in memory.
    fn pause(&self) -> impl Future<Output = Result<(), BackendError>> + Send;

    /// Lets it go on. Returns false if it was no longer paused.
    fn unpause(&self) -> impl Future<Output = Result<bool, BackendError>> + Send;

    /// Makes it keep its data at the next start.
    fn keep_data(&self) -> impl Future<Output = Result<(), BackendError>> + Send;

    /// Kills it and waits until it is dead.
    fn kill(&self) -> impl Future<Output = Result<(), BackendError>> + Send;

    /// Returns true if it was seen to be dead.
    fn is_dead(&self) -> impl Future<Output = Result<bool, BackendError>> + Send;

    /// Starts it again after a kill, on its network.
    fn restart(&self) -> impl Future<Output = Result<(), BackendError>> + Send;

    /// Waits until it serves, and returns the address at which it does.
    fn until_serving(&self) -> impl Future<Output = Result<SocketAddr, BackendError>> + Send;

    /// Returns true if it has come back empty.
    fn came_back_empty(&self) -> impl Future<Output = Result<bool, BackendError>> + Send;

    /// Cuts it off from the other servers until it is started again: they do not even hear that it
    /// dies.
    fn silence(&self) -> impl Future<Output = Result<(), BackendError>> + Send;

    /// Cuts it off from another server.
    fn cut(
        self: &Arc<Self>,
        other: &Arc<Self>,
        direction: Direction,
    ) -> impl Future<Output = Result<Self::Cut, BackendError>> + Send;

    /// Ends a cut. Returns how much it cut off.
    fn mend(cut: Self::Cut) -> impl Future<Output = Result<u64, BackendError>> + Send;

    /// The difference from what was made of it here, in words; `None` if there is none.
    fn interference(&self) -> impl Future<Output = Option<String>> + Send;

    /// Its log so far; what cannot be had of it is left out.
    fn log(&self) -> impl Future<Output = String> + Send;
}

/// Writes the log of each server to a file of its own.
pub async fn save_logs(
    servers: &[Arc<impl StartedServer>],
    folder: &Path,
) -> Result<(), BackendError> {
    for server in servers {
        let path = folder.join(format!("server-{}.log", server.number()));
        let written = tokio::fs::write(&path, server.log().await).await;
        written.map_err(|e| broken(format!("cannot write `{}`", path.display()), e))?;
    }
    Ok(())
}
