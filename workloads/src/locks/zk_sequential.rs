//! `zk-sequential`: a queue of sequence nodes, each watching its predecessor (seeds 001, 004).
//!
//! The id in the node's name finds it again when the reply of its creation is lost. Whoever is
//! woken looks again whether he is first: his predecessor may have died in the middle of the
//! queue. Obeys *Disconnected*.

use base::{Lock, Promises, Wakes};
use stores::zookeeper::Client;

use super::known::{
    CLIENT_FROZEN, SERVER_FROZEN, SERVER_SILENT, SESSION_PAUSED, SHORT_SESSION, WRITE_DELAYED,
};
use super::zk_queue::{Node, Queued, Rule, predecessor};
use super::zookeeper::WOKEN;
use super::{BEYOND_SESSION, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-sequential",
    summary: "sequence nodes with an id in the name, each watches its predecessor",
    promises: Promises {
        fifo: true,
        wakes: Some(Wakes::Next),
        available: true,
        recovers: Some(2),
        pace: WOKEN,
        ..Promises::MUTEX
    },
    breaks: &[
        SESSION_PAUSED,
        CLIENT_FROZEN,
        SERVER_FROZEN,
        SERVER_SILENT,
        SHORT_SESSION,
        WRITE_DELAYED,
    ],
    longest_hold: BEYOND_SESSION,
    open: Open::ZooKeeper(open),
};

fn open(client: Client, settings: Settings) -> Box<dyn Lock> {
    let rule = Rule { name: |_| "lock-", blocker: predecessor, grant: Node::grant };
    Queued::open(client, format!("/locks-{}", settings.key), rule)
}
