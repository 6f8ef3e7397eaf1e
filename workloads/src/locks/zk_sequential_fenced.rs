//! `zk-sequential-fenced`: `zk-sequential`, and the node's czxid as a fencing token (beyond the
//! seeds).
//!
//! ZooKeeper gives every transaction a greater number than the one before, so that whoever comes
//! later in the queue has a greater czxid. The vault refuses what comes with an older one: the
//! write of a holder that was paused past its session (H25), or that was held up on its way. The
//! beliefs still overlap. The numbers are as good as the ensemble's data: members that come back
//! without them can take back what was committed, and give the same numbers again.

use base::{Cause, Lock, Promises};
use stores::zookeeper::{Client, ZooKeeper};

use super::known::{STUCK, breaks, why};
use super::zk_queue::{QUEUED, QueueNode, QueueRule, Queued, predecessor};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-sequential-fenced",
    summary: "zk-sequential with the czxid of the node as a fencing token",
    promises: Promises { fenced: true, ..QUEUED },
    breaks: &[&[
        breaks(&[Cause::HolderPaused], &["double hold"], why::SESSION_PAUSED),
        breaks(&[Cause::ShortSession], &["double hold"], why::SHORT_SESSION),
        breaks(&[Cause::ServerSilent], &["double hold"], why::SERVER_SILENT),
        breaks(&[Cause::ClientClock, Cause::ServerClock], &["double hold"], why::SESSION_FROZEN),
        breaks(&[Cause::CallCancelled], STUCK, why::ABANDONED),
    ]],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    let rule = QueueRule {
        name: |_| "lock-",
        blocker: predecessor,
        grant: QueueNode::fenced_grant,
        downgrade: None,
    };
    Queued::open(client, format!("/fenced-{}", settings.key), rule)
}
