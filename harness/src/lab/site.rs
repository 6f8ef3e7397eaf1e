//! The place where a lock is opened.

use base::{Link, LocalFuture};
use redis::aio::{MultiplexedConnection, PubSub};
use std::cell::RefCell;
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;
use stores::redis::{Multiplexed, Redis, RedisConnection, RedisConnections, Subscriber};
use tokio::runtime::Handle;
use tokio::task::spawn_local;
use workloads::locks::LockSettings;

/// The surroundings of a lock on Redis, as one worker of a client sees them.
///
/// ```
/// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
/// use my_crate::MyLock;
/// use picklock::Lab;
///
/// let lock = |site: picklock::Site| {
///     println!("{} of {} server", site.key(), site.servers());
///     MyLock::new(site)
/// };
/// Lab::redis().lock(lock).schedules(20).assert_held();
/// ```
#[derive(Clone)]
pub struct Site {
    link: Rc<dyn Link<Redis>>,
    connections: Rc<dyn RedisConnections>,
    key: String,
    ttl: Duration,
    /// The wires that its lock polls. `None`: the runtime polls them.
    wires: Option<Wires>,
}

/// The wires of connections that are byte streams.
#[derive(Clone, Default)]
pub(super) struct Wires(Rc<RefCell<Vec<LocalFuture<'static, ()>>>>);

impl Wires {
    /// Returns the number of wires.
    pub(super) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Carries what is there to be carried.
    pub(super) fn poll(&self, cx: &mut Context<'_>) {
        self.0.borrow_mut().retain_mut(|wire| wire.as_mut().poll(cx).is_pending());
    }
}

impl Site {
    pub(super) fn new(
        link: Rc<dyn Link<Redis>>,
        connections: Rc<dyn RedisConnections>,
        settings: &LockSettings,
        wires: Option<Wires>,
    ) -> Self {
        Self { link, connections, key: settings.key.to_string(), ttl: settings.ttl, wires }
    }

    /// Returns a connection to a server, by its number from 0. It is a
    /// `redis::aio::ConnectionLike`; clones share it.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// # use picklock::{AcquireError, Grant, Lock, Mode, ReleaseError, Removed};
    /// use picklock::{Lab, Nemesis, Site};
    /// use std::time::Duration;
    ///
    /// struct Pinged {
    ///     site: Site,
    ///     lock: MyLock,
    /// }
    ///
    /// impl Lock for Pinged {
    ///     async fn acquire(&mut self, mode: Mode, wait: Duration) -> Result<Grant, AcquireError> {
    ///         let mut connection = self.site.connection(0);
    ///         let pong: Result<String, _> = redis::cmd("PING").query_async(&mut connection).await;
    ///         pong.map_err(|lost| AcquireError::Failed(lost.to_string()))?;
    ///         self.lock.acquire(mode, wait).await
    ///     }
    /// #
    /// #     async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
    /// #         self.lock.release(grant).await
    /// #     }
    /// }
    ///
    /// let lock = |site: Site| Pinged { lock: MyLock::new(site.clone()), site };
    /// Lab::redis().lock(lock).under([Nemesis::CrashClient]).schedules(20).assert_held();
    /// ```
    ///
    /// # Panics
    /// Panics when there is no such server.
    pub fn connection(&self, server: usize) -> RedisConnection {
        self.check_server(server);
        self.connections.connection(server)
    }

    /// Returns a new `MultiplexedConnection` to a server, by its number from 0, for a lock that is
    /// written against that type. A call whose reply is lost breaks it, as a reset breaks a
    /// socket: take a new one then, as a program connects again.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// # use picklock::{AcquireError, Grant, Lock, Mode, ReleaseError, Removed};
    /// use picklock::{Lab, Nemesis, Site};
    /// use std::time::Duration;
    ///
    /// struct Pinged {
    ///     site: Site,
    ///     lock: MyLock,
    /// }
    ///
    /// impl Lock for Pinged {
    ///     async fn acquire(&mut self, mode: Mode, wait: Duration) -> Result<Grant, AcquireError> {
    ///         let mut connection = self.site.multiplexed(0);
    ///         let pong: Result<String, _> = redis::cmd("PING").query_async(&mut connection).await;
    ///         pong.map_err(|lost| AcquireError::Failed(lost.to_string()))?;
    ///         self.lock.acquire(mode, wait).await
    ///     }
    /// #
    /// #     async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
    /// #         self.lock.release(grant).await
    /// #     }
    /// }
    ///
    /// let lock = |site: Site| Pinged { lock: MyLock::new(site.clone()), site };
    /// Lab::redis().lock(lock).under([Nemesis::CrashClient]).schedules(20).assert_held();
    /// ```
    ///
    /// # Panics
    /// Panics in a lab [without tokio](super::LabServers::without_tokio), and when there is no such
    /// server.
    pub fn multiplexed(&self, server: usize) -> MultiplexedConnection {
        self.check_server(server);
        let tokio = Handle::try_current();
        let tokio = tokio.expect("a MultiplexedConnection needs a lab that is not `without_tokio`");
        let Multiplexed { connection, driver, wire } = self.connections.multiplexed(server);
        tokio.spawn(driver);
        self.carry(wire);
        connection
    }

    /// Returns a new connection for messages from a server, by its number from 0: a `PubSub` of the
    /// `redis` crate, with SUBSCRIBE and PSUBSCRIBE. It ends when the connection does: take a new
    /// one then, and subscribe again.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// # use picklock::{AcquireError, Grant, Lock, Mode, ReleaseError, Removed};
    /// use picklock::{Lab, Nemesis, Site};
    /// use std::time::Duration;
    ///
    /// struct Announced {
    ///     site: Site,
    ///     lock: MyLock,
    /// }
    ///
    /// impl Lock for Announced {
    ///     async fn acquire(&mut self, mode: Mode, wait: Duration) -> Result<Grant, AcquireError> {
    ///         let mut messages = self.site.pub_sub(0);
    ///         let subscribed = messages.subscribe("freed").await;
    ///         subscribed.map_err(|lost| AcquireError::Failed(lost.to_string()))?;
    ///         self.lock.acquire(mode, wait).await
    ///     }
    ///
    ///     async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
    ///         let released = self.lock.release(grant).await;
    ///         let mut publish = redis::cmd("PUBLISH");
    ///         publish.arg("freed").arg(self.site.key());
    ///         // Nobody may be there to hear it.
    ///         let _: Result<u32, _> = publish.query_async(&mut self.site.connection(0)).await;
    ///         released
    ///     }
    /// }
    ///
    /// let lock = |site: Site| Announced { lock: MyLock::new(site.clone()), site };
    /// Lab::redis().lock(lock).under([Nemesis::CrashClient]).schedules(20).assert_held();
    /// ```
    ///
    /// # Panics
    /// Panics in a lab [without tokio](super::LabServers::without_tokio), and when there is no such
    /// server.
    pub fn pub_sub(&self, server: usize) -> PubSub {
        self.check_server(server);
        let tokio = Handle::try_current();
        let _within = tokio.expect("a PubSub needs a lab that is not `without_tokio`").enter();
        let Subscriber { connection, wire } = self.connections.subscriber(server);
        self.carry(wire);
        connection
    }

    /// Panics when there is no server with this number.
    fn check_server(&self, server: usize) {
        let servers = self.servers();
        assert!(server < servers, "there is no server {server}: the lab has {servers}, from 0");
    }

    /// Has a wire carry what there is to carry.
    fn carry(&self, wire: LocalFuture<'static, ()>) {
        match &self.wires {
            Some(wires) => wires.0.borrow_mut().push(wire),
            None => drop(spawn_local(wire)),
        }
    }

    /// Returns the address of a server ("127.0.0.1:6379"), by its number from 0, for a lock that
    /// opens a `redis::Client` of its own. `None` in the simulator, whose servers have none.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// let lock = |site: picklock::Site| {
    ///     assert_eq!(site.address(0), None, "in the simulator");
    ///     MyLock::new(site)
    /// };
    /// Lab::redis().lock(lock).schedules(20).assert_held();
    /// ```
    ///
    /// # Panics
    /// Panics on real servers when there is no such server.
    pub fn address(&self, server: usize) -> Option<&str> {
        self.connections.address(server)
    }

    /// Returns the number of servers.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// let lock = |site: picklock::Site| {
    ///     assert_eq!(site.servers(), 5);
    ///     MyLock::new(site)
    /// };
    /// Lab::redis_x5().lock(lock).schedules(20).assert_held();
    /// ```
    pub fn servers(&self) -> usize {
        self.link.servers()
    }

    /// Returns the name of the lock's key.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// let lock = |site: picklock::Site| {
    ///     assert!(!site.key().is_empty());
    ///     MyLock::new(site)
    /// };
    /// Lab::redis().lock(lock).schedules(20).assert_held();
    /// ```
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the time for which a grant is to live.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    /// use std::time::Duration;
    ///
    /// let lock = |site: picklock::Site| {
    ///     assert!(!site.ttl().is_zero(), "it varies about that of the lab");
    ///     MyLock::new(site)
    /// };
    /// Lab::redis().lock(lock).ttl(Duration::from_secs(2)).schedules(20).assert_held();
    /// ```
    pub const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Waits, by the clock of the client's machine: a pause of the client stops it.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// # use picklock::{AcquireError, Grant, Lock, Mode, ReleaseError, Removed};
    /// use picklock::{Lab, Nemesis, Site};
    /// use std::time::Duration;
    ///
    /// struct Slow {
    ///     site: Site,
    ///     lock: MyLock,
    /// }
    ///
    /// impl Lock for Slow {
    ///     async fn acquire(&mut self, mode: Mode, wait: Duration) -> Result<Grant, AcquireError> {
    ///         let begun = self.site.monotonic();
    ///         self.site.sleep(Duration::from_millis(10)).await;
    ///         assert!(self.site.monotonic() - begun >= Duration::from_millis(10));
    ///         self.lock.acquire(mode, wait).await
    ///     }
    /// #
    /// #     async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
    /// #         self.lock.release(grant).await
    /// #     }
    /// }
    ///
    /// let lock = |site: Site| Slow { lock: MyLock::new(site.clone()), site };
    /// Lab::redis().lock(lock).under([Nemesis::CrashClient]).schedules(20).assert_held();
    /// ```
    pub async fn sleep(&self, duration: Duration) {
        self.link.world().sleep(duration).await;
    }

    /// Returns the reading of the monotonic clock of the client's machine.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// # use picklock::{AcquireError, Grant, Lock, Mode, ReleaseError, Removed};
    /// use picklock::{Lab, Nemesis, Site};
    /// use std::time::Duration;
    ///
    /// struct Timed {
    ///     site: Site,
    ///     lock: MyLock,
    /// }
    ///
    /// impl Lock for Timed {
    ///     async fn acquire(&mut self, mode: Mode, wait: Duration) -> Result<Grant, AcquireError> {
    ///         let begun = self.site.monotonic();
    ///         assert!(self.site.monotonic() >= begun);
    ///         self.lock.acquire(mode, wait).await
    ///     }
    /// #
    /// #     async fn release(&mut self, grant: Grant) -> Result<Removed, ReleaseError> {
    /// #         self.lock.release(grant).await
    /// #     }
    /// }
    ///
    /// let lock = |site: Site| Timed { lock: MyLock::new(site.clone()), site };
    /// Lab::redis().lock(lock).under([Nemesis::CrashClient]).schedules(20).assert_held();
    /// ```
    pub fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.link.world().monotonic().nanos())
    }

    /// Returns 64 random bits, which a replay draws again.
    ///
    /// ```
    /// # mod my_crate { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/lock.rs")); }
    /// use my_crate::MyLock;
    /// use picklock::Lab;
    ///
    /// let lock = |site: picklock::Site| {
    ///     assert_ne!(site.random(), site.random());
    ///     MyLock::new(site)
    /// };
    /// Lab::redis().lock(lock).schedules(20).assert_held();
    /// ```
    pub fn random(&self) -> u64 {
        self.link.world().random()
    }
}
