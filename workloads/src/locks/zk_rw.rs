//! `zk-rw`: the shared lock as seed 000 describes it in prose, ordered by sequence number.
//!
//! A reader waits for the last *write* node before it, a writer for its immediate predecessor.
//! Obeys *Disconnected*.

use base::{AcquireError, Grant, LocalFuture, Lock, Mode, Promises, ReleaseError, Removed, Wakes};
use std::time::Duration;
use stores::zookeeper::Client;

use super::zk_sequential::{FREEZE, PAUSE};
use super::zookeeper::{Queue, lost, patiently, released};
use super::{BEYOND_SESSION, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-rw",
    summary: "read/write lock: readers wait for the last writer before them, writers for all",
    promises: Promises {
        shared: true,
        fifo: true,
        wakes: Some(Wakes::Next),
        available: true,
        recovers: Some(2),
        ..Promises::MUTEX
    },
    known: &[
        ("pause", "double hold", PAUSE),
        ("pause", "reader-writer overlap", PAUSE),
        ("pause", "stale write accepted", PAUSE),
        ("pause", "lost update", PAUSE),
        ("clock-freeze", "double hold", FREEZE),
        ("clock-freeze", "reader-writer overlap", FREEZE),
        ("clock-freeze", "stale write accepted", FREEZE),
        ("clock-freeze", "lost update", FREEZE),
    ],
    longest_hold: BEYOND_SESSION,
    open: Open::ZooKeeper(open),
};

fn open(client: Client, settings: Settings) -> Box<dyn Lock> {
    let directory = format!("/rw-{}", settings.key);
    Box::new(ReadWrite {
        queue: Queue::new(client.clone(), directory),
        client,
        mine: String::new(),
        disconnects: 0,
    })
}

const READ: &str = "read-";
const WRITE: &str = "write-";

/// Whom the node at `place` waits for, of all nodes in the order of their sequence numbers.
fn blocker(names: &[String], place: usize) -> Option<usize> {
    if names[place].starts_with(WRITE) {
        return place.checked_sub(1);
    }
    names[..place].iter().rposition(|name| name.starts_with(WRITE))
}

struct ReadWrite {
    client: Client,
    queue: Queue,
    /// The node of the current grant.
    mine: String,
    /// How often the session had been disconnected when it was granted.
    disconnects: u64,
}

impl Lock for ReadWrite {
    fn acquire(
        &mut self,
        mode: Mode,
        patience: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(async move {
            let Self { client, queue, mine, disconnects } = self;
            let kind = if mode == Mode::Shared { READ } else { WRITE };
            let name = format!("{kind}{:016x}-", client.world().random());
            let acquire = async {
                *mine = queue.enter(&name).await?;
                *disconnects = queue.wait(mine, blocker).await?;
                Ok(Queue::grant(mine))
            };
            patiently(client, patience, acquire, async || queue.withdraw(&name).await).await
        })
    }

    fn release(&mut self, _grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        Box::pin(async move { released(self.queue.leave(&self.mine).await, Removed::Own) })
    }

    fn held(&self) -> LocalFuture<'_, Option<bool>> {
        Box::pin(self.queue.has(&self.mine))
    }

    fn lost(&self) -> LocalFuture<'_, String> {
        lost(&self.client, self.disconnects)
    }
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
