//! `zk-rw-as-printed`: the Java class `ZookeeperLock` of seed 000, with its mistakes.
//!
//! * Children are sorted by their whole *name*: `product_read_…` comes before `product_write_…`
//!   whatever the sequence numbers say, so that a reader walks in while a writer holds (H27) and a
//!   writer starves (H30).
//! * Everybody watches the neighbour in that order, the wrong one.
//! * The product's number is glued to the sequence number and all products share `/lock`, so that
//!   one waits for the other (H31).
//! * `wait()` after `exists()` misses a notification that comes in between (H28).
//! * Any exception makes acquire return null, and the caller goes on without the lock (H43).

use base::{
    AcquireError, CallError, Grant, LocalFuture, Lock, Mode, Promises, ReleaseError, Removed, Wakes,
};
use futures_util::FutureExt;
use std::time::Duration;
use stores::zookeeper::{Client, CreateMode, Refusal, Watch, sequence};

use super::zookeeper::{Try, released};
use super::{BEYOND_SESSION, LockSpec, Open, Settings};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-rw-as-printed",
    summary: "the Java read/write lock of a blog post, with its mistakes",
    promises: Promises {
        shared: true,
        fifo: true,
        wakes: Some(Wakes::Next),
        available: true,
        recovers: Some(2),
        ..Promises::MUTEX
    },
    known: &[
        ("none", "reader-writer overlap", NAMES),
        ("none", "lost update", NAMES),
        ("none", "stale write accepted", NAMES),
        ("none", "double hold", NULL),
        ("none", "deadlock", LOST),
        ("none", "lost wake-up", LOST),
        ("none", "fifo inversion", NAMES),
        ("none", "starvation", STARVED),
        ("none", "waits for another key", PRODUCTS),
        ("none", "failed release", NULL),
        ("crash", "orphan", LOST),
        ("partition", "orphan", LOST),
        ("link", "orphan", LOST),
    ],
    longest_hold: BEYOND_SESSION,
    open: Open::ZooKeeper(open),
};

const NAMES: &str = "H27: names are compared, not sequence numbers, and `product_read_…` sorts \
     before `product_write_…`: a reader walks in while a writer holds";
const NULL: &str = "H43: an exception inside acquire returns null and the caller goes on";
const LOST: &str = "H28: a notification between exists() and wait() is lost, and wait() never ends";

const STARVED: &str = "H30: readers that come later sort before a writer that waits";
const PRODUCTS: &str = "H31: all products queue up under one directory";

const DIRECTORY: &str = "/lock";

fn open(client: Client, settings: Settings) -> Box<dyn Lock> {
    Box::new(AsPrinted { client, product: product(&settings.key), path: None })
}

/// The product's number: the digits of the key ("k1" is product 1).
fn product(key: &str) -> String {
    key.chars().filter(char::is_ascii_digit).collect()
}

struct AsPrinted {
    client: Client,
    product: String,
    /// What `acquireDistributedLock` returned: the path of the node, or null.
    path: Option<String>,
}

impl AsPrinted {
    /// `acquireDistributedLock`.
    async fn acquire_distributed_lock(&self, mode: Mode) -> Option<String> {
        let kind = if mode == Mode::Shared { "read" } else { "write" };
        let path = format!("{DIRECTORY}/product_{kind}_{}", self.product);
        let current = self.create(&path).await.ok()?;
        self.acquire_shared_lock(&current).await.ok()?;
        Some(current)
    }

    /// The class expects `/lock` to be there; whoever set up the ensemble had made it.
    async fn create(&self, path: &str) -> Try<String> {
        let mode = CreateMode::EphemeralSequential;
        match self.client.create(path, b"", mode).await {
            Err(CallError::Refused(Refusal::NoNode)) => {
                let _ = self.client.create(DIRECTORY, b"", CreateMode::Persistent).await;
                Ok(self.client.create(path, b"", mode).await?.path)
            }
            outcome => Ok(outcome?.path),
        }
    }

    /// `acquireSharedLock`.
    async fn acquire_shared_lock(&self, current: &str) -> Try<()> {
        loop {
            let mut children = self.client.get_children(DIRECTORY).await?;
            children.sort();
            let name = &current[DIRECTORY.len() + 1..];
            // `indexOf` says -1 for a node that is gone, and get(-2) throws.
            let index = children.iter().position(|child| child == name);
            let index = index.ok_or(CallError::Refused(Refusal::NoNode))?;
            let writers = children[..index].iter().any(|child| child.contains("product_write_"));
            if index == 0 || (!writers && !current.contains("product_write_")) {
                return Ok(());
            }
            let before = format!("{DIRECTORY}/{}", children[index - 1]);
            if let (Some(_), watch) = self.client.exists_watched(&before).await? {
                self.wait(watch).await;
            }
        }
    }

    /// `synchronized (mutex) { mutex.wait(); }`: a thread that has yet to enter the monitor hears
    /// nothing of a `notifyAll` before it, and waits for ever. A primitive that remembers a permit
    /// would repair the lock.
    async fn wait(&self, watch: Watch) {
        let entering = Duration::from_micros(self.client.world().random() % 200);
        self.client.world().sleep(entering).await;
        let mut fired = Box::pin(watch.fired());
        match fired.as_mut().now_or_never() {
            Some(_) => std::future::pending().await,
            None => {
                fired.await;
                self.client.bell().ring();
            }
        }
    }
}

impl Lock for AsPrinted {
    fn acquire(
        &mut self,
        mode: Mode,
        _patience: Duration,
    ) -> LocalFuture<'_, Result<Grant, AcquireError>> {
        Box::pin(async move {
            self.path = self.acquire_distributed_lock(mode).await;
            let place = self.path.as_deref().and_then(sequence);
            Ok(Grant { place, ..Grant::default() })
        })
    }

    fn release(&mut self, _grant: Grant) -> LocalFuture<'_, Result<Removed, ReleaseError>> {
        Box::pin(async move {
            let Some(path) = self.path.take() else {
                return Err(ReleaseError::NotHeld("acquire had returned null".into()));
            };
            released(self.client.delete(&path, None).await, Removed::Own)
        })
    }
}
