//! `zk-exclusive`: one ephemeral node with the session's id in its data (seed 001, repaired).
//!
//! After a lost connection, `NodeExists` with one's own id means "mine". A watch that finds no node
//! goes back to the creation instead of waiting. Everybody watches the same node: a herd (H21).
//! Obeys *Disconnected*.

use base::{
    AcquireError, CallError, Grant, Lock, Mode, Promises, Recipe, ReleaseError, Removed, Wakes,
};
use std::time::Duration;
use stores::zookeeper::{Client, CreateMode, Refusal, ZooKeeper};

use super::known::{SESSION, SHARED_NODE};
use super::zookeeper::{ON_SESSION, Try, known, lost, release, settled, with_timeout, woken};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-exclusive",
    summary: "one ephemeral node with the owner's session id in it, everybody watches it",
    promises: Promises { wakes: Some(Wakes::All), ..ON_SESSION },
    breaks: &[SESSION, SHARED_NODE],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    Box::new(Exclusive { client, path: format!("/lock-{}", settings.key), disconnects: 0 })
}

struct Exclusive {
    client: Client,
    path: String,
    /// The number of times that the session had been disconnected at the current grant.
    disconnects: u64,
}

impl Exclusive {
    fn owner(&self) -> Vec<u8> {
        self.client.id().to_string().into_bytes()
    }

    /// Waits for the grant. Returns the number of times that the session had been disconnected
    /// before it asked.
    async fn take(&self) -> Try<u64> {
        loop {
            settled(&self.client).await;
            let disconnects = self.client.disconnects();
            match self.create_or_wait().await {
                Ok(true) if self.client.disconnects() == disconnects => return Ok(disconnects),
                Ok(_) | Err(CallError::Unknown(_)) => {}
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// True when the node is this client's; false after a wait, when all is to be tried again.
    async fn create_or_wait(&self) -> Try<bool> {
        match self.client.create(&self.path, &self.owner(), CreateMode::Ephemeral).await {
            Ok(_) => return Ok(true),
            Err(CallError::Refused(Refusal::NodeExists)) => {}
            Err(error) => return Err(error),
        }
        if self.is_mine().await? {
            return Ok(true);
        }
        let changed = self.client.changed();
        if let (Some(_), watch) = self.client.exists_watched(&self.path).await? {
            woken(&self.client, watch.fired(), changed).await;
        }
        Ok(false)
    }

    async fn is_mine(&self) -> Try<bool> {
        match self.client.get_data(&self.path).await {
            Ok((data, _)) => Ok(data == self.owner()),
            Err(CallError::Refused(Refusal::NoNode)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes the node if it is this client's. Looks first, each time: after a deletion whose
    /// reply was lost the node may be somebody else's. The node cannot change hands between the
    /// look and the deletion, since only this session deletes it.
    async fn free(&self) -> Try<Removed> {
        known(&self.client, async || {
            self.client.sync(&self.path).await?;
            if !self.is_mine().await? {
                return Ok(Removed::Nothing);
            }
            self.client.delete(&self.path, None).await.map(|()| Removed::Own)
        })
        .await
    }
}

impl Recipe for Exclusive {
    async fn acquire(&mut self, _mode: Mode, timeout: Duration) -> Result<Grant, AcquireError> {
        let mut disconnects = 0;
        let take = async {
            disconnects = self.take().await?;
            Ok(Grant::default())
        };
        let free = async || self.free().await.map(drop);
        let grant = with_timeout(&self.client, timeout, take, free).await?;
        self.disconnects = disconnects;
        Ok(grant)
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        release(&self.client, self.free()).await
    }

    async fn held(&self) -> Option<bool> {
        self.is_mine().await.ok()
    }

    async fn lost(&self) -> String {
        lost(&self.client, self.disconnects).await
    }
}
