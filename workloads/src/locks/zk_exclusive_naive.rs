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
//! * The recipe knows no timeout.

use base::{
    AcquireError, CallError, Cause, Grant, Lock, Mode, Promises, Recipe, ReleaseError, Removed,
    Wakes,
};
use std::time::Duration;
use stores::zookeeper::{Client, CreateMode, Refusal, ZooKeeper};

use super::known::{DEAF, FOREIGN_RELEASE, ORPHANED, OVERLAP, SESSION, STUCK, breaks, why};
use super::zookeeper::{ON_SESSION, Try, refused, released, settled, woken};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-exclusive-naive",
    summary: "one ephemeral node, watched by everybody, that does not say whose it is",
    promises: Promises { wakes: Some(Wakes::All), ..ON_SESSION },
    breaks: &[
        SESSION,
        DEAF,
        &[
            breaks(&[Cause::ReplyLost], ORPHANED, why::OWN_NODE),
            breaks(&[Cause::ReleaseLost], STUCK, why::LEFT_NODE),
            breaks(
                &[
                    Cause::HolderPaused,
                    Cause::HolderCutOff,
                    Cause::ServersApart,
                    Cause::ShortSession,
                    Cause::ServerSilent,
                    Cause::ClientClock,
                    Cause::ServerClock,
                ],
                &["foreign release", "failed release"],
                FOREIGN,
            ),
            breaks(&[Cause::ForeignRelease], OVERLAP, FOREIGN),
            breaks(&[Cause::Recipe], &["lost wake-up"], MISSED),
            breaks(&[Cause::ForeignRelease], FOREIGN_RELEASE, FOREIGN),
            breaks(&[Cause::LateRequest], OVERLAP, LATE),
            breaks(&[Cause::LateRequest], FOREIGN_RELEASE, LATE),
        ],
    ],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

const FOREIGN: &str = "H26: the old owner frees with delete(path, -1) in a new session, and removes the \
     new owner's node";

const MISSED: &str = "H20: the lock was freed between the failed create and the watch, and nobody \
     looks again";

const LATE: &str = "a delete(path, -1) that was held up arrives when the node is another's, and removes it: \
     it does not look whose it is";

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(ExclusiveNaive { client, path: format!("/lock-{}", settings.key) })
}

struct ExclusiveNaive {
    client: Client,
    path: String,
}

impl ExclusiveNaive {
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

impl Recipe for ExclusiveNaive {
    async fn acquire(&mut self, _mode: Mode, _timeout: Duration) -> Result<Grant, AcquireError> {
        self.take().await.map_err(refused)
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let renewed = self.client.renew().await;
        let deleted = match renewed {
            Ok(()) => self.client.delete(&self.path, None).await,
            Err(error) => Err(error),
        };
        released(deleted, Removed::Any)
    }
}
