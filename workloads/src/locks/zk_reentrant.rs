//! `zk-reentrant`: Curator's InterProcessMutex (seeds 002, 004): `zk-sequential`, and a map of
//! owners with a count.
//!
//! The map is per worker here, so it is one entry: how often this worker holds the lock. Its owner
//! is let in again only while the session has not been disconnected since the grant: the node may
//! be gone.

use base::{AcquireError, Grant, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use stores::zookeeper::{Client, ZooKeeper};

use super::known::SESSION;
use super::zk_queue::{QUEUED, QueueNode, QueueRule, Queued, predecessor};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-reentrant",
    summary: "sequence nodes; the owner counts how often it holds the lock (Curator)",
    promises: REENTRANT,
    breaks: &[SESSION],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

/// The promises of a queue whose owner may come again.
pub const REENTRANT: Promises = Promises { reentrant: true, ..QUEUED };

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    Reentrant::open(client, &settings, true)
}

/// A queue lock that its owner may take again.
pub struct Reentrant {
    queued: Box<dyn Lock>,
    /// The grant of the outermost hold.
    grant: Grant,
    /// The number of times that it is held.
    holds: u32,
    /// True if it looks whether the session still stands for its grant.
    looks: bool,
}

impl Reentrant {
    pub fn open(client: Client, settings: &LockSettings, looks: bool) -> Box<dyn Lock> {
        let rule = QueueRule {
            name: |_| "lock-",
            blocker: predecessor,
            grant: QueueNode::grant,
            downgrade: None,
        };
        let queued = Queued::open(client, format!("/locks-{}", settings.key), rule);
        Box::new(Self { queued, grant: Grant::default(), holds: 0, looks })
    }

    /// Returns true if the lock has learnt by now that its grant may be gone.
    async fn is_lost(&self) -> bool {
        let mut lost = pin!(self.queued.lost());
        poll_fn(|cx| Poll::Ready(lost.as_mut().poll(cx).is_ready())).await
    }
}

impl Recipe for Reentrant {
    async fn acquire(&mut self, mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        if self.looks && self.holds > 0 && self.is_lost().await {
            return Err(AcquireError::Failed("the outer hold may be gone".into()));
        }
        if self.holds == 0 {
            self.grant = self.queued.acquire(mode, timeout).await?;
        }
        self.holds += 1;
        Ok(self.grant.clone())
    }

    async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
        self.holds -= 1;
        match self.holds {
            0 => self.queued.release(grant).await,
            _ => Ok(Removed::Kept),
        }
    }

    async fn held(&self) -> Option<bool> {
        // After a refusal its node still stands, for the outer hold.
        if self.holds == 0 { self.queued.held().await } else { None }
    }

    async fn lost(&self) -> String {
        match self.looks {
            true => self.queued.lost().await,
            false => std::future::pending().await,
        }
    }
}
