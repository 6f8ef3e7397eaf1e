//! Moves one direction of one connection: read, wait at the gate, wait out the delay, write.
//!
//! The stages are joined by queues, so that bytes are taken in (and counted) while the gate is
//! closed, and so that a delay does not limit the rate. A window of bytes bounds what is in all of
//! them together; when it is full, the sender meets TCP's own back pressure.

use super::gate::Gate;
use super::outlet::Outlet;
use super::pace::ChunkSchedule;
use futures_util::FutureExt;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

/// The number of bytes that may be on their way in one direction of one connection.
pub const BUDGET: usize = 1 << 20;

/// The room that is left for such bytes.
pub struct SendWindow(Arc<Semaphore>);

impl SendWindow {
    /// Creates a window that is wholly free.
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(BUDGET)))
    }

    /// Returns true if nothing is on its way.
    pub fn is_whole(&self) -> bool {
        self.0.available_permits() == BUDGET
    }

    /// Takes a part of it, once there is so much.
    async fn take(&self, bytes: usize) -> OwnedSemaphorePermit {
        let part = self.0.clone().acquire_many_owned(bytes as u32).await;
        part.expect("nobody closes it")
    }
}

const CHUNK: usize = 16 << 10;

/// An item in a queue between two stages. An end keeps its place behind the bytes before it.
enum QueueItem {
    Data(Vec<u8>, OwnedSemaphorePermit),
    Closed,
    Aborted,
}

/// An abort of the connection, by its source or by a fault: both sides have to learn of it as one.
pub struct Abort;

/// The receiver of a chunk at the stages of its way.
pub trait Stages {
    /// It was taken in.
    fn arrived(&self, _bytes: &[u8]) {}

    /// It has come through the gate.
    fn passed(&self) {}

    /// It is about to be delivered.
    fn leaves(&self, _bytes: &[u8]) {}
}

/// Moves everything from `source` to `outlet` until the source has closed and its other end knows it.
/// `window` bounds what is on its way.
pub async fn pump(
    (source, outlet): (impl AsyncRead + Unpin, Outlet<'_>),
    gate: &Gate,
    pace: ChunkSchedule,
    window: &SendWindow,
    stages: impl Stages,
) -> Result<(), Abort> {
    let (read, waiting) = unbounded_channel();
    let (due, leaving) = unbounded_channel();
    // An abort ends all three at once: the source of a connection that a fault breaks is still
    // open.
    tokio::try_join!(
        take_in(source, gate, window, &stages, read).map(Ok),
        let_through(waiting, gate, pace, &stages, due).map(Ok),
        deliver(leaving, &stages, outlet),
    )
    .map(drop)
}

async fn take_in(
    mut source: impl AsyncRead + Unpin,
    gate: &Gate,
    window: &SendWindow,
    stages: &impl Stages,
    queue: UnboundedSender<QueueItem>,
) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let item = match source.read(&mut buffer).await {
            Ok(0) => QueueItem::Closed,
            Err(_) => QueueItem::Aborted,
            Ok(n) => {
                gate.count_bytes(n);
                stages.arrived(&buffer[..n]);
                QueueItem::Data(buffer[..n].to_vec(), window.take(n).await)
            }
        };
        let ended = !matches!(item, QueueItem::Data(..));
        if ended {
            gate.count_connection();
        }
        if queue.send(item).is_err() || ended {
            return;
        }
    }
}

async fn let_through(
    mut waiting: UnboundedReceiver<QueueItem>,
    gate: &Gate,
    mut pace: ChunkSchedule,
    stages: &impl Stages,
    due: UnboundedSender<(Instant, QueueItem)>,
) {
    while let Some(item) = waiting.recv().await {
        gate.open().await;
        if let QueueItem::Data(bytes, _) = &item {
            gate.carry(bytes.len()).await;
            if gate.loses(bytes) {
                // What went before it arrives before the connection breaks.
                let _ = due.send((pace.due(|delay| delay), QueueItem::Aborted));
                return;
            }
            stages.passed();
        }
        if due.send((pace.due(|delay| gate.delayed(delay)), item)).is_err() {
            return;
        }
    }
}

/// Writes to the outlet. One that takes no more belongs to a process that is gone: its own direction
/// reports that, and what still comes for it is dropped, as a dead machine's network card would.
async fn deliver(
    mut leaving: UnboundedReceiver<(Instant, QueueItem)>,
    stages: &impl Stages,
    mut outlet: Outlet<'_>,
) -> Result<(), Abort> {
    let mut gone = false;
    while let Some((due, item)) = leaving.recv().await {
        // A sleep takes a millisecond at least, also one that is over when it begins.
        if due > Instant::now() {
            sleep_until(due).await;
        }
        match item {
            QueueItem::Data(bytes, _room) if !gone => {
                stages.leaves(&bytes);
                gone = outlet.deliver(&bytes).await.is_err();
            }
            QueueItem::Data(..) => {}
            QueueItem::Closed => outlet.close().await,
            QueueItem::Aborted => return Err(Abort),
        }
    }
    Ok(())
}
