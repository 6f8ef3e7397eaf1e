//! The keeper of a lock that is held for longer than its time.

use crate::OwnLock;
use redis::aio::ConnectionLike;
use std::time::Duration;
use tokio::sync::watch::{Receiver, channel};
use tokio::task::{JoinHandle, spawn};
use tokio::time::{Instant, sleep, timeout_at};

/// The pause between two tries to renew a lock.
const PAUSE: Duration = Duration::from_millis(50);

/// A task that renews a lock, until it is dropped or the lock is lost.
pub struct Keeper {
    task: JoinHandle<()>,
    /// Closed by the task at its end.
    kept: Receiver<()>,
}

impl Keeper {
    /// Keeps a lock that was granted just now.
    pub fn of(lock: OwnLock, mut connection: impl ConnectionLike + Send + 'static) -> Self {
        Self::running(async move {
            let mut renewed = Instant::now();
            // The last quarter is for what comes late: the first grant, and the word of a loss.
            while let Ok(Some(again)) =
                timeout_at(renewed + lock.ttl * 3 / 4, renew(&lock, &mut connection)).await
            {
                renewed = again;
            }
        })
    }

    pub(crate) fn running(task: impl Future<Output = ()> + Send + 'static) -> Self {
        let (keeps, kept) = channel(());
        let task = spawn(async move {
            task.await;
            drop(keeps);
        });
        Self { task, kept }
    }

    /// Waits until the lock may be lost.
    pub async fn lost(&self) {
        // Nothing is ever sent: the end of the task ends the wait.
        let _ = self.kept.clone().changed().await;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Renews a lock after a quarter of its time, however often a connection fails. Returns the moment
/// at which its time began anew; `None` if it is not ours any more.
async fn renew(lock: &OwnLock, connection: &mut impl ConnectionLike) -> Option<Instant> {
    sleep(lock.ttl / 4).await;
    loop {
        let asked = Instant::now();
        match lock.renew(connection).await {
            Ok(is_ours) => return is_ours.then_some(asked),
            Err(_) => sleep(PAUSE).await,
        }
    }
}
