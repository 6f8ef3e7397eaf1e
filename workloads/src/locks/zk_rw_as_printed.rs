//! `zk-rw-as-printed`: the Java class `ZookeeperLock` of seed 000 (lines 213 to 368), with its
//! mistakes.
//!
//! * Children are sorted by their whole *name* (line 299): `product_read_…` comes before
//!   `product_write_…` whatever the sequence numbers say, so that a reader walks in while a writer
//!   holds (H27) and a writer starves (H30).
//! * Everybody watches the neighbour in that order (line 326), the wrong one.
//! * The product's number is glued to the sequence number and all products share `/lock` (line
//!   277), so that one waits for the other (H31).
//! * `wait()` after `exists()` misses a notification that comes in between (lines 327 to 336, H28).
//! * Any exception makes acquire return null (lines 282 to 285), and the caller goes on without the
//!   lock (line 381, H43). The watcher asks no event what it is (lines 349 to 353), and the Java
//!   client notifies every watcher of its session too: a waiter wakes at *Disconnected*,
//!   `getChildren` fails for want of a connection, and in it goes. Its node stays behind.
//! * A node that is gone has the index -1 (line 300): a reader takes that for "nobody before me"
//!   (line 320), and for a writer `get(-2)` throws (line 326).

use base::{
    AcquireError, CallError, Cause, Grant, Lock, Mode, Promises, Recipe, ReleaseError, Removed,
};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;
use stores::zookeeper::{Client, CreateMode, Refusal, SessionState, Watch, ZooKeeper, sequence};

use super::known::{SHARED_OVERLAP, SHARED_SESSION, STUCK, breaks};
use super::zk_queue::QUEUED;
use super::zookeeper::{Try, released, settled, woken};
use super::{BEYOND_SESSION, LockSettings, LockSpec, On};

pub const SPEC: LockSpec = LockSpec {
    name: "zk-rw-as-printed",
    summary: "the Java read/write lock of a blog post, with its mistakes",
    promises: Promises { shared: true, ..QUEUED },
    breaks: &[
        SHARED_SESSION,
        &[
            breaks(
                &[Cause::Recipe],
                &["reader-writer overlap", "stale write accepted", "lost update", "fifo inversion"],
                NAMES,
            ),
            breaks(&[Cause::NothingTaken], SHARED_OVERLAP, NULL),
            breaks(&[Cause::NothingTaken], &["failed release"], NULL),
            breaks(&[Cause::Recipe], &["deadlock", "lost wake-up"], LOST),
            breaks(&[Cause::ClientClock], &["deadlock", "lost wake-up"], FROZEN),
            breaks(&[Cause::ReleaseLost], STUCK, UNFREED),
            breaks(&[Cause::ReplyLost, Cause::LateRequest], STUCK, LEFT),
            breaks(&[Cause::Recipe], &["starvation"], STARVED),
            breaks(&[Cause::Recipe], &["waits for another key"], PRODUCTS),
            breaks(&[Cause::HolderCutOff, Cause::ServersApart], SHARED_OVERLAP, DEAF),
            breaks(&[Cause::ServerForgets], SHARED_OVERLAP, OUTVOTED),
        ],
    ],
    longest_hold: BEYOND_SESSION,
    open: &On::<ZooKeeper>::one(open),
};

const NAMES: &str = "H27: names are compared, not sequence numbers, and `product_read_…` sorts \
     before `product_write_…`: a reader walks in while a writer holds";
const NULL: &str = "H43: an exception inside acquire returns null and the caller goes on";
const LEFT: &str = "H43: whoever entered after an exception has no path to delete, and its node stays \
     as long as its session lives";
const LOST: &str = "H28: a notification between exists() and wait() is lost, and wait() never ends";
const FROZEN: &str = "H28: a client whose clock stands still comes from exists() to wait() only when it \
     runs again, and a notification before that is lost";

const UNFREED: &str = "a release that ends in an exception is not tried again, and the node stands \
     for as long as its client's session lives";
const STARVED: &str = "H30: readers that come later sort before a writer that waits";
const PRODUCTS: &str = "H31: all products queue up under one directory";

const DEAF: &str = "H24: a client that is cut off from its servers for longer than its session has lost its \
     node and does not notice";
const OUTVOTED: &str = "a member that comes back without its data can outvote what was committed, and \
     the node is gone";

const DIRECTORY: &str = "/lock";
const WRITE: &str = "product_write_";

fn open(client: Client, settings: LockSettings) -> Box<dyn Lock> {
    let connect_timeout = settings.ttl / client.servers() as u32;
    Box::new(RwAsPrinted { client, connect_timeout, product: product(&settings.key), path: None })
}

/// The product's number: the digits of the key ("k1" is product 1).
pub fn product(key: &str) -> String {
    key.chars().filter(char::is_ascii_digit).collect()
}

struct RwAsPrinted {
    client: Client,
    /// The time for which the Java client tries to connect to one server.
    connect_timeout: Duration,
    product: String,
    /// The result of `acquireDistributedLock`: the path of the node, or null.
    path: Option<String>,
}

impl RwAsPrinted {
    /// Stands for the method `acquireDistributedLock`.
    async fn acquire_distributed_lock(&self, mode: Mode) -> Option<String> {
        let kind = if mode == Mode::Shared { "read" } else { "write" };
        let path = format!("{DIRECTORY}/product_{kind}_{}", self.product);
        let current = self.create(&path).await.ok()?;
        self.acquire_shared_lock(&current).await.ok()?;
        Some(current)
    }

    /// Before each call: without a connection the Java client lets a call wait for its next attempt
    /// to connect, and fails it with that (`ConnectionLossException`); this client would wait on.
    async fn connected(&self) -> Try<()> {
        let attempt = async { self.client.world().sleep(self.connect_timeout).await };
        match select(pin!(settled(&self.client)), pin!(attempt)).await {
            Either::Left((SessionState::Expired, _)) => {
                Err(CallError::Refused(Refusal::SessionExpired))
            }
            Either::Left(_) => Ok(()),
            Either::Right(_) => Err(CallError::Unknown("ConnectionLoss".into())),
        }
    }

    /// The class expects `/lock` to be there; whoever set up the ensemble had made it.
    async fn create(&self, path: &str) -> Try<String> {
        let mode = CreateMode::EphemeralSequential;
        self.connected().await?;
        match self.client.create(path, b"", mode).await {
            Err(CallError::Refused(Refusal::NoNode)) => {
                let _ = self.client.create(DIRECTORY, b"", CreateMode::Persistent).await;
                Ok(self.client.create(path, b"", mode).await?.path)
            }
            outcome => Ok(outcome?.path),
        }
    }

    /// Stands for the method `acquireSharedLock`.
    async fn acquire_shared_lock(&self, current: &str) -> Try<()> {
        let name = &current[DIRECTORY.len() + 1..];
        loop {
            self.connected().await?;
            let neighbour = match turn(self.client.get_children(DIRECTORY).await?, name) {
                LookResult::Enter => return Ok(()),
                LookResult::Throw(exception) => return Err(CallError::Unknown(exception.into())),
                LookResult::Watch(neighbour) => format!("{DIRECTORY}/{neighbour}"),
            };
            self.connected().await?;
            if let (Some(_), watch) = self.client.exists_watched(&neighbour).await? {
                self.wait(watch).await;
            }
        }
    }

    /// `synchronized (mutex) { mutex.wait(); }`: a thread that has yet to enter the monitor hears
    /// nothing of a `notifyAll` before it. If that was the watch's own, which comes once, it waits
    /// for ever; else it wakes at the next event of the watch or of the session. A primitive that
    /// remembers a permit would repair the lock.
    async fn wait(&self, watch: Watch) {
        let entering = Duration::from_micros(self.client.world().random() % 200);
        self.client.world().sleep(entering).await;
        let mut fired = Box::pin(watch.fired());
        match fired.as_mut().now_or_never() {
            Some(_) => std::future::pending().await,
            None => woken(&self.client, fired, self.client.changed()).await,
        }
    }
}

/// The consequence of a look at the children.
#[derive(Debug, PartialEq, Eq)]
enum LookResult {
    /// Enter: `return true`.
    Enter,
    /// Watch this node, and wait.
    Watch(String),
    /// Throw this exception.
    Throw(&'static str),
}

/// Lines 297 to 326, for one's own node.
fn turn(mut children: Vec<String>, name: &str) -> LookResult {
    children.sort();
    let index = children.iter().position(|child| child == name);
    // Nobody comes before -1, nor before 0.
    let before = &children[..index.unwrap_or(0)];
    let writers = before.iter().any(|child| child.contains(WRITE));
    if index == Some(0) || (!writers && !name.contains(WRITE)) {
        return LookResult::Enter;
    }
    match before.last() {
        Some(neighbour) => LookResult::Watch(neighbour.clone()),
        None => LookResult::Throw("IndexOutOfBoundsException: -2"),
    }
}

impl Recipe for RwAsPrinted {
    async fn acquire(&mut self, mode: Mode, _timeout: Duration) -> Result<Grant, AcquireError> {
        self.path = self.acquire_distributed_lock(mode).await;
        let place = self.path.as_deref().and_then(sequence);
        Ok(Grant { place, ..Grant::default() })
    }

    async fn release(&mut self, _grant: Grant) -> Result<Removed, ReleaseError> {
        let Some(path) = self.path.take() else {
            return Err(ReleaseError::NotHeld("acquire had returned null".into()));
        };
        let deleted = match self.connected().await {
            Ok(()) => self.client.delete(&path, None).await,
            Err(error) => Err(error),
        };
        released(deleted, Removed::Own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(children: &[&str], name: &str, expected: LookResult) {
        let children = children.iter().map(|child| child.to_string()).collect();
        assert_eq!(turn(children, name), expected);
    }

    const WRITER: &str = "product_write_10000000001";
    const READER: &str = "product_read_10000000002";
    const LATER: &str = "product_write_10000000003";

    #[test]
    fn names_are_compared_and_not_numbers() {
        check(&[WRITER, READER], READER, LookResult::Enter);
        check(&[WRITER, READER], WRITER, LookResult::Watch(READER.into()));
        check(&[LATER, WRITER], LATER, LookResult::Watch(WRITER.into()));
        check(&[LATER], LATER, LookResult::Enter);
    }

    #[test]
    fn a_reader_whose_node_is_gone_walks_in_and_a_writer_throws() {
        check(&[WRITER], READER, LookResult::Enter);
        check(&[WRITER], LATER, LookResult::Throw("IndexOutOfBoundsException: -2"));
    }
}
