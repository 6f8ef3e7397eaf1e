//! `zk-rw-neighbour`: the shared lock of seed 000 in the order of its sequence numbers, but with
//! the watch of its code (lines 325 to 327): everybody who waits watches the neighbour before him.
//!
//! A reader enters when there is no writer before it, and sleeps on a neighbour that may be a
//! reader: readers that queued up behind a writer enter one by one, each when the one before has
//! left (H29). The prose (line 210) has a reader watch the last *writer* before it. Obeys
//! *Disconnected*.

use base::{Cause, Lock, Promises};
use stores::zookeeper::{Client, ZooKeeper};

use super::known::{SHARED_SESSION, breaks};
use super::zk_queue::{QUEUED, predecessor};
use super::zk_rw::{is_write, read_write};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-rw-neighbour",
    summary: "read/write lock whose readers, too, watch the node right before their own",
    promises: Promises { shared: true, ..QUEUED },
    breaks: &[SHARED_SESSION, &[breaks(&[Cause::Recipe], &["readers one by one"], ONE_BY_ONE)]],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

const ONE_BY_ONE: &str = "H29: a reader behind a reader sleeps on it, and both waited for the same writer; \
     watch the last writer";

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    read_write(client, &settings, blocker, None)
}

/// A writer waits for all before it, a reader for writers, and both watch their neighbour.
fn blocker(names: &[String], place: usize) -> Option<usize> {
    let waits = names[place..=place].iter().chain(&names[..place]).any(|name| is_write(name));
    predecessor(names, place).filter(|_| waits)
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(queue: &[&str], watched: Option<usize>) {
        let names: Vec<String> = queue.iter().map(|name| name.to_string()).collect();
        assert_eq!(super::blocker(&names, names.len() - 1), watched);
    }

    #[test]
    fn a_reader_that_has_to_wait_watches_a_reader() {
        check(&["read-a"], None);
        check(&["write-a"], None);
        check(&["read-a", "read-b"], None);
        check(&["read-a", "read-b", "write-c"], Some(1));
        check(&["write-a", "read-b"], Some(0));
        check(&["write-a", "read-b", "read-c"], Some(1));
    }
}
