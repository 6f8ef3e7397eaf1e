//! `zk-sequential`: a queue of sequence nodes, each watching its predecessor (seeds 001, 004).
//!
//! The id in the node's name finds it again when the reply of its creation is lost. Whoever is
//! woken looks again whether he is first: his predecessor may have died in the middle of the
//! queue. Obeys *Disconnected*.

use base::{AcquireError, Grant, LocalFuture, Lock, Mode, Promises, ReleaseError, Removed, Wakes};
use std::time::Duration;
use stores::zookeeper::Client;

use super::zookeeper::{Queue, lost, patiently, released};
use super::{BEYOND_SESSION, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-sequential",
    summary: "sequence nodes with an id in the name, each watches its predecessor",
    promises: Promises {
        fifo: true,
        wakes: Some(Wakes::Next),
        available: true,
        recovers: Some(2),
        ..Promises::MUTEX
    },
    known: &[
        ("pause", "double hold", PAUSE),
        ("pause", "stale write accepted", PAUSE),
        ("pause", "lost update", PAUSE),
        ("clock-freeze", "double hold", FREEZE),
        ("clock-freeze", "stale write accepted", FREEZE),
        ("clock-freeze", "lost update", FREEZE),
    ],
    longest_hold: BEYOND_SESSION,
    open: Open::ZooKeeper(open),
};

pub const PAUSE: &str = "H25: a holder that is paused past its session does not know that it \
     expired; only a fencing token that the resource checks can stop its write";
pub const FREEZE: &str = "a server whose clocks stand still does not notice that it has lost its \
     quorum and answers pings, and a client whose clocks stand still sends none: the session expires \
     and its owner does not know";

fn open(client: Client, settings: Settings) -> Box<dyn Lock> {
    let directory = format!("/locks-{}", settings.key);
    Box::new(Sequential {
        queue: Queue::new(client.clone(), directory),
        client,
        mine: String::new(),
        disconnects: 0,
    })
}

struct Sequential {
    client: Client,
    queue: Queue,
    /// The node of the current grant.
    mine: String,
    /// How often the session had been disconnected when it was granted.
    disconnects: u64,
}

impl Lock for Sequential {
    fn acquire(
        &mut self,
        _mode: Mode,
        patience: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(async move {
            let Self { client, queue, mine, disconnects } = self;
            let name = format!("lock-{:016x}-", client.world().random());
            let acquire = async {
                *mine = queue.enter(&name).await?;
                *disconnects = queue.wait(mine, |_, place| place.checked_sub(1)).await?;
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
