//! `zk-sequential-herd`: a queue of sequence nodes whose clients all watch the directory (seed 003,
//! lines 16 to 21; seed 001 names the herd in line 42).
//!
//! Every release *and every arrival* wakes everybody who waits, and all but one in vain (H22). It
//! does not obey *Disconnected* (H24): nothing in the list tells a holder to stop. The guid in a
//! node's name finds it again when the reply of its creation is lost, which is what it is there
//! for.

use base::{AcquireError, CallError, Cause, Grant, Lock, Mode, Recipe, ReleaseError, Removed};
use std::time::Duration;
use stores::zookeeper::{Client, ZooKeeper};

use super::known::{DEAF, SESSION, breaks};
use super::zk_queue::{QUEUED, Queue, QueueNode, in_order};
use super::zookeeper::{Try, reconnected, with_timeout, woken};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-sequential-herd",
    summary: "sequence nodes, and everybody who waits watches them all",
    promises: QUEUED,
    breaks: &[SESSION, DEAF, &[breaks(&[Cause::Recipe], &["herd"], EVERYBODY)]],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

const EVERYBODY: &str = "H22: everybody watches the directory, and every release and every arrival wakes \
     all who wait; watch the predecessor alone";

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    let queue = Queue::new(client.clone(), format!("/_locknode_{}", settings.key));
    Box::new(SequentialHerd { client, queue, mine: QueueNode::default() })
}

struct SequentialHerd {
    client: Client,
    queue: Queue,
    /// The node of the last acquire, if it has come so far.
    mine: QueueNode,
}

/// Waits until one's own node is the first; looks again whenever a child comes or goes.
async fn first(client: &Client, queue: &Queue, mine: &QueueNode) -> Try<()> {
    loop {
        reconnected(client).await?;
        let changed = client.changed();
        match client.get_children_watched(queue.directory()).await {
            Ok((names, watch)) => match in_order(names, &mine.name)? {
                (_, 0) => return Ok(()),
                _ => woken(client, watch.fired(), changed).await,
            },
            Err(CallError::Unknown(_)) => {}
            Err(refusal) => return Err(refusal),
        }
    }
}

impl Recipe for SequentialHerd {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let Self { client, queue, mine } = self;
        *mine = QueueNode::default();
        let name = format!("{:016x}-lock-", client.world().random());
        let acquire = async {
            *mine = queue.enter(&name).await?;
            first(client, queue, mine).await?;
            Ok(mine.grant())
        };
        with_timeout(client, timeout, acquire, async || queue.withdraw(&name).await).await
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        self.queue.release(&self.mine).await
    }

    async fn held(&self) -> Option<bool> {
        self.queue.has(&self.mine).await
    }
}
