//! Questions to a server: whether it serves, and the rest that takes one connection.

use super::broken;
use super::servers::StartedServer;
use base::BackendError;
use futures_util::future::{join_all, try_join_all};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stores::{Cluster, Endpoint, Probe, StoreId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

/// The longest time that a server may take until it serves. A loaded machine needs its time.
const STARTUP_LIMIT: Duration = Duration::from_secs(60);
/// The interval between two looks whether a server serves.
pub const POLL: Duration = Duration::from_millis(10);

/// Waits until a server serves at one of these addresses, and returns that: the first one that
/// does, in their order.
///
/// # Errors
/// Fails, with the end of its log, when it does not within a minute.
pub async fn until_serving(
    server: &impl StartedServer,
    addresses: &[SocketAddr],
    probe: Probe,
) -> Result<SocketAddr, BackendError> {
    let serving = async {
        loop {
            let endpoints =
                addresses.iter().map(|it| Endpoint { address: *it, login: server.login() });
            let serve = join_all(endpoints.map(|endpoint| serves(endpoint, probe))).await;
            if let Some(first) = serve.iter().position(|serves| *serves) {
                return addresses[first];
            }
            sleep(POLL).await;
        }
    };
    if let Ok(address) = timeout(STARTUP_LIMIT, serving).await {
        return Ok(address);
    }
    let what = format!("server {} did not serve within {STARTUP_LIMIT:?}", server.number());
    Err(broken(what, end_of_log(server).await))
}

/// Waits until fresh servers serve together, where that is more than that each of them serves.
///
/// # Errors
/// Fails, with the end of a server's log, when they do not within a minute.
pub async fn until_settled(
    store: StoreId,
    cluster: &Cluster,
    servers: &[Arc<impl StartedServer>],
) -> Result<(), BackendError> {
    let Some(probe) = store.settled(cluster) else { return Ok(()) };
    let settled = servers.iter().map(async |server| {
        let address = [server.address()?];
        until_serving(&**server, &address, probe).await
    });
    try_join_all(settled).await.map(drop)
}

/// The last lines that a server wrote, as one.
pub async fn end_of_log(server: &impl StartedServer) -> String {
    let log = server.log().await;
    let tail: Vec<&str> = log.lines().rev().take(5).collect();
    tail.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

/// Returns true if the server at this endpoint answers as one that serves does.
async fn serves(endpoint: Endpoint, probe: Probe) -> bool {
    if probe.expect.is_empty() {
        return TcpStream::connect(endpoint.address).await.is_ok();
    }
    match timeout(Duration::from_secs(1), ask(&endpoint, probe.send)).await {
        Ok(Ok(answer)) => probe.expect.iter().any(|expected| answer.contains(expected)),
        Ok(Err(_)) | Err(_) => false,
    }
}

/// Sends a question after which the server closes, and returns the answer.
pub async fn ask(endpoint: &Endpoint, question: &[u8]) -> std::io::Result<String> {
    let mut stream = endpoint.connect().await?;
    stream.write_all(question).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Sends a question, and returns the time until the answer began.
pub async fn round_trip(address: SocketAddr, question: &[u8]) -> std::io::Result<Duration> {
    let mut stream = TcpStream::connect(address).await?;
    let begun = Instant::now();
    stream.write_all(question).await?;
    stream.read_u8().await?;
    Ok(begun.elapsed())
}
