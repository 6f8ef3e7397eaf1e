//! `zk-reentrant-naive`: `zk-reentrant` as seed 004 describes it, whose count outlives its session:
//! the owner that comes again is let in though its node is gone (H41).

use base::{Cause, Lock};
use stores::zookeeper::{Client, ZooKeeper};

use super::known::{DEAF, OVERLAP, SESSION, breaks};
use super::zk_reentrant::{REENTRANT, Reentrant};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-reentrant-naive",
    summary: "zk-reentrant whose count is kept when its session is lost",
    promises: REENTRANT,
    breaks: &[SESSION, &[breaks(&[Cause::NothingTaken], OVERLAP, COUNTED)], DEAF],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

const COUNTED: &str = "H41: the session was lost, and the owner's own count lets it in again without a \
     node; refuse it once the session was disconnected";

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    Reentrant::open(client, &settings, false)
}
