//! `zk-exclusive-naive`: one ephemeral node and a watch on it, without an owner's id (seed 001,
//! before its repairs).
//!
//! * After a lost reply to its own creation it finds the node there, and waits for itself as long
//!   as its session lives (H19).
//! * A watch that finds no node waits all the same: a lock that was freed between the failed
//!   creation and the watch wakes nobody (H20).
//! * It does not obey *Disconnected*: its session expires and it believes on (H24). A wrapper opens
//!   a new session, in which the old owner frees with `delete(path, -1)` whosever node stands
//!   there (H26).
//! * The recipe knows no patience.

use base::{
    AcquireError, CallError, Grant, LocalFuture, Lock, Mode, Promises, ReleaseError, Removed, Wakes,
};
use std::time::Duration;
use stores::zookeeper::{Client, CreateMode, Refusal};

use super::zk_sequential::{FREEZE, PAUSE};
use super::zookeeper::{Try, refused, released, settled, woken};
use super::{BEYOND_SESSION, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-exclusive-naive",
    summary: "one ephemeral node, watched by everybody, that does not say whose it is",
    promises: Promises {
        wakes: Some(Wakes::All),
        available: true,
        recovers: Some(2),
        ..Promises::MUTEX
    },
    known: &[
        ("pause", "double hold", PAUSE),
        ("pause", "stale write accepted", PAUSE),
        ("pause", "lost update", PAUSE),
        ("partition", "double hold", DEAF),
        ("partition", "stale write accepted", DEAF),
        ("partition", "lost update", DEAF),
        ("partition", "deadlock", OWN_NODE),
        ("pause", "deadlock", OWN_NODE),
        ("crash", "deadlock", OWN_NODE),
        ("partition", "orphan", OWN_NODE),
        ("pause", "orphan", OWN_NODE),
        ("crash", "orphan", OWN_NODE),
        ("crash-server-lose-data", "double hold", WIPED),
        ("crash-server-lose-data", "stale write accepted", WIPED),
        ("crash-server-lose-data", "lost update", WIPED),
        ("partition", "foreign release", FOREIGN),
        ("pause", "foreign release", FOREIGN),
        ("partition", "failed release", FOREIGN),
        ("pause", "failed release", FOREIGN),
        ("clock-freeze", "double hold", FREEZE),
        ("clock-freeze", "stale write accepted", FREEZE),
        ("clock-freeze", "lost update", FREEZE),
        ("clock-freeze", "foreign release", FREEZE),
        ("link", "double hold", DEAF),
        ("link", "stale write accepted", DEAF),
        ("link", "lost update", DEAF),
        ("link", "foreign release", FOREIGN),
        ("link", "deadlock", OWN_NODE),
        ("link", "orphan", OWN_NODE),
        ("clock-freeze", "failed release", FOREIGN),
        ("link", "failed release", FOREIGN),
    ],
    longest_hold: BEYOND_SESSION,
    open: Open::ZooKeeper(open),
};

/// Shared by the recipes that do not obey *Disconnected*.
pub const DEAF: &str = "H24: a client that is cut off longer than its session has lost its node and \
     does not notice; it must stop at Disconnected";
/// Shared by the recipes that do not obey *Disconnected*.
pub const WIPED: &str = "a member that comes back without its data can outvote what was committed: \
     the session and its node are gone, and a client that does not stop at Disconnected believes on";
const OWN_NODE: &str = "H19: the reply to its own creation was lost, and it waits for its own node \
     as long as its session lives; write the owner's id into the node";

const FOREIGN: &str = "H26: the old owner frees with delete(path, -1) in a new session, and removes the \
     new owner's node";

fn open(client: Client, settings: Settings) -> Box<dyn Lock> {
    Box::new(Naive { client, path: format!("/lock-{}", settings.key) })
}

struct Naive {
    client: Client,
    path: String,
}

impl Naive {
    async fn take(&self) -> Try<Grant> {
        self.client.renew().await?;
        loop {
            settled(&self.client).await;
            match self.client.create(&self.path, b"", CreateMode::Ephemeral).await {
                Ok(_) => return Ok(Grant::default()),
                Err(CallError::Refused(Refusal::NodeExists)) => self.wait().await?,
                Err(CallError::Unknown(_)) => {}
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// Waits for the watch, whether the node is there or not.
    async fn wait(&self) -> Try<()> {
        let changed = self.client.changed();
        match self.client.exists_watched(&self.path).await {
            Ok((_, watch)) => {
                woken(&self.client, watch.fired(), changed).await;
                Ok(())
            }
            Err(CallError::Unknown(_)) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }
}

impl Lock for Naive {
    fn acquire(
        &mut self,
        _mode: Mode,
        _patience: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(async move { self.take().await.map_err(refused) })
    }

    fn release(&mut self, _grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        Box::pin(async move {
            let renewed = self.client.renew().await;
            let deleted = match renewed {
                Ok(()) => self.client.delete(&self.path, None).await,
                Err(error) => Err(error),
            };
            released(deleted, Removed::Any)
        })
    }
}
