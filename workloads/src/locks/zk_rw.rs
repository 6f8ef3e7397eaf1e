//! `zk-rw`: the shared lock as seed 000 describes it in prose, ordered by sequence number.
//!
//! A reader waits for the last *write* node before it, a writer for its immediate predecessor. A
//! writer becomes a reader by a reader's node with its own sequence number, so that no writer that
//! waits gets ahead of it. Obeys *Disconnected*.

use base::{Lock, Mode, Promises};
use stores::zookeeper::{Client, ZooKeeper};

use super::known::SHARED_SESSION;
use super::zk_queue::{Blocker, Downgrade, QUEUED, QueueNode, QueueRule, Queued, predecessor};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-rw",
    summary: "read/write lock: readers wait for the last writer before them, writers for all",
    promises: Promises { shared: true, downgrades: true, ..QUEUED },
    breaks: &[SHARED_SESSION],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    read_write(client, &settings, blocker, Some(Downgrade::InPlace))
}

/// The lock of readers and writers in one queue, who wait for the node that `blocker` chooses.
pub fn read_write(
    client: Client,
    settings: &LockSettings,
    blocker: Blocker,
    downgrade: Option<Downgrade>,
) -> Box<dyn Lock> {
    let name = |mode| if mode == Mode::Shared { READ } else { WRITE };
    let rule = QueueRule { name, blocker, grant: QueueNode::grant, downgrade };
    Queued::open(client, format!("/rw-{}", settings.key), rule)
}

const READ: &str = "read-";
const WRITE: &str = "write-";

/// A writer waits for its predecessor, a reader for the last writer before it.
pub fn blocker(names: &[String], place: usize) -> Option<usize> {
    match is_write(&names[place]) {
        true => predecessor(names, place),
        false => names[..place].iter().rposition(|name| is_write(name)),
    }
}

/// Returns true for the name of a writer's node.
pub fn is_write(name: &str) -> bool {
    name.starts_with(WRITE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(queue: &[&str], waits_for: Option<usize>) {
        let names: Vec<String> = queue.iter().map(|name| name.to_string()).collect();
        assert_eq!(blocker(&names, names.len() - 1), waits_for);
    }

    #[test]
    fn readers_wait_for_the_last_writer_and_writers_for_their_predecessor() {
        check(&["read-a"], None);
        check(&["write-a"], None);
        check(&["read-a", "read-b"], None);
        check(&["write-a", "read-b", "read-c"], Some(0));
        check(&["write-a", "write-b", "read-c", "read-d"], Some(1));
        check(&["read-a", "read-b", "write-c"], Some(1));
    }
}
