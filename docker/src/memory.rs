//! Fills the memory of a server with junk, over a connection of its own, and takes it out again.

use super::node::ask;
use super::server::Server;
use base::BackendError;
use std::time::Duration;
use stores::Junk;
use tokio::time::timeout;

/// The longest time that a server may take. One that is paused meanwhile answers after that.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Fills the memory of a server, and returns the number of items of clients that were evicted.
/// `None`: it was full of junk before, or the server did not answer to the end.
pub async fn fill(server: &Server) -> Result<Option<u64>, BackendError> {
    let Junk { fill, evicted, .. } = junk(server)?;
    if !server.begin_filling() {
        return Ok(None);
    }
    let evicted = tell(server, fill()).await.and_then(|answers| evicted(&answers));
    if evicted.is_none() {
        server.end_filling();
    }
    Ok(evicted)
}

/// Takes out what is left of the junk. A server that was killed meanwhile has lost it.
pub async fn take_out_junk(server: &Server) -> Result<(), BackendError> {
    let Junk { take_out, .. } = junk(server)?;
    tell(server, take_out()).await;
    server.end_filling();
    Ok(())
}

fn junk(server: &Server) -> Result<Junk, BackendError> {
    server.junk().map_err(|why| BackendError(why.into()))
}

/// Sends commands, after which the server closes the connection, and returns its answers; `None` if
/// it does not take them.
async fn tell(server: &Server, commands: Vec<u8>) -> Option<String> {
    let address = server.address().ok()?;
    timeout(ANSWER_LIMIT, ask(address, &commands)).await.ok()?.ok()
}
