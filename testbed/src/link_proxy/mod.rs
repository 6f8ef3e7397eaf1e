//! The link proxy: one TCP listener on loopback for each client and server, and the faults of what
//! goes through it.
//!
//! A cut link holds: what is sent over it stays queued and arrives late and in order after the
//! release, as TCP would have it. That is what a network partition does to a connection; throwing
//! the bytes away and closing, as most fault proxies do, is another and much kinder fault.

mod connection;
mod gate;
mod jitter;
mod loss;
mod outlet;
mod pace;
mod pump;
mod slow;
#[cfg(test)]
mod tests;
mod throttle;

pub use gate::HeldBack;
pub use jitter::Jittering;
pub use loss::{CallLoss, Half, Losing};
pub use pace::Delay;
pub use slow::{Slowing, slowed_by};
pub use throttle::Throttling;

use crate::lock;
use base::{Direction, Rng};
use gate::Gate;
use pace::ChunkSchedule;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stores::Endpoint;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// The receiver of what happens on a link. The process is the one that the link served when the
/// connection was made, and the port is the one from which that reaches the server.
pub trait LinkEvents: Send + Sync {
    /// The server took no connection.
    fn unreachable(&self, _error: &io::Error) {}

    /// A connection to the server was made; nothing went through it yet.
    fn connected(&self, _process: u32, _port: u16) {}

    /// A chunk of the client's is about to reach the server.
    fn asked(&self, _port: u16, _bytes: &[u8]) {}

    /// A chunk of the server's has come, whatever becomes of it on its way to the client.
    fn answered(&self, _port: u16, _bytes: &[u8]) {}

    /// A chunk of the server's has passed.
    fn passed(&self, _process: u32) {}

    /// The connection to the server is closed.
    fn closed(&self, _port: u16) {}
}

impl LinkEvents for () {}

/// A link between one client and one server. It ends, and its connections with it, when it is
/// dropped.
pub struct LinkProxy {
    shared: Arc<SharedProxy>,
    address: SocketAddr,
    entrance: Entrance,
    listening: AbortHandle,
}

/// A way into a link beside its port, for connections that were accepted elsewhere.
#[derive(Clone, Debug)]
pub struct Entrance(UnboundedSender<TcpStream>);

impl Entrance {
    /// Serves a connection as if it had come to the link's port. Of a link that is no more it is
    /// closed.
    pub fn take(&self, client: TcpStream) {
        // The connection comes back with the error, and is dropped.
        let _ = self.0.send(client);
    }
}

struct SharedProxy {
    address: SocketAddr,
    /// Keeps the port from others while nobody listens on it.
    _port: TcpSocket,
    /// The open port. `None`: the kernel refuses connections, as that of a machine does whose
    /// server is down.
    listener: watch::Sender<Option<Arc<TcpListener>>>,
    up: Gate,
    down: Gate,
    delay: Mutex<Delay>,
    target: Mutex<Option<Endpoint>>,
    rng: Mutex<Rng>,
    /// The number of faults that refuse new connections now, and of connections refused so far.
    refusing: AtomicU32,
    refused: AtomicU64,
    resets: watch::Sender<()>,
    forgets: watch::Sender<()>,
    process: AtomicU32,
    chunks: AtomicU64,
    events: Box<dyn LinkEvents>,
}

impl LinkProxy {
    /// Listens on a free port of the loopback. `carries_call` tells calls from a client library's
    /// own housekeeping. Needs a runtime around it.
    ///
    /// # Errors
    /// Fails when there is no port.
    pub fn open(
        delay: Delay,
        rng: Rng,
        carries_call: fn(&[u8]) -> bool,
        events: Box<dyn LinkEvents>,
    ) -> io::Result<Self> {
        let port = socket((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = port.local_addr()?;
        let shared = Arc::new(SharedProxy {
            address,
            _port: port,
            listener: watch::Sender::new(None),
            up: Gate::new(carries_call),
            down: Gate::new(carries_call),
            delay: Mutex::new(delay),
            target: Mutex::new(None),
            rng: Mutex::new(rng),
            refusing: AtomicU32::new(0),
            refused: AtomicU64::new(0),
            resets: watch::Sender::new(()),
            forgets: watch::Sender::new(()),
            process: AtomicU32::new(0),
            chunks: AtomicU64::new(0),
            events,
        });
        let (entrance, entering) = unbounded_channel();
        let listening = tokio::spawn(listen(shared.clone(), entering)).abort_handle();
        Ok(Self { shared, address, entrance: Entrance(entrance), listening })
    }

    /// The address that the client connects to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The way into it for connections that were accepted elsewhere.
    pub fn entrance(&self) -> Entrance {
        self.entrance.clone()
    }

    /// Sets the way to the server. Without one, connections are refused.
    ///
    /// # Errors
    /// Fails when the port cannot be listened on again.
    pub fn set_target(&self, target: Option<Endpoint>) -> io::Result<()> {
        *lock(&self.shared.target) = target;
        self.shared.listen_or_not()
    }

    /// Sets the process whose connections come from now on.
    pub fn serve(&self, process: u32) {
        self.shared.process.store(process, Relaxed);
    }

    /// Sets the delay, each way, of connections made from now on.
    pub fn set_delay(&self, delay: Delay) {
        *lock(&self.shared.delay) = delay;
    }

    /// Holds bytes sent from now on, until the hold is released.
    pub fn hold(&self, direction: Direction) -> HeldDirection {
        let hold = HeldDirection {
            shared: self.shared.clone(),
            direction,
            before: self.shared.held(direction),
        };
        self.shared.gates(direction).iter().for_each(|gate| gate.hold());
        // At worst connections are refused that were to get no answer.
        let _ = self.shared.listen_or_not();
        hold
    }

    /// Aborts every connection (RST), whatever is held or on its way. Returns the number of them.
    pub fn reset(&self) -> u64 {
        let connections = self.connections();
        self.shared.resets.send_replace(());
        connections
    }

    /// Has every connection that was made be unknown to the server, whose machine was gone: it is
    /// aborted as soon as the client sends something over it, or has done so while nobody was
    /// there. A client that only listens never hears of it.
    pub fn forget(&self) {
        self.shared.forgets.send_replace(());
    }

    /// The number of connections that are open.
    pub fn connections(&self) -> u64 {
        // Each listens for resets.
        self.shared.resets.receiver_count() as u64
    }

    /// Aborts new connections (RST) until the returned guard is dropped.
    pub fn refuse(&self) -> Refusing {
        self.shared.refusing.fetch_add(1, Relaxed);
        Refusing { shared: self.shared.clone(), before: self.shared.refused.load(Relaxed) }
    }

    /// The number of chunks of the server's that have passed so far.
    pub fn passed(&self) -> u64 {
        self.shared.chunks.load(Relaxed)
    }
}

impl Drop for LinkProxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// A direction of a link that is held. Dropping it releases it, too.
#[must_use = "the link is released when the hold is dropped"]
pub struct HeldDirection {
    shared: Arc<SharedProxy>,
    direction: Direction,
    before: HeldBack,
}

impl HeldDirection {
    /// The amount held so far.
    pub fn held(&self) -> HeldBack {
        let now = self.shared.held(self.direction);
        HeldBack {
            bytes: now.bytes - self.before.bytes,
            connections: now.connections - self.before.connections,
        }
    }

    /// Lets everything go and returns how much it was.
    pub fn release(self) -> HeldBack {
        self.held()
    }
}

impl Drop for HeldDirection {
    fn drop(&mut self) {
        self.shared.gates(self.direction).iter().for_each(|gate| gate.release());
        // It can only close the port, which does not fail.
        let _ = self.shared.listen_or_not();
    }
}

/// A link that refuses new connections. Dropping it ends that.
#[must_use = "the link takes connections again when this is dropped"]
pub struct Refusing {
    shared: Arc<SharedProxy>,
    before: u64,
}

impl Refusing {
    /// Takes connections again, and returns the number that were refused.
    pub fn end(self) -> u64 {
        self.shared.refused.load(Relaxed) - self.before
    }
}

impl Drop for Refusing {
    fn drop(&mut self) {
        self.shared.refusing.fetch_sub(1, Relaxed);
    }
}

impl SharedProxy {
    fn gates(&self, direction: Direction) -> Vec<&Gate> {
        match direction {
            Direction::Both => vec![&self.up, &self.down],
            Direction::Forward => vec![&self.up],
            Direction::Backward => vec![&self.down],
        }
    }

    fn held(&self, direction: Direction) -> HeldBack {
        self.gates(direction).iter().fold(HeldBack::default(), |sum, gate| sum.plus(gate.held()))
    }

    fn pace(&self) -> ChunkSchedule {
        let seed = lock(&self.rng).next();
        ChunkSchedule::new(*lock(&self.delay), Rng::new(seed))
    }

    fn target(&self) -> Option<Endpoint> {
        lock(&self.target).clone()
    }

    /// Opens or closes the port. It is closed while there is no server, unless the link is held:
    /// then not even a refusal comes through.
    fn listen_or_not(&self) -> io::Result<()> {
        let wanted = lock(&self.target).is_some() || self.up.is_held() || self.down.is_held();
        let mut result = Ok(());
        self.listener.send_if_modified(|listener| {
            if wanted == listener.is_some() {
                return false;
            }
            *listener = None;
            if wanted {
                match socket(self.address).and_then(|socket| socket.listen(BACKLOG)) {
                    Ok(fresh) => *listener = Some(Arc::new(fresh)),
                    Err(error) => result = Err(error),
                }
            }
            true
        });
        result
    }

    /// Returns true if a new connection is to be refused, and counts it then.
    fn refuses(&self) -> bool {
        let refuses = self.refusing.load(Relaxed) > 0;
        self.refused.fetch_add(u64::from(refuses), Relaxed);
        refuses
    }

    fn process(&self) -> u32 {
        self.process.load(Relaxed)
    }

    /// Counts a chunk of the server's that has passed.
    fn reply_passed(&self, process: u32) {
        self.chunks.fetch_add(1, Relaxed);
        self.events.passed(process);
    }
}

/// A socket on this address, which it shares with the one that keeps the port.
fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Accepts connections, which end with this task.
async fn listen(shared: Arc<SharedProxy>, mut entering: UnboundedReceiver<TcpStream>) {
    let mut connections = JoinSet::new();
    let mut listeners = shared.listener.subscribe();
    loop {
        let listener = listeners.borrow_and_update().clone();
        let client = tokio::select! {
            // The sender lives in `shared`, so this cannot fail.
            _ = listeners.changed() => continue,
            accepted = accept(listener.as_deref()) => {
                let Ok((client, _)) = accepted else {
                    // Out of file descriptors, most likely: it fails at once until one is free.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                client
            }
            Some(client) = entering.recv() => client,
            Some(_) = connections.join_next() => continue,
        };
        let shared = shared.clone();
        connections.spawn(async move { connection::serve(&shared, client).await });
    }
}

/// The next connection at an open port; at a closed one there is none.
async fn accept(listener: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}
