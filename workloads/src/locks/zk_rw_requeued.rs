//! `zk-rw-requeued`: `zk-rw`, but a writer that becomes a reader takes a new place at the end of
//! the queue before it gives up its own, as Curator's read/write lock did for eight years
//! (CURATOR-276, CURATOR-621).
//!
//! A writer that waits then stands before the reader's node: it is granted the lock while the
//! reader holds it. A reader's node with the sequence number of the writer's mends it.

use base::{Cause, Lock, Promises};
use stores::zookeeper::{Client, ZooKeeper};

use super::known::{SHARED_SESSION, breaks};
use super::zk_queue::{Downgrade, QUEUED};
use super::zk_rw::{blocker, read_write};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-rw-requeued",
    summary: "read/write lock whose writer becomes a reader at the end of the queue",
    promises: Promises { shared: true, downgrades: true, ..QUEUED },
    breaks: &[
        SHARED_SESSION,
        &[breaks(
            &[Cause::Recipe],
            &["reader-writer overlap", "stale write accepted", "lost update"],
            REQUEUED,
        )],
    ],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

const REQUEUED: &str = "a writer that becomes a reader goes to the end of the queue, and a writer that \
     waits is granted the lock before it; give the reader's node the writer's sequence number";

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    read_write(client, &settings, blocker, Some(Downgrade::AtTheEnd))
}
