//! `zk-sequential-naive`: a queue of sequence nodes, each watching its predecessor, without an id
//! in their names (seed 001, before its repairs).
//!
//! After a lost reply to its own creation it creates another node. Everybody then waits behind the
//! first one, which nobody knows to be his, as long as that session lives (H23). It does not obey
//! *Disconnected* (H24). The recipe knows no timeout.

use base::{AcquireError, CallError, Cause, Grant, Lock, Mode, Recipe, ReleaseError, Removed};
use std::time::Duration;
use stores::zookeeper::{Client, ZooKeeper};

use super::known::{DEAF, SESSION, STUCK, breaks};
use super::zk_queue::{QUEUED, Queue, QueueNode, predecessor};
use super::zookeeper::{Try, refused, settled};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-sequential-naive",
    summary: "sequence nodes without an id in the name, each watches its predecessor",
    promises: QUEUED,
    breaks: &[SESSION, DEAF, &[breaks(&[Cause::ReplyLost], STUCK, ORPHAN)]],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

const ORPHAN: &str = "H23: the reply to a creation was lost, and everybody waits behind a node that \
     nobody knows to be his, as long as its session lives; put an id into its name";

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    let directory = format!("/locks-{}", settings.key);
    Box::new(SequentialNaive {
        queue: Queue::new(client.clone(), directory),
        client,
        mine: QueueNode::default(),
    })
}

struct SequentialNaive {
    client: Client,
    queue: Queue,
    /// The node of the last try, which is the owner's.
    mine: QueueNode,
}

impl SequentialNaive {
    async fn take(&mut self) -> Try<Grant> {
        self.client.renew().await?;
        self.mine = loop {
            settled(&self.client).await;
            match self.queue.create("lock-").await {
                Err(CallError::Unknown(_)) => {}
                outcome => break outcome?,
            }
        };
        self.queue.wait(&self.mine.name, predecessor).await?;
        Ok(self.mine.grant())
    }
}

impl Recipe for SequentialNaive {
    async fn acquire(&mut self, _mode: Mode, _timeout: Duration) -> Result<Grant, AcquireError> {
        self.take().await.map_err(refused)
    }

    async fn held(&self) -> Option<bool> {
        self.queue.has(&self.mine).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.queue.release(&self.mine).await
    }
}
