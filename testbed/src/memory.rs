//! Fills the memory of a server with junk, over a connection of its own, and takes it out again.

use super::probe::ask;
use super::servers::StartedServer;
use super::testbed::Testbed;
use crate::lock;
use base::BackendError;
use std::collections::BTreeSet;
use std::sync::MutexGuard;
use std::time::Duration;
use stores::Junk;
use tokio::time::timeout;

/// The longest time that a server may take. One that is paused meanwhile answers after that.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

impl<S: StartedServer> Testbed<S> {
    /// Fills the memory of a server, and returns the number of items of clients that were evicted.
    /// `None`: it was full of junk before, or the server did not answer to the end.
    pub async fn fill(&self, server: &S) -> Result<Option<u64>, BackendError> {
        let Junk { fill, evicted, .. } = self.junk()?;
        if !self.filled().insert(server.number()) {
            return Ok(None);
        }
        let evicted = tell(server, fill()).await.and_then(|answers| evicted(&answers));
        if evicted.is_none() {
            self.filled().remove(&server.number());
        }
        Ok(evicted)
    }

    /// Takes out what is left of the junk. A server that was killed meanwhile has lost it.
    pub async fn take_out_junk(&self, server: &S) -> Result<(), BackendError> {
        let Junk { take_out, .. } = self.junk()?;
        tell(server, take_out()).await;
        self.filled().remove(&server.number());
        Ok(())
    }

    fn junk(&self) -> Result<Junk, BackendError> {
        self.store.junk().map_err(|why| BackendError(why.into()))
    }

    fn filled(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        lock(&self.filled)
    }
}

/// Sends commands, after which the server closes the connection, and returns its answers; `None` if
/// it does not take them.
async fn tell(server: &impl StartedServer, commands: Vec<u8>) -> Option<String> {
    let endpoint = server.endpoint().ok()?;
    timeout(ANSWER_LIMIT, ask(&endpoint, &commands)).await.ok()?.ok()
}
