//! The place where a lock is opened.

use base::Link;
use std::rc::Rc;
use std::time::Duration;
use stores::redis::{LinkConnection, Redis};
use workloads::locks::LockSettings;

/// The surroundings of a lock on Redis, as one worker of a client sees them.
#[derive(Clone)]
pub struct Site {
    link: Rc<dyn Link<Redis>>,
    key: String,
    ttl: Duration,
}

impl Site {
    pub(super) fn new(link: Rc<dyn Link<Redis>>, settings: &LockSettings) -> Self {
        Self { link, key: settings.key.to_string(), ttl: settings.ttl }
    }

    /// Returns a connection to a server, by its number from 0. It is a
    /// `redis::aio::ConnectionLike`; clones share it.
    pub fn connection(&self, server: usize) -> LinkConnection {
        LinkConnection::new(self.link.clone(), server)
    }

    /// Returns the number of servers.
    pub fn servers(&self) -> usize {
        self.link.servers()
    }

    /// Returns the name of the lock's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the time for which a grant is to live.
    pub const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Waits, by the clock of the client's machine: a pause of the client stops it.
    pub async fn sleep(&self, duration: Duration) {
        self.link.world().sleep(duration).await;
    }

    /// Returns the reading of the monotonic clock of the client's machine.
    pub fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.link.world().monotonic().nanos())
    }

    /// Returns 64 random bits, which a replay draws again.
    pub fn random(&self) -> u64 {
        self.link.world().random()
    }
}
