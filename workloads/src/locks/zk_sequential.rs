//! `zk-sequential`: a queue of sequence nodes, each watching its predecessor (seeds 001, 004).
//!
//! The id in the node's name finds it again when the reply of its creation is lost. Whoever is
//! woken looks again whether he is first: his predecessor may have died in the middle of the
//! queue. Obeys *Disconnected*.

use base::Lock;
use stores::zookeeper::{Client, ZooKeeper};

use super::known::SESSION;
use super::zk_queue::{QUEUED, QueueNode, QueueRule, Queued, predecessor};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-sequential",
    summary: "sequence nodes with an id in the name, each watches its predecessor",
    promises: QUEUED,
    breaks: &[SESSION],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    let rule = QueueRule {
        name: |_| "lock-",
        blocker: predecessor,
        grant: QueueNode::grant,
        downgrade: None,
    };
    Queued::open(client, format!("/locks-{}", settings.key), rule)
}
