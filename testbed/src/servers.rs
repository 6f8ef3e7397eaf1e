//! The interface of real servers, in containers or as processes, to the testbed: all that it has to
//! know of what they run in. Its futures are boxed, so that what they are made of, a whole Docker
//! client, is compiled once, and not by all who await them.

use async_trait::async_trait;
use base::{Ability, BackendError, Direction};
use futures_util::Stream;
use futures_util::future::{join_all, try_join_all};
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;
use stores::{Cluster, Endpoint, Login, Secrets, StoreId};

use super::callers::ClientEntrances;
use super::link_proxy::LinkProxy;
use super::wall_clock::ServerWallClock;
use super::{Lack, broken, probe};

/// The servers of one run. They have to be removed with `remove`.
#[async_trait(?Send)]
pub trait Servers: Sized + 'static {
    /// The name of their backend, as `--backend` takes it.
    const BACKEND: &'static str;
    /// True if they are the run's own, so that faults may hit them.
    const OURS: bool = true;
    /// The interval between two looks whether somebody else has done something to a server.
    const LOOKS: Duration;

    /// The type of one started server.
    type Server: StartedServer;

    /// Checks that the wall clocks of such servers can be made to go wrong, as this ability has it.
    ///
    /// # Errors
    /// Fails with what they lack.
    fn can_set_clocks(store: StoreId, ability: Ability) -> Result<(), Lack>;

    /// Checks that what such servers send each other goes through link proxies, which can delay it.
    ///
    /// # Errors
    /// Fails with what they lack.
    fn can_delay_peers(ability: Ability) -> Result<(), Lack>;

    /// Checks that a program which follows the addresses that such servers tell it still goes over
    /// its own links.
    ///
    /// # Errors
    /// Fails with what they lack.
    fn can_lead_programs(ability: Ability) -> Result<(), Lack>;

    /// Checks that such servers can be started by a command of somebody else's.
    ///
    /// # Errors
    /// Fails with what they lack.
    fn can_run_servers(ability: Ability) -> Result<(), Lack>;

    /// Starts them and waits until they all serve; `progress` gets what goes on, line by line. When
    /// one cannot be started, none is left. First removes what killed runs left behind.
    async fn start(
        store: StoreId,
        cluster: Cluster,
        progress: &dyn for<'a> Fn(&'a str),
    ) -> Result<Self, BackendError>;

    /// The servers, by number.
    fn all(&self) -> &[Arc<Self::Server>];

    /// The name that all keys of the run begin with on servers that others use, too; empty for
    /// none.
    fn allotment(&self) -> &str {
        ""
    }

    /// The password that they ask of their clients, if their store asks for one.
    fn password(&self) -> Option<&str> {
        None
    }

    /// Leads the connections of clients that come to an address which servers tell of each other to
    /// the clients' own links.
    fn lead(&self, _clients: Weak<dyn ClientEntrances>) {}

    /// The actions of somebody else on them that are reported as they happen, in words.
    fn reports(&self) -> impl Stream<Item = String> + Send + 'static;

    /// Removes them, and all that was made for them. Nobody else may hold one of them any more.
    async fn remove(self) -> Result<(), BackendError>;
}

/// A change of a server's wall clock.
pub type ClockAct = Box<dyn FnOnce(&mut ServerWallClock) + Send>;

/// A server, with what faults do to it.
#[async_trait]
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

    /// The exchange with which a connection to it begins; `None` if it asks for no password.
    fn login(&self) -> Option<Login> {
        None
    }

    /// The endpoint at which it was last seen to serve.
    ///
    /// # Errors
    /// Fails when it has not served yet.
    fn endpoint(&self) -> Result<Endpoint, BackendError> {
        Ok(Endpoint { address: self.address()?, login: self.login() })
    }

    /// Returns true if it should be running and nothing is being done to it.
    fn is_running(&self) -> bool;

    /// Returns true if it should be there: it was not killed, or was started again.
    fn is_up(&self) -> bool;

    /// The process that leads all others of it, where it runs on this machine.
    async fn process_id(&self) -> Option<u32> {
        None
    }

    /// Stops it running, with everything that it has in memory.
    async fn pause(&self) -> Result<(), BackendError>;

    /// Lets it go on. Returns false if it was no longer paused.
    async fn unpause(&self) -> Result<bool, BackendError>;

    /// Makes it keep its data at the next start.
    async fn keep_data(&self) -> Result<(), BackendError>;

    /// Kills it and waits until it is dead.
    async fn kill(&self) -> Result<(), BackendError>;

    /// Returns true if it was seen to be dead.
    async fn is_dead(&self) -> Result<bool, BackendError>;

    /// Starts it again after a kill, on its network.
    async fn restart(&self) -> Result<(), BackendError>;

    /// Waits until it serves, and returns the address at which it does.
    async fn until_serving(&self) -> Result<SocketAddr, BackendError>;

    /// Returns true if it has come back empty.
    async fn came_back_empty(&self) -> Result<bool, BackendError>;

    /// Cuts it off from the other servers until it is started again: they do not even hear that it
    /// dies.
    async fn silence(&self) -> Result<(), BackendError>;

    /// Cuts it off from another server.
    async fn cut(
        self: &Arc<Self>,
        other: &Arc<Self>,
        direction: Direction,
    ) -> Result<Self::Cut, BackendError>;

    /// Ends a cut. Returns how much it cut off.
    async fn mend(cut: Self::Cut) -> Result<u64, BackendError>;

    /// The link proxies between it and another server; none where they reach each other directly.
    fn peer_links(&self, _other: u32) -> Vec<&LinkProxy> {
        Vec::new()
    }

    /// Its wall clock, if it was started with one that can go wrong.
    fn clock(&self) -> Option<ServerWallClock>;

    /// Changes its wall clock, and has its process go by that from now on. A restart changes
    /// nothing of it.
    ///
    /// # Errors
    /// Fails when it was not started for that.
    async fn with_clock(&self, act: ClockAct) -> Result<(), BackendError>;

    /// The difference from what was made of it here, in words; `None` if there is none.
    async fn interference(&self) -> Option<String>;

    /// Runs a shell command in the folder of its data, and returns its output.
    ///
    /// # Errors
    /// Fails when there is no such folder to be had, or the command fails.
    async fn shell_in_data(&self, command: String) -> Result<String, BackendError>;

    /// Its log so far; what cannot be had of it is left out.
    async fn log(&self) -> String;
}

/// Starts all servers of a cluster, side by side as far as none has to join others, and waits until
/// they serve together. Those that were started are in `all`, however it ends.
///
/// # Errors
/// Fails when one cannot be started, or does not serve.
pub async fn start_all<S: StartedServer>(
    store: StoreId,
    cluster: &Cluster,
    all: &mut Vec<Arc<S>>,
    start: impl AsyncFn(u32) -> Result<S, BackendError>,
) -> Result<(), BackendError> {
    let (count, joining) = (cluster.servers(), store.joining(cluster));
    let first = joining.map_or(count, |joining| joining.first);
    start_some(0..first, all, &start).await?;
    if let Some(joining) = joining {
        probe::until_serving(&*all[0], &[all[0].address()?], joining.when).await?;
        start_some(first..count, all, &start).await?;
    }
    probe::until_settled(store, cluster, all).await
}

async fn start_some<S: StartedServer>(
    numbers: Range<u32>,
    all: &mut Vec<Arc<S>>,
    start: &impl AsyncFn(u32) -> Result<S, BackendError>,
) -> Result<(), BackendError> {
    let before = all.len();
    let mut failed = None;
    for started in join_all(numbers.map(async |number| start(number).await)).await {
        match started {
            Ok(server) => all.push(Arc::new(server)),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    try_join_all(all[before..].iter().map(|server| server.until_serving())).await.map(drop)
}

/// Makes the secrets that nobody else on the machine knows, for servers that are to have some.
///
/// # Errors
/// Fails when the machine has no randomness.
pub fn secrets_of(cluster: &Cluster) -> Result<Option<Secrets>, BackendError> {
    if !cluster.asks_password {
        return Ok(None);
    }
    let mut drawn = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut it| it.read_exact(&mut drawn));
    read.map_err(|e| broken("cannot make a password", e))?;
    let password = drawn.iter().map(|byte| format!("{byte:02x}")).collect();
    let identity = identity().map_err(|e| broken("cannot make a certificate", e))?;
    Ok(Some(Secrets { password, identity }))
}

/// Makes a certificate that has signed itself, with its private key (PEM).
fn identity() -> Result<String, rcgen::Error> {
    let key = rcgen::KeyPair::generate()?;
    let certificate = rcgen::CertificateParams::default().self_signed(&key)?;
    Ok(certificate.pem() + &key.serialize_pem())
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
