//! `zk-sequential`: a queue of sequence nodes, each watching its predecessor (seeds 001, 004).
//!
//! The id in the node's name finds it again when the reply of its creation is lost. Whoever is
//! woken looks again whether he is first: his predecessor may have died in the middle of the
//! queue. Obeys *Disconnected*.

use base::Lock;
use stores::zookeeper::{Client, ZooKeeper};

use super::known::SESSION;
use super::zk_queue::{Node, QUEUED, Queued, Rule, predecessor};
use super::{BEYOND_SESSION, LockSpec, On, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-sequential",
    summary: "sequence nodes with an id in the name, each watches its predecessor",
    promises: QUEUED,
    breaks: &[SESSION],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

fn open(client: Client, settings: Settings) -> Box<dyn Lock> {
    let rule =
        Rule { name: |_| "lock-", blocker: predecessor, grant: Node::grant, downgrade: None };
    Queued::open(client, format!("/locks-{}", settings.key), rule)
}
