//! A lock on a majority of servers that know nothing of each other, as Redlock is.

use crate::OwnLock;
use redis::RedisResult;
use redis::aio::ConnectionLike;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A lock that is held by whoever has it on a majority of the servers.
pub struct MajorityLock {
    pub(crate) lock: OwnLock,
    /// The number of servers that have to grant it.
    pub(crate) quorum: usize,
    pub(crate) pause: Duration,
}

impl MajorityLock {
    /// A lock on so many servers. `pause` is the time between two tries, no two clients' the same:
    /// those that tried at the same moment must not do so again.
    pub fn new(lock: OwnLock, servers: usize, pause: Duration) -> Self {
        Self { lock, quorum: servers / 2 + 1, pause }
    }

    /// Tries to take the lock until `patience` is over. Returns whether it was granted.
    ///
    /// # Errors
    /// Fails when too many connections do: nobody knows then whether it was.
    pub async fn acquire(
        &self,
        servers: &mut [impl ConnectionLike],
        patience: Duration,
    ) -> RedisResult<bool> {
        let until = Instant::now() + patience;
        while !self.try_acquire(servers).await? {
            // The minority that granted it must not stand in the way of others.
            self.release(servers).await?;
            if Instant::now() >= until {
                return Ok(false);
            }
            sleep(self.pause).await;
        }
        Ok(true)
    }

    async fn try_acquire(&self, servers: &mut [impl ConnectionLike]) -> RedisResult<bool> {
        let begun = Instant::now();
        let (mut granted, mut doubt) = (0, Ok(false));
        for server in servers {
            match self.lock.try_acquire(server).await {
                Ok(is_granted) => granted += usize::from(is_granted),
                Err(error) => doubt = Err(error),
            }
        }
        // What is left of its time has to be enough for the work.
        let is_fresh = begun.elapsed() < self.lock.ttl * 2 / 5;
        if granted >= self.quorum && is_fresh { Ok(true) } else { doubt }
    }

    /// Frees the lock on all servers. Returns whether it was still ours on any.
    ///
    /// # Errors
    /// Fails when a connection does.
    pub async fn release(&self, servers: &mut [impl ConnectionLike]) -> RedisResult<bool> {
        let mut released = Ok(false);
        for server in servers {
            match self.lock.release(server).await {
                Ok(was_ours) => released = released.map(|so_far| so_far | was_ours),
                Err(error) => released = Err(error),
            }
        }
        released
    }
}
