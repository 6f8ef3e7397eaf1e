//! `zk-exclusive-as-printed`: the Java class `ZooKeeperSession` of seed 000 (lines 98 to 199), with
//! its mistakes.
//!
//! * Any exception counts as "held by somebody else" (lines 131 and 139), the one of a creation
//!   whose reply was lost as well: it waits for its own node as long as its session lives, and the
//!   session heart-beats (H19).
//! * The session is made once (lines 101 to 120, a singleton). When it has expired, every `create`
//!   throws, and `while(true)` in line 134 never ends (H42).
//! * No holder is notified that its session expired: the watcher prints the state (lines 165 to
//!   172), and the holder goes on (H24).
//! * It asks again every 20 ms (line 136), for ever: `acquireDistributedLock` knows no timeout.

use base::{AcquireError, Cause, Grant, Lock, Mode, Promises, Recipe, ReleaseError, Removed};
use std::time::Duration;
use stores::zookeeper::{Client, CreateMode, ZooKeeper};

use super::known::{DEAF, ORPHANED, SESSION, STUCK, breaks, why};
use super::redis_node::polling;
use super::zk_rw_as_printed::product;
use super::zookeeper::{ON_SESSION, released};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-exclusive-as-printed",
    summary: "a Java class that creates one ephemeral node, again and again",
    promises: Promises { pace: polling(PAUSE..PAUSE, 1), ..ON_SESSION },
    breaks: &[
        SESSION,
        DEAF,
        &[
            breaks(&[Cause::ReplyLost], ORPHANED, why::OWN_NODE),
            breaks(&[Cause::ReleaseLost], STUCK, why::LEFT_NODE),
            breaks(
                &[
                    Cause::ClientClock,
                    Cause::ServerClock,
                    Cause::HolderPaused,
                    Cause::ShortSession,
                    Cause::HolderCutOff,
                    Cause::ServersApart,
                    Cause::ServerSilent,
                ],
                STUCK,
                DEAD_HANDLE,
            ),
        ],
    ],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

const DEAD_HANDLE: &str = "H42: the session is made once, and when it has expired its client asks for \
     ever in vain; open a new one";

/// The pause as printed: `Thread.sleep(20)`.
const PAUSE: Duration = Duration::from_millis(20);

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    let path = format!("/product-lock-{}", product(&settings.key));
    Box::new(ZooKeeperSession { client, path })
}

struct ZooKeeperSession {
    client: Client,
    path: String,
}

impl Recipe for ZooKeeperSession {
    /// Stands for the method `acquireDistributedLock`.
    async fn acquire(&mut self, _mode: Mode, _timeout: Duration) -> Result<Grant, AcquireError> {
        while self.client.create(&self.path, b"", CreateMode::Ephemeral).await.is_err() {
            self.client.world().sleep(PAUSE).await;
        }
        Ok(Grant::default())
    }

    /// Stands for the method `releaseDistributedLock`.
    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let deleted = self.client.delete(&self.path, None);
        released(deleted.await, Removed::Any)
    }
}
